package cli

import (
	"testing"

	"github.com/unravel-ml/unravel/report/site"
)

// The site of all pages: each is in docs/pages.yaml, and links, anchors and pictures are there.
func TestSite(t *testing.T) {
	var line commands
	parser, err := newParser(&line)
	if err != nil {
		t.Fatal(err)
	}
	reference, err := referencePages(parser.Model)
	if err != nil {
		t.Fatal(err)
	}
	source, err := documents(reference)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := site.Build(source); err != nil {
		t.Error(err)
	}
}

package cli

import (
	"github.com/alecthomas/kong"
)

// referenceFolder holds the pages of the reference among the documents.
const referenceFolder = "docs/reference"

// referencePages returns the pages of the reference, Markdown by path.
func referencePages(app *kong.Application) (map[string][]byte, error) {
	return map[string][]byte{}, nil
}

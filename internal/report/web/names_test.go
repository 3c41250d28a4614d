package web

import (
	"io/fs"
	"path"
	"regexp"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// defined matches the names that a script adds to the global of pages.
var defined = regexp.MustCompile(`(?m)^\s*Unravel\.([A-Za-z]+) = (?:async )?(?:function|\(|class|[a-z]+ =>)`)

// Scripts on a page share one global object: the last definition of a name wins.
func TestNamesAreDefinedOnce(t *testing.T) {
	files := must.Get(fs.Glob(files, "*.js"))(t)
	at := map[string]string{}
	for _, file := range files {
		for _, m := range defined.FindAllStringSubmatch(Text(file), -1) {
			if other := at[m[1]]; other != "" {
				t.Errorf("Unravel.%s is defined in %s and in %s", m[1], other, path.Base(file))
			}
			at[m[1]] = file
		}
	}
	for _, name := range []string{"explore", "exploreBall", "curves", "codes", "decoder"} {
		if at[name] == "" {
			t.Errorf("no script defines Unravel.%s", name)
		}
	}
}

package linked

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestLicences(t *testing.T) {
	dir := t.TempDir()
	if _, err := Licences(dir); err == nil {
		t.Error("no error of a module without a licence")
	}
	for _, name := range []string{"LICENSE-GO", "licenses/ftl.txt", "license.go", "sub/LICENSE", "COPYING", "readme"} {
		must.Write(t, filepath.Join(dir, filepath.FromSlash(name)), "")
	}
	names, err := Licences(dir)
	if got := filepath.ToSlash(strings.Join(names, " ")); err != nil || got != "COPYING LICENSE-GO licenses/ftl.txt" {
		t.Errorf("%s, %v", got, err)
	}
}

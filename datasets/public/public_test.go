package public

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/must"
)

// publicFiles places files of testdata as the source files of a public data set, under the given names or their own. It
// uses a temporary folder for data sets and accepts any hash.
func publicFiles(t *testing.T, set string, files map[string]string) {
	t.Helper()
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	for name, from := range files {
		must.OK(t, source.Place(t.Context(), cache.Downloads(set), source.File{Name: name}, filepath.Join("testdata", from), true))
	}
}

// The error for a set without files names the missing files in one line.
func TestNotFetched(t *testing.T) {
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	_, err := (&DSprites{}).Build(0)
	var absent *datasets.NotFetchedError
	if !errors.As(err, &absent) || !errors.Is(err, datasets.ErrNotFetched) || len(absent.Files) != 1 {
		t.Fatal(err)
	}
	for _, words := range []string{"unravel data fetch dsprites", cache.Downloads("dsprites"), dspritesNPZ, dspritesURL} {
		if !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v; want %s, in one line", err, words)
		}
	}
}

package inputs

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
)

// The error for a wrong number of rows states the likely mistake.
func TestOtherRows(t *testing.T) {
	for want, c := range map[string]struct{ n, d, m, k int }{
		"y.npy: factors have shape [40 2], want [39, k], a row for each row of z.npy":                                            {39, 3, 40, 2},
		"y.npy: factors have shape [40 2], want [3, k], a row for each row of z.npy; z.npy has shape [3 40]: want it transposed": {3, 40, 40, 2},
		"y.npy: factors have shape [3 3], want [40, k], a row for each row of z.npy":                                             {40, 3, 3, 3},
	} {
		must.Equal(t, OtherRows("z.npy", c.n, c.d, "y.npy", c.m, c.k).Error(), want)
	}
}

// Empty codes are an error.
func TestEmptyCodes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "z.npy")
	for want, shape := range map[string][]int{
		"codes: " + path + " has shape [0 3]; want at least one row and one column": {0, 3},
		"codes: " + path + " has shape [3 0]; want at least one row and one column": {3, 0},
	} {
		var b bytes.Buffer
		must.OK(t, npy.Write(&b, shape, []float32{}))
		must.Write(t, path, b.Bytes())
		if _, err := ReadCodes(path, nil); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

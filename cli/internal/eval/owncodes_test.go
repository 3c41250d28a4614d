package eval_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
)

// TestOwnCodes compares values for users' codes and factors with other programs (see testdata/own-codes/README.md).
func TestOwnCodes(t *testing.T) {
	type bounds struct{ least, most float64 }
	about := func(v float64) bounds { return bounds{v - 1e-9, v + 1e-9} }
	for _, c := range []struct {
		file string
		args []string
		want map[string]bounds
	}{
		{"unknown-rows", []string{"--types", "ordinal"}, map[string]bounds{
			"mig": about(0.6879052899822857), "modularity": about(0.8303322083396277), "med": about(0.2610734508137783),
			"co-occurrence": about(0.45956983854490874), "irs": about(0.49872167482087465), "factor-vae": about(1),
		}},
		{"unknown-levels", []string{"--types", "ordinal"}, map[string]bounds{
			"variance": about(0.008725974554725846), "mad": about(0.07282946251396982), "diameter": about(0.3619550478663075),
		}},
		{"tiny-codes", nil, map[string]bounds{"code-spread": {0.98, 1}, "mig": {0, 1}}},
		{"random-angles", []string{"--types", "circular:360"}, map[string]bounds{"variance": {1.9, 2}, "explicitness": {0.4, 0.7}}},
	} {
		t.Run(c.file, func(t *testing.T) {
			args := append([]string{"--codes", filepath.Join("testdata", "own-codes", c.file+".npz")}, c.args...)
			for name := range c.want {
				args = append(args, "--metrics", name)
			}
			got, _ := clitest.Measure(t, args...)
			for name, want := range c.want {
				if v := got[name].Value; !(v >= want.least && v <= want.most) || math.IsNaN(v) {
					t.Errorf("%s: %v; want %v to %v", name, v, want.least, want.most)
				}
			}
		})
	}
}

package eval_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// TestEvalGaps measures codes with partly unknown factors: empty fields of a table, or NaN.
func TestEvalGaps(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	var codes, known, array []float64
	var gaps, rows strings.Builder
	gaps.WriteString("shape,depth,hair\n")
	rows.WriteString("shape\n")
	for i := range 90 {
		shape, depth := i%3, math.Sqrt(float64(i))
		codes = append(codes, float64(shape)+0.2*math.Sin(float64(7*i)), depth)
		switch i % 4 {
		case 0:
			fmt.Fprintf(&gaps, ",%v,\n", depth)
			array = append(array, math.NaN(), depth)
		case 1:
			fmt.Fprintf(&gaps, "%d, ,\n", shape)
			array = append(array, float64(shape), math.NaN())
		default:
			fmt.Fprintf(&gaps, "%d,%v,nan\n", shape, depth)
			array = append(array, float64(shape), depth)
		}
		if i%4 != 0 {
			known = append(known, codes[2*i:]...)
			fmt.Fprintf(&rows, "%d\n", shape)
		}
	}
	must.WriteNPY(t, "codes.npy", []int{90, 2}, codes)
	must.WriteNPY(t, "known.npy", []int{len(known) / 2, 2}, known)
	must.WriteNPY(t, "gaps.npy", []int{90, 2}, array)
	must.Write(t, "gaps.csv", gaps.String())
	must.Write(t, "known.csv", rows.String())
	must.Write(t, "bad.csv", gaps.String()[:40]+"x,1,\n")

	all, log := clitest.Measure(t, "--codes", "codes.npy", "--factors", "gaps.csv", "--metrics", "sap,mse", "--types", "ordinal,continuous,ordinal")
	for _, want := range []string{"unknown factors: shape of 23 of 90 rows, depth of 23 of 90 rows, hair of 90 of 90 rows"} {
		if !strings.Contains(log, want) {
			t.Errorf("log %q lacks %q", log, want)
		}
	}
	basis := all["sap"].Basis
	for _, want := range []string{"hair: 90 without a known level", "shape: 23 with an unknown level", "fitted to 45 and tested on 22 others"} {
		if !strings.Contains(basis.String(), want) {
			t.Errorf("basis %q lacks %q", &basis, want)
		}
	}
	alone, _ := clitest.Measure(t, "--codes", "known.npy", "--factors", "known.csv", "--metrics", "sap", "--types", "ordinal")
	if got, want := all["sap"].PerFactor[0], alone["sap"].PerFactor[0]; got != want || len(all["sap"].PerFactor) != 2 {
		t.Errorf("shape has %v with gaps, %v alone", all["sap"].PerFactor, want)
	}
	same, _ := clitest.Measure(t, "--codes", "codes.npy", "--factors", "gaps.npy", "--metrics", "sap,mse", "--types", "ordinal,continuous")
	for _, name := range []string{"sap", "mse"} {
		must.Equal(t, same[name].Value, all[name].Value, name, "NaN gives", "empty fields")
	}
	clitest.OK(t, "eval", "--codes", "codes.npy", "--factors", "gaps.csv", "--out", "figures", "--metrics", "fast")
	for _, name := range []string{"codes.png", "manipulation.csv"} {
		if _, err := os.Stat(filepath.Join("figures", name)); err != nil && name == "codes.png" {
			t.Error(err)
		}
	}
	clitest.Mistake(t, clitest.Run(t, "eval", "--codes", "gaps.csv", "--factors", "gaps.csv"), 1,
		"codes: gaps.csv: line 2, field 1: \"\" is not a number")

	empty := "one\n" + strings.Repeat("\"\"\n", 90)
	must.Write(t, "empty.csv", empty)
	all, log = clitest.Measure(t, "--codes", "codes.npy", "--factors", "empty.csv")
	if _, ok := all["total-correlation"]; !ok || !needNoLevels(t, all) ||
		strings.Count(log, "the images have no known factor of several levels") != 1 || !strings.Contains(log, "left out: dlsbd, dlsbd-workshop, mig, dci, dci-regression, variance,") {
		t.Errorf("without factors %v are measured, log %s", all, log)
	}
	clitest.Mistake(t, clitest.Run(t, "eval", "--codes", "codes.npy", "--factors", "empty.csv", "--metrics", "mig"), 1,
		"metric mig: the images have no known factor of several levels")
}

package clitest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/interval"
)

// Measured is the output of --json for a metric.
type Measured struct {
	Name, Better string
	Notes        []string
	Value        float64
	Score        *float64
	PerFactor    []float64 `json:"per_factor"`
	Parts        []struct {
		Name   string
		Labels []string
		Values []float64
	}
	Grids    []any
	Interval *interval.Interval
	Options  map[string]any
	Like     []string
	Basis    metrics.Basis
	Scale    float64
	Chance   *metrics.Chance
}

// Measure runs eval and returns its numbers and its log.
func Measure(t *testing.T, args ...string) (map[string]Measured, string) {
	t.Helper()
	var result struct{ Metrics map[string]Measured }
	o := OK(t, append([]string{"eval", "--json"}, args...)...)
	JSON(t, o.Out, &result)
	return result.Metrics, o.Log
}

// FewTrees adds options for few rounds in metrics of boosted trees.
func FewTrees(args ...string) []string {
	return append(slices.Clone(args), "--option", "dci.rounds=2", "--option", "dci-regression.rounds=2")
}

// MixedFiles writes codes with an ordinal factor, a continuous factor, and two columns for a circular factor.
func MixedFiles(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	var codes []float64
	var table strings.Builder
	table.WriteString("size;depth;angle\n")
	for i := range 60 {
		size, depth, turn := i%3, math.Sqrt(float64(i)), i%8
		sin, cos := math.Sincos(2 * math.Pi * float64(turn) / 8)
		codes = append(codes, float64(size), depth, cos, sin)
		fmt.Fprintf(&table, "%d;%v;%d\n", size, depth, 45*turn)
	}
	must.WriteNPY(t, "codes.npy", []int{60, 4}, codes)
	must.Write(t, "factors.csv", table.String())
}

// WriteNPZ writes tables of numbers as named arrays of an archive.
func WriteNPZ(t *testing.T, file string, arrays map[string][][]float64) {
	t.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for name, rows := range arrays {
		to, err := w.Create(name + ".npy")
		if err == nil {
			err = npy.Write(to, []int{len(rows), len(rows[0])}, slices.Concat(rows...))
		}
		must.OK(t, err)
	}
	must.OK(t, w.Close())
	must.Write(t, file, archive.Bytes())
}

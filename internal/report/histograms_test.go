package report

import (
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
)

func TestHistograms(t *testing.T) {
	line := Column{Name: "line", Values: []float64{0, 1, 2, 3, math.NaN(), 3}}
	flat := Column{Name: "flat", Values: []float64{5, 5, 5, 5, 5, 5}}
	img := histogram(line.Values, line.Values)
	for i := range 4 { // a diagonal from the lower left
		at := min(histogramBins-1, i*histogramBins/3)
		if r, _, _, _ := img.At(at, histogramBins-1-at).RGBA(); r == 0xffff {
			t.Errorf("value %d is not there", i)
		}
		if i > 0 && i < 3 {
			if r, _, _, _ := img.At(at, at).RGBA(); r != 0xffff {
				t.Errorf("value %d is mirrored", i)
			}
		}
	}
	for at, want := range map[image.Point]color.RGBA{ // no value, one, two: the most
		{1, 1}: {255, 255, 255, 255}, {0, histogramBins - 1}: {73, 125, 169, 255}, {histogramBins - 1, 0}: {10, 80, 140, 255},
	} {
		if got := img.At(at.X, at.Y); got != want {
			t.Errorf("%v: %v, want %v", at, got, want)
		}
	}
	show(t, "histograms", func(w io.Writer) error {
		return histograms(w, "histograms", []Column{line, flat}, []Column{flat, line, line}, RowScores{"R4", []float64{0.5, 1}})
	})
	must.Error(t, histograms(io.Discard, "", nil, []Column{line}, RowScores{}), "want at least one of each")
}

// The length of a bar is its score. The scores come from r4c, or from r4 if r4c is missing.
func TestScoreBars(t *testing.T) {
	for score, want := range map[float64]int{0: 0, 0.25: histogramBins / 4, 1: histogramBins, 2: histogramBins, -1: 0, math.NaN(): 0} {
		img, length := scoreBar(score), 0
		for x := range histogramBins {
			if r, _, _, _ := img.At(x, histogramBins/2).RGBA(); r != 0xffff {
				length++
			}
		}
		must.Equal(t, length, want, score, "a bar of")
	}
	of := func(name string, values ...float64) metrics.Result {
		return metrics.Result{Name: name, Parts: []metrics.Part{{Name: "per_factor", Values: values}}}
	}
	for want, results := range map[string][]metrics.Result{
		"R4_c [0.5 1]": {of("mig", 0, 0), of("r4", 0, 1), of("r4c", 0.5, 1)}, "R4 [0 1]": {of("r4", 0, 1), of("r4c", 0.5)}, " []": {of("mig", 0, 1)},
	} {
		if got := factorScores(results, 2); fmt.Sprint(got.Name, " ", got.Values) != want {
			t.Errorf("%+v, want %s", got, want)
		}
	}
}

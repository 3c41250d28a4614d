package report

import (
	"io"
	"math"
	"strings"
	"testing"
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
	once, _, _, _ := img.At(0, histogramBins-1).RGBA()
	if twice, _, _, _ := img.At(histogramBins-1, 0).RGBA(); twice >= once {
		t.Error("two values are no darker than one")
	}
	show(t, "histograms", func(w io.Writer) error {
		return Histograms(w, "histograms", []Column{line, flat}, []Column{flat, line, line})
	})
	for want, c := range map[string][2][]Column{
		"want at least one of each":         {nil, {line}},
		"column short has 1 values, want 6": {{line}, {{Name: "short", Values: []float64{1}}}},
	} {
		if err := Histograms(io.Discard, "", c[0], c[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

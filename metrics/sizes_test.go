package metrics_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// sizedCodes returns codes of three factors, scaled by size.
func sizedCodes(size float64) *Input {
	random := rng.New(1, "sizes")
	kinds := []factor.Factor{{Name: "a", Size: 4, Kind: factor.Ordinal}, {Name: "b", Size: 3, Kind: factor.Ordinal},
		{Name: "c", Size: 8, Kind: factor.Circular}}
	in := gridInput(kinds, 5, func(l []int, z []float64) {
		turn := 2 * math.Pi * float64(l[2]) / 8
		copy(z, []float64{float64(l[0]), float64(l[1]) - 0.5*float64(l[0]), math.Cos(turn), math.Sin(turn), 0})
		for c := range z {
			z[c] += 0.2 * random.NormFloat64()
		}
	})
	for i := range in.Codes.Data {
		in.Codes.Data[i] *= size
	}
	return in
}

// Codes may be very large or small. Metrics without a unit keep their values, up to the digits of the codes. Metrics
// with the unit of the codes or its square scale along, or state that the square overflows. No value is NaN or
// infinite.
func TestSizesOfCodes(t *testing.T) {
	long.NotShort(t)
	linear := strings.Fields("mad radius diameter mpd")
	trees := strings.Fields("dci dci-regression r4")
	square := strings.Fields("variance wasserstein-correlation")
	by := strings.Fields("separation contraction-mean contraction-max sap beta-vae factor-vae logic") // definitions with a constant in the units of the codes
	measured := func(name string, size float64) (float64, error) {
		in := sizedCodes(size)
		in.Stream = rng.New(1, name)
		m := choice(name).Value
		if d, ok := m.(*DCI); ok {
			d.Rounds = 5
		}
		r, err := m.Compute(t.Context(), in)
		return r.Value, err
	}
	for _, e := range entries() {
		if s, ok := e.New().(Selective); ok && s.Suits(sizedCodes(1)) != nil {
			continue
		}
		want, err := measured(e.Name, 1)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		for _, size := range long.Sample([]float64{1e-320, 1e-200, 1e-100, 1e-30, 1e100, 1e200, 3e307}, 3) {
			got, err := measured(e.Name, size)
			tolerance := 1e-9
			if size < 1e-310 { // codes have three digits
				tolerance = 0.02
			}
			switch {
			case slices.Contains(square, e.Name) && (size < 1e-100 || size > 1e100):
				must.Error(t, err, "does not fit a float64", e.Name, size, got)
				continue
			case slices.Contains(trees, e.Name) && size > 1e38:
				must.Error(t, err, "single precision", e.Name, size, got)
				continue
			case err != nil:
				t.Errorf("%s of codes times %g: %v", e.Name, size, err)
				continue
			case math.IsNaN(got) || math.IsInf(got, 0):
				t.Errorf("%s of codes times %g is %v", e.Name, size, got)
			case slices.Contains(by, e.Name):
				continue
			case slices.Contains(linear, e.Name):
				got /= size
			case slices.Contains(square, e.Name):
				got = got / size / size
			case e.Name == "explicitness" && size < 1e-310: // it ranks rows, and some are equal in three digits
				continue
			}
			if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
				t.Errorf("%s of codes times %g: %v, want %v; the lists of this test name the metrics whose value depends on the scale", e.Name, size, got, want)
			}
		}
	}
}

// Metrics of trees warn if they distinguish only few numbers of a column.
func TestCoarseForTrees(t *testing.T) {
	for _, at := range []struct {
		size, offset float64
		want         string
	}{
		{1, 0, ""},
		{1e-3, 0, ""},
		{1, 1000, ""},
		{1e-30, 0, ""}, // scaled up
		{1e-6, 0, "in single precision, 2 of 3 columns have few distinct numbers, such as z0 (standard deviation 9e-07, steps of 1e-07); want codes around 0, of size 1"},
		{1, 1e6, "in single precision, 2 of 3 columns have few distinct numbers, such as z0 (standard deviation 9e-01, steps of 1e-01); want codes around 0, of size 1"},
	} {
		noise := rng.New(2, "noise")
		in := gridInput(ordinals(6, 4), 3, func(l []int, z []float64) {
			z[0] = at.size*(float64(l[0])+noise.NormFloat64()/10)/2 + at.offset
			z[1] = at.size*(float64(l[1])+noise.NormFloat64()/10) + at.offset
			z[2] = at.size*float64(l[0]) + at.offset // no number is lost
		})
		r4, regression, downstream := choice("r4"), choice("dci-regression"), choice("downstream")
		downstream.Value.(*Downstream).Predictor = "boosted"
		for _, c := range []Choice{choice("dci"), regression, r4, downstream} {
			if got := strings.Join(evaluated(t, in, []Choice{c}).Notes, "; "); !strings.Contains(got, at.want) ||
				at.want == "" && strings.Contains(got, "steps") {
				t.Errorf("%s of codes times %g plus %g: note %q, want %q", c.Name, at.size, at.offset, got, at.want)
			}
		}
	}
}

// SAP and BetaVAE note codes whose value a penalty or a small variance decides, and KNN codes whose value rounding
// decides.
func TestPenalised(t *testing.T) {
	long.NotShort(t)
	for _, c := range []struct {
		size, offset, second float64 // second: of the second column alone
		want                 string
	}{
		{1, 0, 0, ""},
		{1, 1, 0, ""},
		{1, 0, 1e9, "such as z1 (mean 1e+09, standard deviation 1.1)"},
		{1, 100, 0, "such as z0 (mean 1e+02, standard deviation 1.7)"},
		{0.1, 0, 0, "standard deviation 0.17)"},
		{1e-7, 0, 0, "standard deviation 1.7e-07)"},
		{1e-320, 0, 0, "standard deviation 1.7e-320)"},
		{1e300, 0, 0, ""},
		{0, 5, 0, ""}, // constant
	} {
		in := gridInput(ordinals(6, 4), 3, func(l []int, z []float64) {
			copy(z, []float64{c.size*(float64(l[0])-2.5) + c.offset, c.size*(float64(l[1])-1.5) + c.offset + c.second, c.offset})
		})
		got := strings.Join(evaluated(t, in, []Choice{choice("sap")}).Notes, "; ")
		if !strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, "penalty") {
			t.Errorf("codes times %v plus %v: note %q, want %q", c.size, c.offset, got, c.want)
		}
		small := c.size > 0 && c.size < 1e-3
		if notes := evaluated(t, in, []Choice{choice("beta-vae")}).Notes; strings.Contains(strings.Join(notes, "; "), "penalty") != small {
			t.Errorf("beta-vae of codes times %v: notes %q", c.size, notes)
		}
		knn := choice("knn")
		knn.Value.(*KNN).K = 5
		if notes := evaluated(t, in, []Choice{knn}).Notes; strings.Contains(strings.Join(notes, "; "), "rounding decides") != (c.second > 0) {
			t.Errorf("knn of codes plus %v: notes %q", c.second, notes)
		}
		correlation := choice("sap")
		correlation.Value.(*SAP).Score = "correlation"
		got = strings.Join(evaluated(t, in, []Choice{correlation}).Notes, "; ")
		if strings.Contains(got, "penalty") || strings.Contains(got, "2 of 3 columns count as constant, such as z0") != small {
			t.Errorf("correlation of codes times %v: note %q", c.size, got)
		}
	}
}

// Concentrations of equal importances are 0, and rounding does not make them negative.
func TestEntropyIsNotNegative(t *testing.T) {
	for n := 2; n < 40; n++ {
		for _, v := range []float64{1. / 3, .1, 1e-5, 7} {
			if got := (mutual.Entropy{Log: mutual.LogFactors}).Of(slices.Repeat([]float64{v}, n)); got < 0 || !(got <= 1e-14) {
				t.Errorf("%d times %v: %v", n, v, got)
			}
		}
	}
}

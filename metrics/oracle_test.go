package metrics_test

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// oracle is an input with codes of known quality.
type oracle struct {
	name string
	in   *Input
}

// oracles returns encoders of the same factors. The factors are circles if kind is circular.
func oracles(kind factor.Kind) []oracle {
	factors := ordinals(4, 5, 6)
	for j := range factors {
		factors[j].Kind = kind
	}
	grid := func(d int, code func(l []int, z []float64)) *Input {
		in := gridInput(factors, d, code)
		in.Hierarchy, in.TrueHierarchy = make(hierarchy.Hierarchy, d), make(hierarchy.Hierarchy, len(factors)) // flat
		in.Components, in.Paths = make([]int, in.Codes.Rows), make([]int, in.Codes.Rows)
		return in
	}
	stream := rng.New(4, "oracle")
	levels := func(l []int, z []float64) {
		for j := range z {
			z[j] = float64(l[j%3])
		}
	}
	if kind == factor.Circular {
		levels = func(l []int, z []float64) { // circles for the factors in turn
			for j := range z {
				f := j / 2 % 3
				z[j] = math.Cos(2*math.Pi*float64(l[f])/float64(factors[f].Size) - float64(j%2)*math.Pi/2)
			}
		}
	}
	d := 3
	if kind == factor.Circular {
		d = 6
	}
	then := func(change func(z []float64)) func(l []int, z []float64) {
		return func(l []int, z []float64) {
			levels(l, z)
			change(z)
		}
	}
	random := func(z []float64) {
		for j := range z {
			z[j] = stream.NormFloat64()
		}
	}
	return []oracle{
		{"perfect", grid(d, levels)},
		{"permuted", grid(d, then(slices.Reverse[[]float64]))},
		{"duplicated", grid(2*d, levels)},
		{"rotated", grid(d, then(func(z []float64) { z[0], z[d-1] = (z[0]-z[d-1])/math.Sqrt2, (z[0]+z[d-1])/math.Sqrt2 }))},
		{"constant", grid(d, func(_ []int, z []float64) { clear(z) })},
		{"random", grid(d, then(random))},
		{"one code", grid(1, levels)},
		{"far away", grid(d, then(func(z []float64) {
			for j := range z {
				z[j] += 1e8
			}
		}))},
		{"tiny", grid(d, then(func(z []float64) {
			for j := range z {
				z[j] *= 1e-12
			}
		}))},
	}
}

// edges returns inputs that few metrics can measure.
func edges() []oracle {
	column := func(l []int, z []float64) { z[0] = float64(l[0]) }
	one := gridInput(ordinals(1, 1), 2, func(_ []int, z []float64) { z[0], z[1] = 3, -4 })
	thousand := gridInput(ordinals(1000, 2), 2, func(l []int, z []float64) { z[0], z[1] = float64(l[0]), float64(l[1]) })
	return []oracle{
		{"one row", one},
		{"one factor", gridInput(ordinals(7), 1, column)},
		{"one factor of one level", gridInput(ordinals(1, 6), 1, func(l []int, z []float64) { z[0] = float64(l[1]) })},
		{"a thousand levels", thousand},
		{"two rows", gridInput(ordinals(2), 1, column)},
	}
}

// attempt computes a metric with a separate stream.
func attempt(name string, in *Input) (Result, error) {
	mine := *in
	mine.Stream = rng.New(1, "metric/"+name)
	m := fewRows(name).Value
	if dci, ok := m.(*DCI); ok && in.Factors[0].Size == 1000 { // every round fits a tree for each level
		dci.Train, dci.Test, dci.Rounds = 400, 100, 2
	}
	return m.Compute(ctx, &mine)
}

// For any codes, every metric returns a finite value, or an error with a remedy. The value does not depend on the
// number of threads. Perfect codes are at least as good as constant or random codes.
func TestOracles(t *testing.T) {
	long.NotShort(t)
	for _, e := range entries() {
		t.Run(e.Name, func(t *testing.T) {
			for _, kind := range []factor.Kind{factor.Ordinal, factor.Circular} {
				values := map[string]float64{}
				for _, o := range oracles(kind) {
					if v, ok := oracleValue(t, e.Name, o); ok {
						values[o.name] = v
					}
				}
				if strings.HasPrefix(e.Name, "dlsbd") && kind == factor.Ordinal {
					continue // no circle
				}
				checkOrder(t, e.Name, kind, values)
			}
			for _, o := range edges() {
				oracleValue(t, e.Name, o)
			}
		})
	}
}

// oracleValue computes a metric. It compares one and two threads on random codes, and with -long on all codes.
func oracleValue(t *testing.T, name string, o oracle) (float64, bool) {
	t.Helper()
	if err := Suits(o.in, []Choice{choice(name)}); err != nil {
		wellSaid(t, o.name, err)
		return 0, false
	}
	r, err := attempt(name, o.in)
	if err != nil {
		wellSaid(t, o.name, err)
		return 0, false
	}
	if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
		t.Errorf("%s: %v", o.name, r.Value)
	}
	if o.name != "random" && !long.Enabled() {
		return r.Value, true
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	must.Equal(t, must.Get(attempt(name, o.in))(t).Value, r.Value, o.name, "on one thread")
	return r.Value, true
}

// wellSaid checks that an error states a remedy.
func wellSaid(t *testing.T, name string, err error) {
	t.Helper()
	var missing Missing
	if text := err.Error(); !strings.Contains(text, "want") && !errors.As(err, &missing) {
		t.Errorf("%s: %q does not say what is wanted", name, text)
	}
}

// unsupervised reports whether a metric cannot know the perfect code: it reads no levels and no paths of a hierarchy.
func unsupervised(name string) bool {
	return readsNoLevels(named(name)) && !slices.Contains([]string{"h-error", "coverage", "description-length"}, name)
}

func readsNoLevels(m Metric) bool {
	n, ok := m.(Needy)
	return ok && n.Needs() == NoLevels
}

func checkOrder(t *testing.T, name string, kind factor.Kind, values map[string]float64) {
	t.Helper()
	perfect, ok := values["perfect"]
	if !ok {
		t.Errorf("%s: no value of perfect codes, %v", kind, values)
		return
	}
	sign := 1.0
	if named(name).Better() == LowerIsBetter {
		sign = -1
	}
	_, ordered := named(name).(SubCoded) // the order of columns matters
	if permuted := values["permuted"]; !(math.Abs(permuted-perfect) <= 1e-6) && !chance[name] && !ordered {
		t.Errorf("%s: %v of permuted columns, %v before", kind, permuted, perfect)
	}
	if unsupervised(name) {
		return
	}
	for _, other := range []string{"random", "constant"} {
		if v, ok := values[other]; ok && !(sign*v <= sign*perfect+1e-9) {
			t.Errorf("%s: %s codes have %v, perfect ones %v; a metric that cannot know the perfect code has NoLevels as its Needs", kind, other, v, perfect)
		}
	}
}

package conformance

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// measuredKind is a kind of factors, with perfect codes and random codes of equal width.
type measuredKind struct{ perfect, random *metrics.Input }

// measuredKinds returns ordinal factors, with one column each in the perfect code, and circular factors, with two.
func measuredKinds() []measuredKind {
	ordinal := factor.Grid{{Name: "size", Size: 6, Kind: factor.Ordinal}, {Name: "x", Size: 5, Kind: factor.Ordinal}, {Name: "y", Size: 4, Kind: factor.Ordinal}}
	circles := factor.Grid{{Name: "angle", Size: 8, Kind: factor.Circular}, {Name: "hue", Size: 6, Kind: factor.Circular}}
	return []measuredKind{
		newKind(ordinal, 3, func(levels []int, z []float64) {
			for j, l := range levels {
				z[j] = float64(l)
			}
		}),
		newKind(circles, 4, func(levels []int, z []float64) {
			for j, l := range levels {
				z[2*j+1], z[2*j] = math.Sincos(circles[j].Angle(l))
			}
		}),
	}
}

func newKind(g factor.Grid, d int, code func(levels []int, z []float64)) measuredKind {
	perfect := gridInput(g, d, code)
	random := copyInput(perfect)
	s := rng.New(seed, "random codes")
	for i := range random.Codes.Data {
		random.Codes.Data[i] = s.NormFloat64()
	}
	for i := range random.Components {
		random.Components[i] = s.IntN(3) - 1
	}
	// Another tree: one dimension with two options.
	random.Hierarchy = hierarchy.Hierarchy{{Options: []hierarchy.Hierarchy{make(hierarchy.Hierarchy, d-1), {}}}}
	return measuredKind{perfect, random}
}

// gridInput returns an input with a full grid of factors. Its two components are correct, and follow from the first
// factor.
func gridInput(g factor.Grid, d int, code func(levels []int, z []float64)) *metrics.Input {
	in := &metrics.Input{Factors: g, Codes: matrix.Matrix{Rows: g.Len(), Cols: d, Data: make([]float64, g.Len()*d)},
		Hierarchy: make(hierarchy.Hierarchy, d), TrueHierarchy: make(hierarchy.Hierarchy, d)}
	for i, levels := range g.All() {
		in.Levels = append(in.Levels, levels...)
		in.Components, in.Paths = append(in.Components, levels[0]%2), append(in.Paths, levels[0]%2)
		code(levels, in.Codes.Row(i))
	}
	return in
}

// variants returns other inputs with the same factors.
func (k measuredKind) variants() map[string]*metrics.Input {
	order := rng.New(seed, "rows").Perm(k.random.Codes.Rows)
	other := pickRows(k.random, order)
	other.Codes, other.Components = k.random.Codes, k.random.Components
	mixed := copyInput(other)
	mixed.Codes, mixed.Components, mixed.Hierarchy = k.perfect.Codes, k.perfect.Components, k.perfect.Hierarchy
	return map[string]*metrics.Input{
		"perfect, other levels": mixed,
		"random":                k.random,
		"constant":              recode(k.perfect, k.perfect.Codes.Cols, func(_, z []float64) { clear(z) }),
		"repeated":              recode(k.perfect, 2*k.perfect.Codes.Cols, func(from, z []float64) { copy(z[copy(z, from):], from) }),
		"permuted columns":      recode(k.random, k.random.Codes.Cols, func(from, z []float64) { copy(z, from); slices.Reverse(z) }),
		"permuted rows":         pickRows(k.random, order),
		"other levels":          other,
	}
}

// recode replaces codes, row by row.
func recode(in *metrics.Input, d int, code func(from, z []float64)) *metrics.Input {
	out := copyInput(in)
	out.Codes = matrix.Matrix{Rows: in.Codes.Rows, Cols: d, Data: make([]float64, in.Codes.Rows*d)}
	if d != in.Codes.Cols {
		out.Hierarchy = make(hierarchy.Hierarchy, d)
	}
	for i := range in.Codes.Rows {
		code(in.Codes.Row(i), out.Codes.Row(i))
	}
	return out
}

// pickRows returns an input with the given rows of another input.
func pickRows(in *metrics.Input, rows []int) *metrics.Input {
	out, k := copyInput(in), len(in.Factors)
	out.Codes = matrix.Matrix{Rows: len(rows), Cols: in.Codes.Cols}
	out.Levels, out.Components, out.Paths = nil, nil, nil
	for _, i := range rows {
		out.Codes.Data = append(out.Codes.Data, in.Codes.Row(i)...)
		out.Levels = append(out.Levels, in.Levels[i*k:(i+1)*k]...)
		out.Components, out.Paths = append(out.Components, in.Components[i]), append(out.Paths, in.Paths[i])
	}
	return out
}

func copyInput(in *metrics.Input) *metrics.Input {
	out := *in
	out.Codes.Data, out.Levels, out.Factors = slices.Clone(in.Codes.Data), slices.Clone(in.Levels), slices.Clone(in.Factors)
	out.Components, out.Paths = slices.Clone(in.Components), slices.Clone(in.Paths)
	return &out
}

// oddInputs returns inputs that few metrics, or no metric, can measure.
func oddInputs() map[string]*metrics.Input {
	kind := measuredKinds()[0]
	one := pickRows(kind.perfect, []int{7})
	level := pickRows(kind.perfect, []int{0, 0, 0})
	level.Factors = factor.Grid{{Name: "size", Size: 1}, {Name: "x", Size: 1}, {Name: "y", Size: 1}}
	single := recode(kind.perfect, 1, func(from, z []float64) { z[0] = from[0] })
	constant := kind.variants()["constant"]
	repeated := kind.variants()["repeated"]
	huge := recode(kind.perfect, 3, func(from, z []float64) {
		for c, v := range from {
			z[c] = v * 1e200
		}
	})
	nan, short, high := copyInput(kind.perfect), copyInput(kind.perfect), copyInput(kind.perfect)
	nan.Codes.Data[5] = math.NaN()
	short.Levels = short.Levels[:len(short.Levels)-1]
	high.Levels[0] = 6
	gaps, unknown := copyInput(kind.random), copyInput(kind.random)
	for at := range gaps.Levels {
		if at%7 == 0 {
			gaps.Levels[at] = factor.Unknown
		}
		unknown.Levels[at] = factor.Unknown
	}
	return map[string]*metrics.Input{"one image": one, "factors of one level": level, "one column": single, "constant codes": constant,
		"repeated columns": repeated, "huge codes": huge, "codes that are no numbers": nan, "too few levels": short, "a level that its factor lacks": high,
		"unknown levels": gaps, "no known level": unknown}
}

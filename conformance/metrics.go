package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// CheckMetric returns the faults of an entry of the registry of metrics. It tests the defaults and, if the metric is
// [metrics.Varied], its variants. Faults are:
//
//   - an invalid entry; no Units; settings that strict YAML does not reproduce, or that Compute changes;
//   - a non-finite value; a value that differs between calls, between 1 and 4 threads, or after another
//     computation; a changed input;
//   - a value outside its Range (for a [metrics.Bounded]), or that depends on the order of images or, unless the
//     metric is [metrics.SubCoded], on the order of code columns; metrics that draw random numbers may depend on
//     both;
//   - random codes with a better value than perfect codes, by Better, unless the metric ignores the levels of
//     factors;
//   - a panic for perfect, random, constant, repeated or single codes, or for factors with one level or unknown
//     levels;
//   - parts and grids without names, with a wrong number of labels, or with numbers that JSON lacks;
//   - a computation that does not stop when the context ends, before or during the computation, or an error that
//     does not wrap the context's error.
//
// The check sets options for the amount of computation (train, test, rounds, samples, splits, sizes, pairs) to small
// values if the settings stay valid. The metric must suit one of the test's inputs: 6 x 5 x 4 ordinal levels, or 8 x
// 6 levels on two circles.
func CheckMetric(e registry.Entry[metrics.Metric]) error {
	return faultsOf("metric "+e.Name, func(f *findings) {
		m, ok := entryOf(f, e)
		varied, _ := m.(metrics.Varied)
		if !ok && (varied == nil || !errors.Is(f.err(), ErrNeedsSettings)) {
			return
		}
		if ok {
			(&metricCheck{findings: f, entry: e}).checkAll()
		} else {
			f.errs = nil // the variants belong to the same entry
		}
		for i := 0; varied != nil && i < len(varied.Variants()); i++ {
			variant := e
			variant.New = func() metrics.Metric { return e.New().(metrics.Varied).Variants()[i] }
			f.part = fmt.Sprintf("metric %s: variant %d", e.Name, i+1)
			f.run((&metricCheck{findings: f, entry: variant}).checkAll)
		}
	})
}

func (x *metricCheck) checkAll() {
	if x.entry.Units == "" {
		x.add("it has no Units; want the units of its value, or \"none\"")
	}
	x.run(x.roundTrip)
	var unsuited []error
	kinds := measuredKinds()
	for _, kind := range kinds {
		if err := metrics.Suits(kind.perfect, x.choices()); err != nil {
			unsuited = append(unsuited, err)
			continue
		}
		x.run(func() { x.check(kind) })
	}
	if len(unsuited) == len(kinds) {
		x.fatal("it suits no input of the test: %w", errors.Join(unsuited...))
	}
	x.oddInputs()
}

type metricCheck struct {
	*findings
	entry registry.Entry[metrics.Metric]
}

// settings returns new settings with a small amount of computation.
func (x *metricCheck) settings() metrics.Metric {
	m := x.entry.New()
	for _, o := range []string{"train: 600", "test: 300", "rounds: 10", "samples: 200", "splits: 2", "sizes: [20, 40]", "pairs: 1000"} {
		trial := x.entry.New()
		if config.Load(x.entry.Name, []byte(o), trial) == nil {
			_ = config.Load(x.entry.Name, []byte(o), m) // an option must be valid alone, without the other options
		}
	}
	return m
}

func (x *metricCheck) choices() []metrics.Choice {
	return []metrics.Choice{{Name: x.entry.Name, Value: x.settings()}}
}

// roundTrip writes the settings as a config and reads them again.
func (x *metricCheck) roundTrip() {
	m := x.entry.New()
	text, err := config.Encode(m)
	x.must(err, "its settings are no config")
	read := x.entry.New()
	if len(bytes.TrimSpace(text)) > 0 {
		if err := config.Load(x.entry.Name, text, read); err != nil {
			x.add("its settings %q are not read again: %w", text, err)
		}
	}
	if !reflect.DeepEqual(m, read) {
		x.add("its settings %q are read as %+v; want %+v", text, read, m)
	}
}

// compute computes the metric with new settings and a new stream. drew reports whether it drew from the stream.
func (x *metricCheck) compute(ctx context.Context, in *metrics.Input) (r metrics.Result, drew bool, err error) {
	input, m := *in, x.settings()
	input.Stream = rng.New(seed, "metric")
	streamBefore, _ := input.Stream.MarshalBinary()
	settings, _ := config.Encode(m)
	if err := in.Validate(); err != nil {
		return r, false, err
	}
	if r, err = m.Compute(ctx, &input); err != nil {
		return r, false, err
	}
	streamAfter, _ := input.Stream.MarshalBinary()
	if changed, _ := config.Encode(m); !bytes.Equal(settings, changed) {
		x.add("its settings change from %q to %q", settings, changed)
	}
	return r, !bytes.Equal(streamBefore, streamAfter), nil
}

// check tests a metric on inputs of one kind.
func (x *metricCheck) check(kind measuredKind) {
	r, drew, err := x.compute(context.Background(), kind.perfect)
	x.must(err, "perfect codes")
	x.result(r)
	x.pure(kind.perfect, r)
	x.pure(kind.random, metrics.Result{Value: math.NaN()})
	values := map[string]float64{"perfect": r.Value}
	for name, in := range kind.variants() {
		if r, _, err := x.compute(context.Background(), in); err == nil {
			values[name] = r.Value
			x.result(r)
		}
	}
	equal := func(a, b string) bool {
		v, ok := values[b]
		return !ok || math.Abs(v-values[a]) <= 1e-7*(1+math.Abs(v))
	}
	if !drew && !equal("random", "permuted rows") {
		x.add("random codes have %v, and in another order of images %v; want the same",
			values["random"], values["permuted rows"])
	}
	if _, ordered := x.entry.New().(metrics.SubCoded); !drew && !ordered && !equal("random", "permuted columns") {
		x.add("random codes have %v, and in another order of columns %v; want the same, or SetCodes for metrics of columns with places", values["random"], values["permuted columns"])
	}
	sign := 1.0
	if x.entry.New().Better() == metrics.LowerIsBetter {
		sign = -1
	}
	ofCodes := equal("random", "other levels") && equal("perfect", "perfect, other levels") // such a metric need not prefer perfect codes
	if worse, ok := values["random"]; ok && !ofCodes && sign*worse > sign*values["perfect"]+1e-9 {
		x.add("random codes have %v, perfect ones %v, and %s is better; want Better the other way",
			worse, values["perfect"], x.entry.New().Better())
	}
	x.cancellation(kind.perfect)
}

// pure repeats a computation: at once, with one thread, with four threads, and after another input.
func (x *metricCheck) pure(in *metrics.Input, want metrics.Result) {
	original := copyInput(in)
	repeat := func(when string) {
		r, _, err := x.compute(context.Background(), in)
		if err != nil {
			if !math.IsNaN(want.Value) {
				x.add("%s: %w", when, err)
			}
			return
		}
		if math.IsNaN(want.Value) {
			want = r
		}
		if a, _ := json.Marshal(r); !bytes.Equal(a, jsonOf(want)) {
			x.add("two results for one input and one stream differ (%s): %.200s and %.200s", when, jsonOf(want), a)
		}
	}
	repeat("the second time")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, n := range []int{1, 4} {
		runtime.GOMAXPROCS(n)
		repeat(fmt.Sprintf("%d threads", n))
	}
	if !reflect.DeepEqual(original, in) {
		x.add("it changes its input")
	}
}

func jsonOf(r metrics.Result) []byte {
	text, _ := json.Marshal(r)
	return text
}

func (x *metricCheck) result(r metrics.Result) {
	if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
		x.add("the value is %v; want a finite number, or an error", r.Value)
		return
	}
	if b, ok := x.entry.New().(metrics.Bounded); ok {
		if low, high := b.Range(); r.Value < low-1e-9 || r.Value > high+1e-9 {
			x.add("the value %v is not within its range, %v to %v", r.Value, low, high)
		}
	}
	names := map[string]bool{}
	checkName := func(kind, name string) {
		if name == "" || names[kind+name] {
			x.add("a %s has the name %q, which is empty or repeated", kind, name)
		}
		names[kind+name] = true
	}
	for _, p := range r.Parts {
		checkName("part", p.Name)
		if len(p.Labels) != len(p.Values) && !(len(p.Labels) == 0 && len(p.Values) == 1) {
			x.add("part %s has %d values and %d labels; want a label for each, or one value without",
				p.Name, len(p.Values), len(p.Labels))
		}
	}
	for _, g := range r.Grids {
		checkName("grid", g.Name)
		if len(g.Values) != len(g.Rows) ||
			slices.ContainsFunc(g.Values, func(row []float64) bool { return len(row) != len(g.Columns) }) {
			x.add("grid %s does not have %d x %d values, one for each pair of labels", g.Name, len(g.Rows), len(g.Columns))
		}
	}
	if _, err := json.Marshal(r); err != nil {
		x.add("the result has numbers that JSON lacks: %w", err)
	}
}

// oddInputs computes the metric on inputs that it may refuse with an error, but not with a panic.
func (x *metricCheck) oddInputs() {
	for name, in := range oddInputs() {
		in.Stream = rng.New(seed, "metric")
		choices := x.choices()
		if metrics.Suits(in, choices) != nil {
			continue
		}
		func() {
			defer func() {
				if p := recover(); p != nil {
					x.add("it panics on %s: %v", name, p)
				}
			}()
			if r, err := metrics.Evaluate(context.Background(), in, seed, choices); err == nil {
				x.result(r[0])
			}
		}()
	}
}

// cancellation ends the context before and during a computation.
func (x *metricCheck) cancellation(in *metrics.Input) {
	for _, n := range []int{0, 1, 2, 5, 20} {
		ctx := &countedContext{Context: context.Background()}
		ctx.remaining.Store(int64(n))
		_, _, err := x.compute(ctx, in)
		switch ended := ctx.remaining.Load() < 0; {
		case n == 0 && (err == nil || !errors.Is(err, context.Canceled)):
			x.add("the context has ended, and Compute returns the error %v; want an error that wraps the context's error", err)
			return
		case ended && !errors.Is(err, context.Canceled):
			x.add("the context ends at look %d, and Compute returns the error %v; want an error that wraps the context's error",
				n+1, err)
			return
		case !ended:
			return
		}
	}
}

// countedContext is a context that ends after a number of calls of Err.
type countedContext struct {
	context.Context
	remaining atomic.Int64
}

func (c *countedContext) Err() error {
	if c.remaining.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func (c *countedContext) Done() <-chan struct{} {
	done := make(chan struct{})
	if c.remaining.Load() < 0 {
		close(done)
	}
	return done
}

// measuredKind is a kind of factors, with perfect codes and random codes of equal width.
type measuredKind struct{ perfect, random *metrics.Input }

// measuredKinds returns ordinal factors, with one column each in the perfect code, and circular factors, with two.
func measuredKinds() []measuredKind {
	ordinal := factor.Grid{{Name: "size", Size: 6, Kind: factor.Ordinal}, {Name: "x", Size: 5, Kind: factor.Ordinal},
		{Name: "y", Size: 4, Kind: factor.Ordinal}}
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

// gridInput returns an input with a full grid of factors. Its two components follow from the first factor.
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
	relabelled := pickRows(k.random, order)
	relabelled.Codes, relabelled.Components = k.random.Codes, k.random.Components
	swapped := copyInput(relabelled)
	swapped.Codes, swapped.Components, swapped.Hierarchy = k.perfect.Codes, k.perfect.Components, k.perfect.Hierarchy
	return map[string]*metrics.Input{
		"perfect, other levels": swapped,
		"random":                k.random,
		"constant":              recode(k.perfect, k.perfect.Codes.Cols, func(_, z []float64) { clear(z) }),
		"repeated":              recode(k.perfect, 2*k.perfect.Codes.Cols, func(source, z []float64) { copy(z[copy(z, source):], source) }),
		"permuted columns":      recode(k.random, k.random.Codes.Cols, func(source, z []float64) { copy(z, source); slices.Reverse(z) }),
		"permuted rows":         pickRows(k.random, order),
		"other levels":          relabelled,
	}
}

// recode replaces codes, row by row.
func recode(in *metrics.Input, d int, code func(source, z []float64)) *metrics.Input {
	recoded := copyInput(in)
	recoded.Codes = matrix.Matrix{Rows: in.Codes.Rows, Cols: d, Data: make([]float64, in.Codes.Rows*d)}
	if d != in.Codes.Cols {
		recoded.Hierarchy = make(hierarchy.Hierarchy, d)
	}
	for i := range in.Codes.Rows {
		code(in.Codes.Row(i), recoded.Codes.Row(i))
	}
	return recoded
}

// pickRows returns an input with the given rows of another input.
func pickRows(in *metrics.Input, rows []int) *metrics.Input {
	picked, k := copyInput(in), len(in.Factors)
	picked.Codes = matrix.Matrix{Rows: len(rows), Cols: in.Codes.Cols}
	picked.Levels, picked.Components, picked.Paths = nil, nil, nil
	for _, i := range rows {
		picked.Codes.Data = append(picked.Codes.Data, in.Codes.Row(i)...)
		picked.Levels = append(picked.Levels, in.Levels[i*k:(i+1)*k]...)
		picked.Components, picked.Paths = append(picked.Components, in.Components[i]), append(picked.Paths, in.Paths[i])
	}
	return picked
}

func copyInput(in *metrics.Input) *metrics.Input {
	copied := *in
	copied.Codes.Data, copied.Levels, copied.Factors = slices.Clone(in.Codes.Data), slices.Clone(in.Levels),
		slices.Clone(in.Factors)
	copied.Components, copied.Paths = slices.Clone(in.Components), slices.Clone(in.Paths)
	return &copied
}

// oddInputs returns inputs that few metrics, or no metric, can measure.
func oddInputs() map[string]*metrics.Input {
	kind := measuredKinds()[0]
	single := pickRows(kind.perfect, []int{7})
	level := pickRows(kind.perfect, []int{0, 0, 0})
	level.Factors = factor.Grid{{Name: "size", Size: 1}, {Name: "x", Size: 1}, {Name: "y", Size: 1}}
	oneColumn := recode(kind.perfect, 1, func(source, z []float64) { z[0] = source[0] })
	constant := kind.variants()["constant"]
	repeated := kind.variants()["repeated"]
	huge := recode(kind.perfect, 3, func(source, z []float64) {
		for c, v := range source {
			z[c] = v * 1e200
		}
	})
	nan, short, high := copyInput(kind.perfect), copyInput(kind.perfect), copyInput(kind.perfect)
	nan.Codes.Data[5] = math.NaN()
	short.Levels = short.Levels[:len(short.Levels)-1]
	high.Levels[0] = 6
	gaps, unknown := copyInput(kind.random), copyInput(kind.random)
	for i := range gaps.Levels {
		if i%7 == 0 {
			gaps.Levels[i] = factor.Unknown
		}
		unknown.Levels[i] = factor.Unknown
	}
	return map[string]*metrics.Input{"one image": single, "factors of one level": level, "one column": oneColumn,
		"constant codes":   constant,
		"repeated columns": repeated, "huge codes": huge, "codes that are no numbers": nan, "too few levels": short, "a level that its factor lacks": high,
		"unknown levels": gaps, "no known level": unknown}
}

package conformance

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/losses"
)

// CheckLoss returns the faults of an entry of the registry of losses. It runs the loss on a [losses.Example], and
// also its variants if it is [losses.Varied]. Faults are:
//
//   - gradients in model outputs that differ from central differences in float64, or that differ in float32,
//     between one thread and several, or between graph/machine, Gorgonia's TapeMachine and its LispMachine;
//   - a value that is not a finite scalar; for a [losses.Optimal] loss, a value below 0, or not 0 at its optimum;
//   - non-finite values and gradients at hard points: equal rows, ties, one row or all rows in a group, no labels;
//   - no error for inputs with unequal numbers of rows; a panic for such inputs or for arrays of other ranks;
//   - nodes with different settings that Gorgonia merges, because an operation's Key lacks a parameter;
//   - a total without the weight; a Validate that accepts weights below 0, infinite or NaN;
//   - settings that change when written and read.
func CheckLoss(e registry.Entry[losses.Loss]) error {
	return faultsOf("loss "+e.Name, func(f *findings) {
		l, ok := entryOf(f, e)
		variants := []losses.Loss{l}
		if v, varied := l.(losses.Varied); varied {
			variants = append(variants, v.Variants()...)
		}
		if !ok {
			if len(variants) == 1 || !errors.Is(f.err(), ErrNeedsSettings) {
				return
			}
			f.errs, variants = nil, variants[1:] // the variants belong to the same entry
		}
		part := f.part
		for i, l := range variants {
			if i > 0 || !ok {
				f.part = fmt.Sprintf("%s: variant %d", part, i)
			}
			f.run((&lossCheck{findings: f, loss: l, entry: e}).check)
		}
		if f.part = part; len(f.errs) == 0 {
			checkKeys(f, variants, e)
		}
	})
}

// lossCheck checks a loss with some settings.
type lossCheck struct {
	*findings
	loss  losses.Loss
	entry registry.Entry[losses.Loss]
}

func (x *lossCheck) check() {
	if v, ok := x.loss.(config.Validator); ok {
		x.must(v.Validate(), "its settings are not valid")
	}
	example := drawExample("first")
	value, used, err := x.valueOf(example)
	x.must(err, "it cannot be added to an example")
	x.run(func() { x.gradients("first", used) }, func() { x.gradients("second", used) }, func() { x.optimum(value) },
		func() { x.hardPoints(used) }, func() { x.shapes(used) }, func() { x.weight(value) }, x.settings)
}

// valueOf computes the loss of an example in float64, and lists the arrays that the loss depends on.
func (x *lossCheck) valueOf(example *losses.Example) (float64, map[string]bool, error) {
	nodes := arrayNodes(gorgonia.NewGraph(), tensor.Float64, arrays(example))
	n, err := x.node(nodes)
	if err != nil {
		return 0, nil, err
	}
	v, err := run(n)
	if err != nil {
		return 0, nil, err
	}
	return v[0][0], usedInputs(n, nodes), nil
}

func (x *lossCheck) node(nodes map[string]*gorgonia.Node) (*gorgonia.Node, error) {
	n, err := x.loss.Add(lossInput(nodes))
	switch {
	case err != nil:
		return nil, err
	case n == nil || !n.IsScalar():
		return nil, fmt.Errorf("method Add returns %v; want a scalar node", n)
	}
	return n, nil
}

// gradients compares gradients with central differences, and machines with each other.
func (x *lossCheck) gradients(stream string, used map[string]bool) {
	inputs := arrays(drawExample(stream))
	c := gradcheck.Case{Name: stream + " example", Floor32: 0.1, Tolerance32: 1e-4, Samples: 100}
	var names []string
	trainable := 0
	for _, a := range inputs {
		if !used[a.name] {
			continue
		}
		names = append(names, a.name)
		c.Inputs = append(c.Inputs, gradcheck.Input{Shape: a.shape, Values: a.values, Constant: a.constant})
		if !a.constant {
			trainable++
		}
	}
	if trainable == 0 {
		x.fatal("it depends on nothing that a model makes")
	}
	c.Build = func(in []*gorgonia.Node) (*gorgonia.Node, error) {
		linked := in[slices.IndexFunc(in, func(n *gorgonia.Node) bool { return n.Graph() != nil })]
		var unused []array
		for _, a := range inputs {
			if !used[a.name] {
				unused = append(unused, a)
			}
		}
		nodes := arrayNodes(linked.Graph(), linked.Dtype(), unused)
		for i, name := range names {
			nodes[name] = in[i]
		}
		if nodes["codes"].Graph() == nil {
			return nil, errors.New("codes of no graph")
		}
		return x.node(nodes)
	}
	if err := gradcheck.Verify(c); err != nil {
		x.add("inputs %q: %v", names, err)
	}
}

// optimum checks losses with a minimum of 0.
func (x *lossCheck) optimum(value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		x.add("its value is %v; want a number", value)
	}
	o, ok := x.loss.(losses.Optimal)
	if !ok {
		return
	}
	best := drawExample("optimum")
	if !o.Optimum(best) {
		return
	}
	if value < 0 {
		x.add("its value is %v; want 0 or more, as Optimum says that it has the value 0", value)
	}
	if got, _, err := x.valueOf(best); err != nil || !(math.Abs(got) <= 1e-7) {
		x.add("its value at the optimum is %v, error %v; want 0", got, err)
	}
}

// hardPoints checks that values and gradients are finite at hard points.
func (x *lossCheck) hardPoints(used map[string]bool) {
	points := hardExamples()
	for _, name := range slices.Sorted(maps.Keys(points)) {
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			nodes := arrayNodes(gorgonia.NewGraph(), dt, arrays(points[name]))
			n, err := x.node(nodes)
			x.must(err, "at %s", name)
			var trainable gorgonia.Nodes
			for _, a := range arrays(points[name]) {
				if used[a.name] && !a.constant {
					trainable = append(trainable, nodes[a.name])
				}
			}
			if err := x.finite(n, trainable, fmt.Sprintf("%s in %v", name, dt)); err != nil {
				x.add("at %s: %v", name, err)
			}
		}
	}
}

// finite checks that the loss n and its gradients are finite at a point.
func (x *lossCheck) finite(n *gorgonia.Node, trainable gorgonia.Nodes, point string) error {
	grads, err := gorgonia.Grad(n, trainable...)
	if err != nil {
		return err
	}
	values, err := run(append(gorgonia.Nodes{n}, grads...)...)
	if err != nil {
		return err
	}
	for i, v := range values {
		name := "the value"
		if i > 0 {
			name = "the gradient of " + trainable[i-1].Name()
		}
		if element := notFinite(v); element >= 0 {
			x.add("at %s: element %d of %s is %v; want a number", point, element, name, v[element])
		}
	}
	return nil
}

// shapes checks that arrays of wrong shapes give errors.
func (x *lossCheck) shapes(used map[string]bool) {
	for _, a := range arrays(drawExample("first")) {
		if !used[a.name] {
			continue
		}
		rows := slices.Clone(a.shape)
		rows[0] += exampleGroup
		for _, shape := range [][]int{rows, {a.shape[0]}, append([]int{1}, a.shape...), {a.shape[0], 1, 1}} {
			if err := x.withShape(a.name, shape); err == nil && slices.Equal(shape, rows) && len(used) > 1 {
				x.add("%s of shape %v beside others of %d rows are no error; want one", a.name, shape, exampleRows)
			}
		}
	}
}

// withShape adds the loss with another shape for one array, and runs it.
func (x *lossCheck) withShape(name string, shape []int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			x.add("it panics if %s have the shape %v: %v; want an error", name, shape, p)
			err = errors.New("panic")
		}
	}()
	inputs := arrays(drawExample("first"))
	for i := range inputs {
		if inputs[i].name == name {
			inputs[i].shape = shape
		}
	}
	n, err := x.node(arrayNodes(gorgonia.NewGraph(), tensor.Float64, inputs))
	if err == nil {
		_, err = run(n)
	}
	return err
}

// weight checks that the total contains the loss times its weight.
func (x *lossCheck) weight(value float64) {
	w := x.loss.Weighting()
	x.must(w.Validate(), "its weight")
	in := lossInput(arrayNodes(gorgonia.NewGraph(), tensor.Float64, arrays(drawExample("first"))))
	o, err := losses.Compose(&in.Outputs, in.Batch, in.Trainer, []losses.Choice{{Name: x.entry.Name, Value: x.loss}})
	x.must(err, "Compose")
	if total := x.results("total", o.Total)[0][0]; differs(total, w.At(exampleStep)*value) {
		x.add("the total is %v; want the weight %v times %v", total, w.At(exampleStep), value)
	}
}

// settings checks that settings survive writing and reading, and that the set weight takes effect.
func (x *lossCheck) settings() {
	text, err := config.Encode(x.loss)
	x.must(err, "its settings cannot be written")
	read := x.entry.New()
	if err := config.Load("settings.yaml", text, read); err != nil {
		x.fatal("its settings cannot be read again: %v\n%s", err, text)
	}
	if rewritten, err := config.Encode(read); err != nil || string(rewritten) != string(text) {
		x.add("its settings change when they are written and read:\n%s\nwant\n%s", rewritten, text)
	}
	weight := option(reflect.ValueOf(x.loss), "weight")
	if !weight.IsValid() {
		return
	}
	w, ok := weight.Addr().Interface().(*losses.Weight)
	if !ok {
		x.fatal("its weight is a %v; want a losses.Weight, which can change with the steps of training", weight.Type())
	}
	original := *w
	defer func() { *w = original }()
	for _, rewritten := range []losses.Weight{losses.Constant(2.5), {Ramp: losses.Ramp{To: 3, Steps: 10}}} {
		*w = rewritten
		if got := x.loss.Weighting(); got != rewritten {
			x.add("Weighting is %v with the weight %v", got, rewritten)
		}
	}
}

// option returns the field of settings with a key, or the zero Value.
func option(settings reflect.Value, key string) (match reflect.Value) {
	settings = reflect.Indirect(settings)
	for i := 0; settings.Kind() == reflect.Struct && i < settings.NumField() && !match.IsValid(); i++ {
		field := settings.Type().Field(i)
		switch name, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); {
		case !field.IsExported():
		case name == key:
			match = settings.Field(i)
		case name == "" && field.Anonymous:
			match = option(settings.Field(i), key)
		}
	}
	return match
}

// changeOptions calls f with settings that differ from a loss's settings in one option.
func (x *lossCheck) changeOptions(f func(key string, l losses.Loss)) {
	text, err := config.Encode(x.loss)
	x.must(err, "its settings cannot be written")
	for _, o := range config.Options(x.loss) {
		if o.Key == "weight" || strings.HasPrefix(o.Key, "weight.") {
			continue
		}
		for _, value := range x.otherValues(text, o) {
			l := x.entry.New()
			if config.Load("settings.yaml", text, l, o.Key+"="+value) == nil {
				f(o.Key, l)
			}
		}
	}
}

// knownNames matches the list of names in an error such as "unknown x; known: a, b".
var knownNames = regexp.MustCompile(`known: (.*)$`)

// otherValues returns other values of an option in settings: a number that changes a little, or all names that the
// error for an unknown name lists.
func (x *lossCheck) otherValues(settings []byte, o config.Option) []string {
	switch o.Type {
	case "number":
		if v, err := strconv.ParseFloat(o.Default, 64); err == nil {
			return []string{fmt.Sprint(v*2 + 0.5)}
		}
	case "integer":
		if v, err := strconv.Atoi(o.Default); err == nil {
			return []string{fmt.Sprint(v + 1)}
		}
	case "true or false":
		return []string{fmt.Sprint(o.Default != "true")}
	default:
		err := config.Load("settings.yaml", settings, x.entry.New(), o.Key+`="?"`)
		if err == nil {
			break
		}
		if m := knownNames.FindStringSubmatch(err.Error()); m != nil {
			return strings.Split(m[1], ", ")
		}
	}
	return nil
}

// checkKeys computes a loss with many settings, each in a separate graph and then all in one graph. In the shared
// graph Gorgonia merges nodes of equal keys and inputs.
func checkKeys(f *findings, variants []losses.Loss, e registry.Entry[losses.Loss]) {
	var names []string
	var separate []float64 // values
	var shared gorgonia.Nodes
	in := lossInput(arrayNodes(gorgonia.NewGraph(), tensor.Float64, arrays(drawExample("first"))))
	add := func(name string, l losses.Loss) {
		x := &lossCheck{findings: f, loss: l, entry: e}
		value, _, err := x.valueOf(drawExample("first"))
		if err != nil {
			return // these settings do not fit the example
		}
		n, err := l.Add(in)
		f.must(err, "%s beside other settings", name)
		names, separate, shared = append(names, name), append(separate, value), append(shared, n)
	}
	for i, l := range variants {
		add(fmt.Sprintf("settings %d", i), l)
		x := &lossCheck{findings: f, loss: l, entry: e}
		x.changeOptions(func(key string, l losses.Loss) { add(fmt.Sprintf("settings %d with another %s", i, key), l) })
	}
	for i, v := range f.results("many settings in one graph", slices.Clone(shared)...) {
		if differs(v[0], separate[i]) {
			f.add("%s: its value is %v in a graph with other settings, %v alone: nodes of two settings are merged; want every parameter in the Key of the operation", names[i], v[0], separate[i])
		}
	}
}

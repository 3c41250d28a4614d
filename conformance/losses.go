package conformance

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
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
func option(v reflect.Value, key string) (match reflect.Value) {
	eachOption(v, func(k string, field reflect.Value) {
		if k == key {
			match = field
		}
	})
	return match
}

// eachOption calls f for the options of settings.
func eachOption(v reflect.Value, f func(key string, field reflect.Value)) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch key := strings.Split(field.Tag.Get("yaml"), ",")[0]; {
		case !field.IsExported():
		case field.Anonymous && key == "":
			eachOption(v.Field(i), f)
		case key != "":
			f(key, v.Field(i))
		}
	}
}

// knownNames matches the list of names in an error such as "unknown x; known: a, b".
var knownNames = regexp.MustCompile(`known: (.*)$`)

// changeOptions calls f with settings that differ in one option. A number changes a little. For a name it tries each
// name that the error for an unknown name lists.
func changeOptions(base losses.Loss, f func(key string, l losses.Loss)) {
	if reflect.TypeOf(base).Kind() != reflect.Pointer {
		return
	}
	eachOption(reflect.ValueOf(base), func(key string, field reflect.Value) {
		if key == "weight" {
			return
		}
		try := func(edit func(v reflect.Value) bool) {
			copied := reflect.New(reflect.TypeOf(base).Elem())
			copied.Elem().Set(reflect.ValueOf(base).Elem())
			if !edit(option(copied, key)) {
				return
			}
			l := copied.Interface().(losses.Loss)
			if v, ok := l.(config.Validator); !ok || v.Validate() == nil {
				f(key, l)
			}
		}
		if names := namesOfOption(field); names != nil {
			for _, name := range names {
				try(func(v reflect.Value) bool { return setText(v, name) })
			}
			return
		}
		switch field.Kind() {
		case reflect.Float64:
			try(func(v reflect.Value) bool { v.SetFloat(v.Float()*2 + 0.5); return true })
		case reflect.Int:
			try(func(v reflect.Value) bool { v.SetInt(v.Int() + 1); return true })
		case reflect.Bool:
			try(func(v reflect.Value) bool { v.SetBool(!v.Bool()); return true })
		}
	})
}

// namesOfOption lists the possible names of an option, or nil if the option is not a name.
func namesOfOption(field reflect.Value) []string {
	u, ok := newText(field).Interface().(encoding.TextUnmarshaler)
	if !ok {
		return nil
	}
	if err := u.UnmarshalText([]byte("?")); err != nil {
		if m := knownNames.FindStringSubmatch(err.Error()); m != nil {
			return strings.Split(m[1], ", ")
		}
	}
	return []string{}
}

// newText returns a pointer to a new value of a field, or of its base type for a pointer field.
func newText(field reflect.Value) reflect.Value {
	if field.Kind() == reflect.Pointer {
		return reflect.New(field.Type().Elem())
	}
	return reflect.New(field.Type())
}

func setText(field reflect.Value, name string) bool {
	v := newText(field)
	if v.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(name)) != nil {
		return false
	}
	if field.Kind() == reflect.Pointer {
		field.Set(v)
	} else {
		field.Set(v.Elem())
	}
	return true
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
		changeOptions(l, func(key string, l losses.Loss) { add(fmt.Sprintf("settings %d with another %s", i, key), l) })
	}
	for i, v := range f.results("many settings in one graph", slices.Clone(shared)...) {
		if differs(v[0], separate[i]) {
			f.add("%s: its value is %v in a graph with other settings, %v alone: nodes of two settings are merged; want every parameter in the Key of the operation", names[i], v[0], separate[i])
		}
	}
}

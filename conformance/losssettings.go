package conformance

import (
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/losses"
)

// settings checks that settings survive writing and reading, and that the set weight takes effect.
func (x *lossCheck) settings() {
	text, err := config.Encode(x.loss)
	x.must(err, "its settings cannot be written")
	again := x.entry.New()
	if err := config.Load("settings.yaml", text, again); err != nil {
		x.fatal("its settings cannot be read again: %v\n%s", err, text)
	}
	if other, err := config.Encode(again); err != nil || string(other) != string(text) {
		x.add("its settings are others after writing and reading them:\n%s\nwant\n%s", other, text)
	}
	weight := option(reflect.ValueOf(x.loss), "weight")
	if !weight.IsValid() {
		return
	}
	w, ok := weight.Addr().Interface().(*losses.Weight)
	if !ok {
		x.fatal("its weight is a %v; want a losses.Weight, which can change with the steps of training", weight.Type())
	}
	was := *w
	defer func() { *w = was }()
	for _, other := range []losses.Weight{losses.Constant(2.5), {Ramp: losses.Ramp{To: 3, Steps: 10}}} {
		*w = other
		if got := x.loss.Weighting(); got != other {
			x.add("Weighting is %v with the weight %v", got, other)
		}
	}
}

// option returns the field of settings with a key, or the zero Value.
func option(v reflect.Value, key string) (found reflect.Value) {
	eachOption(v, func(k string, field reflect.Value) {
		if k == key {
			found = field
		}
	})
	return found
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

// known matches the list of names in an error such as "unknown x; known: a, b".
var known = regexp.MustCompile(`known: (.*)$`)

// changed calls f with settings that differ in one option. A number changes a little. For a name it tries each name
// that the error for an unknown name lists.
func changed(e registry.Entry[losses.Loss], base losses.Loss, f func(what string, l losses.Loss)) {
	if reflect.TypeOf(base).Kind() != reflect.Pointer {
		return
	}
	eachOption(reflect.ValueOf(base), func(key string, field reflect.Value) {
		if key == "weight" {
			return
		}
		try := func(set func(v reflect.Value) bool) {
			changed := reflect.New(reflect.TypeOf(base).Elem())
			changed.Elem().Set(reflect.ValueOf(base).Elem())
			if !set(option(changed, key)) {
				return
			}
			l := changed.Interface().(losses.Loss)
			if v, has := l.(config.Validator); !has || v.Validate() == nil {
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
		if m := known.FindStringSubmatch(err.Error()); m != nil {
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
func checkKeys(f *findings, all []losses.Loss, e registry.Entry[losses.Loss]) {
	var names []string
	var alone []float64 // values
	var together gorgonia.Nodes
	in := lossInput(arrayNodes(gorgonia.NewGraph(), tensor.Float64, arrays(drawExample("first"))))
	add := func(name string, l losses.Loss) {
		x := &lossCheck{findings: f, loss: l, entry: e}
		value, _, err := x.valueOf(drawExample("first"))
		if err != nil {
			return // these settings do not fit the example
		}
		n, err := l.Add(in)
		f.must(err, "%s beside other settings", name)
		names, alone, together = append(names, name), append(alone, value), append(together, n)
	}
	for i, l := range all {
		add(fmt.Sprintf("settings %d", i), l)
		changed(e, l, func(key string, l losses.Loss) { add(fmt.Sprintf("settings %d with another %s", i, key), l) })
	}
	for i, v := range f.results("many settings in one graph", slices.Clone(together)...) {
		if apart(v[0], alone[i]) {
			f.add("%s: its value is %v in a graph with other settings, %v alone: nodes of two settings are merged; want every parameter in the Key of the operation", names[i], v[0], alone[i])
		}
	}
}

package conformance

import (
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

// settings checks that settings survive writing and reading, and that the weight is the one that is set.
func (x *lossCheck) settings() {
	text, err := config.Encode(x.loss)
	if err != nil {
		x.fail("its settings cannot be written: %v", err)
		return
	}
	again := x.entry.New()
	if err := config.Load("settings.yaml", text, again); err != nil {
		x.fail("its settings cannot be read again: %v\n%s", err, text)
		return
	}
	if other, err := config.Encode(again); err != nil || string(other) != string(text) {
		x.fail("its settings are others after writing and reading them:\n%s\nwant\n%s", other, text)
	}
	weight := option(reflect.ValueOf(x.loss), "weight")
	if !weight.IsValid() {
		return
	}
	w, ok := weight.Addr().Interface().(*losses.Weight)
	if !ok {
		x.fail("its weight is a %v; want a losses.Weight, which can change with the steps of training", weight.Type())
		return
	}
	was := *w
	defer func() { *w = was }()
	for _, other := range []losses.Weight{losses.Constant(2.5), {Ramp: losses.Ramp{To: 3, Steps: 10}}} {
		*w = other
		if got := x.loss.Weighting(); got != other {
			x.fail("Weighting is %v with the weight %v", got, other)
		}
	}
}

// option returns the field of settings with a key, the zero Value if there is none.
func option(v reflect.Value, key string) reflect.Value {
	var found reflect.Value
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

// known finds the names in an error such as "unknown x; known: a, b".
var known = regexp.MustCompile(`known: (.*)$`)

// changed calls f with settings that differ in one option: numbers by a little, names by those that the error of an
// unknown name lists.
func changed(e registry.Entry[losses.Loss], base losses.Loss, f func(what string, l losses.Loss)) {
	copyOf := func() (losses.Loss, bool) {
		l := reflect.New(reflect.TypeOf(base).Elem())
		l.Elem().Set(reflect.ValueOf(base).Elem())
		loss, ok := l.Interface().(losses.Loss)
		return loss, ok
	}
	if reflect.TypeOf(base).Kind() != reflect.Pointer {
		return
	}
	eachOption(reflect.ValueOf(base), func(key string, field reflect.Value) {
		if key == "weight" {
			return
		}
		try := func(set func(v reflect.Value) bool) {
			l, ok := copyOf()
			if !ok || !set(option(reflect.ValueOf(l), key)) {
				return
			}
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

// namesOfOption lists the names of an option, nil if it is not a name.
func namesOfOption(field reflect.Value) []string {
	v := reflect.New(field.Type())
	if field.Kind() == reflect.Pointer {
		v = reflect.New(field.Type().Elem())
	}
	u, ok := v.Interface().(interface{ UnmarshalText([]byte) error })
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

func setText(field reflect.Value, name string) bool {
	v := reflect.New(field.Type())
	if field.Kind() == reflect.Pointer {
		v = reflect.New(field.Type().Elem())
	}
	if v.Interface().(interface{ UnmarshalText([]byte) error }).UnmarshalText([]byte(name)) != nil {
		return false
	}
	if field.Kind() == reflect.Pointer {
		field.Set(v)
	} else {
		field.Set(v.Elem())
	}
	return true
}

// setting is a loss with a description of its settings.
type setting struct {
	what  string
	loss  losses.Loss
	value float64
}

// checkKeys computes a loss with many settings, each in a graph of its own and all in one, where Gorgonia merges
// nodes of equal keys and inputs.
func checkKeys(f *findings, all []losses.Loss, e registry.Entry[losses.Loss]) {
	var list []setting
	add := func(what string, l losses.Loss) {
		x := &lossCheck{findings: f, loss: l, entry: e}
		if value, _, err := x.valueOf(drawExample("first")); err == nil { // settings that do not fit the example are skipped
			list = append(list, setting{what, l, value})
		}
	}
	for i, l := range all {
		add(fmt.Sprintf("settings %d", i), l)
		changed(e, l, func(what string, l losses.Loss) { add(fmt.Sprintf("settings %d with another %s", i, what), l) })
	}
	nodes := arrayNodes(gorgonia.NewGraph(), tensor.Float64, arrays(drawExample("first")))
	in := lossInput(nodes)
	var together gorgonia.Nodes
	for _, s := range list {
		n, err := s.loss.Add(in)
		if err != nil {
			f.add("%s beside other settings: %v", s.what, err)
			return
		}
		together = append(together, n)
	}
	values, err := run(slices.Clone(together)...)
	if err != nil {
		f.add("many settings in one graph: %v", err)
		return
	}
	for i, s := range list {
		if apart(values[i][0], s.value) {
			f.add("%s: its value is %v in a graph with other settings, %v alone: nodes of two settings are merged; want every parameter in the Key of the operation", s.what, values[i][0], s.value)
		}
	}
}

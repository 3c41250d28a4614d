package config

import (
	"reflect"

	"github.com/unravel-ml/unravel/configs/registry"
)

// Former is implemented by types that decode themselves. ConfigForms returns a value for each form that DecodeConfig
// accepts. [Schema] and [Node.Over] know such a type by its forms alone. A form is
//
//   - a Go value with its defaults, of a type with another DecodeConfig or none;
//   - nil for null, [Words] for some texts, [Choices] for the entries of a registry;
//   - [Short], after a struct: a scalar or a list alone is the value of a key of the struct.
type Former interface {
	ConfigForms() []any
}

// Words are the texts that a form accepts.
type Words []string

// Short is the key that a value without a key sets: metrics: [mig] is short for metrics: {final: [mig]}.
type Short string

// Choices are the entries of a registry, as a form: `name` or `{name: {options}}`.
type Choices struct {
	Kind  string // kind of the registry
	Parts []Part
}

// Part is an entry of [Choices].
type Part struct {
	Name, Doc, Source string
	New               func() any     // creates the settings with their defaults
	Short             Short          // option that is set by a single scalar or list; empty: none
	More              map[string]any // forms of further options
}

// ChoicesOf returns the entries of a registry as a form.
func ChoicesOf[T any](t *registry.Registry[T]) Choices {
	c := Choices{Kind: t.Kind}
	for _, e := range t.All() {
		c.Parts = append(c.Parts, Part{Name: e.Name, Doc: e.Doc, Source: e.Source, New: func() any { return e.New() }})
	}
	return c
}

func (c Choices) names() []string {
	list := make([]string, len(c.Parts))
	for i, p := range c.Parts {
		list[i] = p.Name
	}
	return list
}

func (c Choices) part(name string) *Part {
	for i := range c.Parts {
		if c.Parts[i].Name == name {
			return &c.Parts[i]
		}
	}
	return nil
}

// forms lists the forms of a value's type: the value itself, or its ConfigForms; none for unknown forms.
func forms(v reflect.Value) []any {
	for v.Kind() == reflect.Pointer && v.Type() != nodeType {
		if v.IsNil() {
			v = fresh(v.Type().Elem())
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		return forms(v.Elem())
	}
	v = settable(v)
	if f, ok := v.Addr().Interface().(Former); ok {
		return f.ConfigForms()
	}
	if _, custom := v.Addr().Interface().(Decoder); custom || v.Type() == nodeType {
		return nil
	}
	return []any{v.Interface()}
}

// settable returns a copy of a value that has the methods of the pointer, too.
func settable(v reflect.Value) reflect.Value {
	s := reflect.New(v.Type()).Elem()
	s.Set(v)
	return s
}

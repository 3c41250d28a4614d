package config

import (
	"errors"
	"reflect"
	"strconv"
)

// validate calls v's Validate method, if there is one, after the Validate methods of embedded structs.
func (d *decoder) validate(n *Node, v reflect.Value) {
	if v.Kind() == reflect.Struct && !decodesItself(v.Type()) {
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Anonymous && inlined(f) {
				d.validate(n, v.Field(i))
			}
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return // decoding already validated the target
	}
	if v.CanAddr() && v.Addr().CanInterface() {
		if x, ok := v.Addr().Interface().(Validator); ok {
			d.errs.add(n, x.Validate())
		}
	}
}

// ValidateParts calls the Validate methods of everything inside the struct that v points to, innermost first, like
// decoding. It is for settings from a program. Its errors have key paths, but no positions in a file.
func ValidateParts(v any) error {
	s := reflect.ValueOf(v).Elem()
	d, root := decoder{}, &Node{kind: absentNode}
	for _, f := range fieldsOf(s.Type()) {
		d.defaults(root, f.name, s.FieldByIndex(f.index), 0)
	}
	mistakes := make([]error, len(d.errs))
	for i, e := range d.errs {
		mistakes[i] = Invalid(e.Key, "%w", e.Err)
	}
	return errors.Join(mistakes...)
}

// defaults validates settings missing from the config, innermost first. Its errors have the position of n.
func (d *decoder) defaults(n *Node, path string, v reflect.Value, depth int) {
	if depth > maxDepth {
		return
	}
	before := len(d.errs)
	if name, value, ok := choiceIn(v); ok {
		switch set := value.Kind() != reflect.Interface || !value.IsNil(); {
		case set && name == "":
			d.errs.add(n, Invalid(path, "settings without a name; want the name of the entry that they belong to"))
		case !set && name != "":
			d.errs.add(n, Invalid(path, "%s has no settings; want the settings that its entry's New returns", name))
		case set:
			d.defaults(n, joinPath(path, name), value, depth+1)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && v.Type() != nodeType {
			d.defaults(n, path, v.Elem(), depth+1)
		}
		return
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			d.defaults(n, joinPath(path, f.name), v.FieldByIndex(f.index), depth+1)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			d.defaults(n, joinPath(path, strconv.Itoa(i)), v.Index(i), depth+1)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(k))
			d.defaults(n, joinPath(path, k.String()), e, depth+1)
		}
	}
	if len(d.errs) == before {
		d.validate(&Node{kind: n.kind, path: path, pos: n.keyOrValue()}, v)
	}
}

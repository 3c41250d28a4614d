package config

import (
	"reflect"
	"strconv"
)

// validate calls v's Validate method, if it has one, after those of the structs
// embedded in it.
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
		return // what it points to was validated where it was decoded
	}
	if v.CanAddr() && v.Addr().CanInterface() {
		if x, ok := v.Addr().Interface().(Validator); ok {
			d.errs.add(n, x.Validate())
		}
	}
}

// defaults validates settings that the config does not mention, innermost first.
// They would be found at the key path below n, where errors are located.
func (d *decoder) defaults(n *Node, path string, v reflect.Value, depth int) {
	if depth > maxDepth {
		return
	}
	before := len(d.errs)
	if name, value, ok := choiceIn(v); ok {
		if name != "" {
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
		d.validate(&Node{kind: mapNode, path: path, at: n.keyOrValue()}, v)
	}
}

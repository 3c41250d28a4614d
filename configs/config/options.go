package config

import (
	"encoding"
	"reflect"
	"strconv"
	"strings"
)

// Option describes one key of settings.
type Option struct{ Key, Type, Default, Doc string }

// Options lists the keys of settings (a struct that holds the defaults, or a
// pointer to one) with the keys of nested structs after a dot. The keys of the
// elements of a list are listed with N in place of the index, those of a mapping
// with NAME in place of the key.
func Options(settings any) []Option {
	v := reflect.ValueOf(settings)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	settable := reflect.New(v.Type()).Elem()
	settable.Set(v)
	return options("", settable, 0)
}

func options(path string, v reflect.Value, depth int) []Option {
	var all []Option
	if depth > 8 { // a type that contains itself
		return nil
	}
	for _, f := range fieldsOf(v.Type()) {
		key, e := joinPath(path, f.name), v.FieldByIndex(f.index)
		inner, segment := elementStruct(e)
		if inner.IsValid() && segment == "" {
			all = append(all, options(key, inner, depth+1)...)
			continue
		}
		all = append(all, Option{key, typeName(e.Type()), defaultText(e), f.doc})
		if inner.IsValid() {
			all = append(all, options(key+"."+segment, inner, depth+1)...)
		}
	}
	return all
}

// elementStruct returns the struct whose keys stand below a value and the path to it.
func elementStruct(v reflect.Value) (inner reflect.Value, segment string) {
	t := v.Type()
	switch {
	case decodesItself(t):
		return inner, ""
	case t.Kind() == reflect.Struct:
		return v, ""
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
		segment = "N"
	case t.Kind() == reflect.Map:
		segment = "NAME"
	case t.Kind() == reflect.Pointer && t != nodeType:
		if !v.IsNil() {
			return elementStruct(v.Elem())
		}
	default:
		return inner, ""
	}
	e := t.Elem()
	for e.Kind() == reflect.Pointer {
		e = e.Elem()
	}
	if e.Kind() != reflect.Struct || decodesItself(e) || t == nodeType {
		return reflect.Value{}, ""
	}
	return fresh(e).Elem(), segment
}

// defaultText is the default on one line.
func defaultText(v reflect.Value) string {
	n, err := encode("", v, 0)
	if err != nil || n == nil || n.kind == nullNode {
		return ""
	}
	var b strings.Builder
	n.writeFlow(&b)
	return b.String()
}

// typeName says in words what a type takes.
func typeName(t reflect.Type) string {
	if x, ok := reflect.New(t).Interface().(Typer); ok {
		return x.ConfigType()
	}
	if t == nodeType || t.Kind() == reflect.Interface {
		return "anything"
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a text"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "integer from 0"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.String:
		return "text"
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Array:
		return "list of " + strconv.Itoa(t.Len()) + ", each " + typeName(t.Elem())
	case reflect.Map:
		return "mapping of " + typeName(t.Elem())
	}
	return "mapping"
}

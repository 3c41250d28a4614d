package config

import (
	"encoding"
	"reflect"
	"strconv"
	"strings"
)

// Option describes one key of settings.
type Option struct {
	Key     string `json:"key"`
	Type    string `json:"type"`
	Default string `json:"default"` // YAML
	Doc     string `json:"doc"`
}

// Options lists the keys of settings (a struct with the defaults, or a pointer to one). The keys of nested structs
// follow a dot. The keys of list elements have N as the index. The keys of mapping elements have NAME as the key.
func Options(settings any) []Option {
	v := reflect.ValueOf(settings)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	return options("", settable(v), 0)
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

// elementStruct returns the struct that holds the keys below a value, and the path to the struct.
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

// defaultText returns the default on one line.
func defaultText(v reflect.Value) string {
	n, err := encode("", v, 0)
	if err != nil || n == nil || n.kind == nullNode {
		return ""
	}
	return n.Inline()
}

func typeName(t reflect.Type) string {
	if x, ok := reflect.New(t).Interface().(Typer); ok {
		return x.ConfigType()
	}
	if f, ok := reflect.New(t).Interface().(Former); ok {
		for _, form := range f.ConfigForms() {
			if c, ok := form.(Choices); ok {
				return "one of " + strings.Join(c.names(), ", ")
			}
		}
	}
	if t == nodeType || t.Kind() == reflect.Interface {
		return "anything"
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a text"
	}
	switch v := reflect.New(t).Elem(); {
	case v.CanInt():
		return "integer"
	case v.CanUint():
		return "integer from 0"
	case v.CanFloat():
		return "number"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
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

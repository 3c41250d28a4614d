package config

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

type decoder struct{ errs Errors }

var nodeType = reflect.TypeFor[*Node]()

// value decodes n into v, which must be addressable, and validates it.
func (d *decoder) value(n *Node, v reflect.Value) {
	before := len(d.errs)
	d.errs.add(n, n.problems.asError())
	if n.kind == badNode {
		return
	}
	d.errs.add(n, d.content(n, v))
	if len(d.errs) == before {
		d.validate(n, v)
	}
}

func (d *decoder) content(n *Node, v reflect.Value) error {
	if v.Type() == nodeType {
		d.nestedProblems(n)
		v.Set(reflect.ValueOf(n))
		return nil
	}
	switch custom := v.Addr().Interface().(type) {
	case Decoder:
		return custom.DecodeConfig(n)
	case encoding.TextUnmarshaler:
		if n.kind != scalarNode {
			return n.want(typeName(v.Type()))
		}
		return custom.UnmarshalText([]byte(n.text))
	}
	if _, _, ok := choiceIn(v); ok {
		return n.fail(errNoChoice)
	}
	switch v.Kind() {
	case reflect.Bool:
		b, err := n.boolean()
		v.SetBool(b)
		return err
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return n.integer(v)
	case reflect.Float32, reflect.Float64:
		f, err := n.number(v.Type().Bits())
		v.SetFloat(f)
		return err
	case reflect.String:
		s, err := n.str()
		v.SetString(s)
		return err
	case reflect.Pointer:
		return d.pointer(n, v)
	case reflect.Slice:
		return d.slice(n, v)
	case reflect.Array:
		return d.array(n, v)
	case reflect.Map:
		return d.mapping(n, v)
	case reflect.Struct:
		return d.structure(n, v)
	case reflect.Interface:
		if v.NumMethod() == 0 {
			return d.dynamic(n, v)
		}
	}
	return n.Errorf("settings of Go type %s cannot be decoded", v.Type())
}

func (d *decoder) pointer(n *Node, v reflect.Value) error {
	if n.kind == nullNode {
		v.SetZero()
		return nil
	}
	p := fresh(v.Type().Elem())
	if !v.IsNil() {
		p.Elem().Set(v.Elem()) // the default behind the old pointer may be shared
	}
	d.value(n, p.Elem())
	v.Set(p)
	return nil
}

func (d *decoder) slice(n *Node, v reflect.Value) error {
	if n.kind != listNode {
		return n.NotList("a list", reflect.New(v.Type()).Interface())
	}
	if len(n.items) == 0 && v.IsNil() {
		return nil
	}
	s := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	d.elements(n, s)
	v.Set(s)
	return nil
}

func (d *decoder) array(n *Node, v reflect.Value) error {
	if n.kind != listNode {
		return n.NotList(fmt.Sprintf("a list of %d", v.Len()), reflect.New(v.Type()).Interface())
	}
	if len(n.items) != v.Len() {
		return n.Errorf("want a list of %d, got %d", v.Len(), len(n.items))
	}
	d.elements(n, v)
	return nil
}

func (d *decoder) elements(n *Node, v reflect.Value) {
	for i, item := range n.items {
		v.Index(i).Set(fresh(v.Type().Elem()).Elem())
		d.value(item, v.Index(i))
	}
}

// NotList returns the error for a node other than a list of the given kind. If the node decodes into list when it is
// put in brackets, the error shows the brackets. Otherwise, the error names the wrong element.
func (n *Node) NotList(what string, list any) error {
	text := ""
	switch {
	case n.kind == scalarNode:
		text = "[" + n.text + "]"
	case n.kind == mapNode && len(n.keys) > 0:
		text = n.asList()
	}
	return n.fail(&mismatch{what, listHint(text, list), n})
}

// listHint says how to write a list, or names the wrong element.
func listHint(text string, list any) string {
	root, err := Parse("", []byte("list: "+text))
	if text == "" || err != nil || len(text) > maxHint {
		return ""
	}
	var one *Error
	switch err := root.Get("list").Decode(list); {
	case err == nil:
		return "write " + text
	case errors.As(err, &one) && one.Key != "list": // about an element, not about their number
		return "in the list " + text + ": " + one.Err.Error()
	}
	return ""
}

const maxHint = 100

// asList writes a mapping as the list of its entries: {a: {b: 1}, c: {}} becomes [a: {b: 1}, c].
func (n *Node) asList() string {
	var entries []string
	for i, item := range n.items {
		entry := Node{kind: mapNode, keys: n.keys[i : i+1], items: []*Node{item}}
		switch {
		case item.kind == nullNode, item.kind == mapNode && len(item.keys) == 0:
			entries = append(entries, n.keys[i])
		default:
			entries = append(entries, entry.Inline())
		}
	}
	return "[" + strings.Join(entries, ", ") + "]"
}

// usualKey returns the usual key for a single value where a mapping is required, or "" if the key is unknown.
func (n *Node) usualKey(keys []string) string {
	usual := []string{"path", "run"}
	if class := n.class(); class == isInt || class == isFloat {
		usual = []string{"weight", "fraction"}
	}
	for _, key := range usual {
		if slices.Contains(keys, key) {
			return key
		}
	}
	return ""
}

// wantMapping returns the error for another value where a mapping with keys is required.
func (n *Node) wantMapping(keys []string) error {
	hint := colonHint(n.text)
	switch {
	case n.kind != scalarNode:
	case hint == "" && n.usualKey(keys) != "":
		hint = fmt.Sprintf("write {%s: %s}", n.usualKey(keys), n.Inline())
	case hint == "" && len(keys) > 0:
		hint = "its keys: " + strings.Join(keys, ", ")
	}
	return n.fail(&mismatch{"a mapping", hint, n})
}

func (d *decoder) mapping(n *Node, v reflect.Value) error {
	t := v.Type()
	if t.Key().Kind() != reflect.String {
		return n.Errorf("settings of Go type %s cannot be decoded", t)
	}
	if n.kind != mapNode {
		return n.want("a mapping")
	}
	if len(n.items) == 0 && v.IsNil() {
		return nil
	}
	m := reflect.MakeMapWithSize(t, len(n.items))
	for i, item := range n.items {
		e := fresh(t.Elem()).Elem()
		d.value(item, e)
		m.SetMapIndex(reflect.ValueOf(n.keys[i]).Convert(t.Key()), e)
	}
	v.Set(m)
	return nil
}

func (d *decoder) structure(n *Node, v reflect.Value) error {
	switch n.kind {
	case mapNode:
	case nullNode:
		return n.Errorf("want a mapping, got nothing (null); write {} for the defaults")
	default:
		return n.wantMapping(names(fieldsOf(v.Type())))
	}
	known := fieldsOf(v.Type())
	var unknown []int
	for i, key := range n.keys {
		index := slices.IndexFunc(known, func(f field) bool { return f.name == key })
		if index < 0 {
			unknown = append(unknown, i)
			continue
		}
		d.value(n.items[i], v.FieldByIndex(known[index].index))
	}
	for _, i := range unknown {
		d.errs.append(n.items[i].unknown(n.keys[i], v, names(known)))
	}
	for _, f := range known {
		if n.Get(f.name) == nil {
			d.defaults(n, joinPath("", f.name), v.FieldByIndex(f.index), 0)
		}
	}
	return nil
}

// dynamic decodes untyped values: bool, int, float64, string, []any, map[string]any or nil.
func (d *decoder) dynamic(n *Node, v reflect.Value) error {
	var err error
	switch n.kind {
	case nullNode:
		v.SetZero()
	case listNode:
		s := make([]any, len(n.items))
		d.elements(n, reflect.ValueOf(s))
		v.Set(reflect.ValueOf(s))
	case mapNode:
		var m map[string]any
		err = d.mapping(n, reflect.ValueOf(&m).Elem())
		if m == nil {
			m = map[string]any{}
		}
		v.Set(reflect.ValueOf(m))
	default:
		err = d.dynamicScalar(n, v)
	}
	return err
}

func (d *decoder) dynamicScalar(n *Node, v reflect.Value) error {
	into := reflect.ValueOf(new(string))
	switch n.class() {
	case isBool:
		into = reflect.ValueOf(new(bool))
	case isInt:
		into = reflect.ValueOf(new(int))
	case isFloat:
		into = reflect.ValueOf(new(float64))
	}
	if err := d.content(n, into.Elem()); err != nil {
		return err
	}
	v.Set(into.Elem())
	return nil
}

// nestedProblems reports the errors that the parser found in a part that stays a node.
func (d *decoder) nestedProblems(n *Node) {
	for _, item := range n.items {
		d.errs.add(item, item.problems.asError())
		d.nestedProblems(item)
	}
}

// fresh returns a pointer to a new value with its defaults.
func fresh(t reflect.Type) reflect.Value {
	p := reflect.New(t)
	if x, ok := p.Interface().(Defaulter); ok {
		x.SetDefaults()
	}
	return p
}

func isStruct(v reflect.Value) bool {
	_, custom := v.Addr().Interface().(Decoder)
	return v.Kind() == reflect.Struct && !custom
}

type field struct {
	name      string
	doc       string
	index     []int
	omitEmpty bool
}

func names(fields []field) []string {
	all := make([]string, len(fields))
	for i, f := range fields {
		all[i] = f.name
	}
	return all
}

// fieldsByType caches the results of listFields. The list of a type never changes.
var fieldsByType sync.Map // reflect.Type to []field

// fieldsOf lists the keys of a struct type, including the keys of embedded structs. Callers must not change the list.
func fieldsOf(t reflect.Type) []field {
	if all, ok := fieldsByType.Load(t); ok {
		return all.([]field)
	}
	all, _ := fieldsByType.LoadOrStore(t, listFields(t))
	return all.([]field)
}

func listFields(t reflect.Type) []field {
	var all []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case name == "-", !f.IsExported() && !(f.Anonymous && inlined(f)):
		case inlined(f):
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				all = append(all, inner)
			}
		default:
			name = cmp.Or(name, strings.ToLower(f.Name))
			all = append(all, field{name, f.Tag.Get("doc"), []int{i}, strings.Contains(options, "omitempty")})
		}
	}
	return all
}

// inlined reports whether a struct field adds its keys to the outer struct.
func inlined(f reflect.StructField) bool {
	name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return f.Type.Kind() == reflect.Struct && !decodesItself(f.Type) &&
		(f.Anonymous && name == "" || strings.Contains(options, "inline"))
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[Decoder]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/unravel-ml/unravel/registry"
)

// decoder gathers the mistakes of one Decode.
type decoder struct{ errs Errors }

var nodeType = reflect.TypeFor[*Node]()

// value decodes n into v, which is addressable, and validates it.
func (d *decoder) value(n *Node, v reflect.Value) {
	before := len(d.errs)
	d.errs.add(n, n.problems.err())
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
		d.deepProblems(n)
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
		return n.wantList("a list")
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
		return n.wantList(fmt.Sprintf("a list of %d", v.Len()))
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

func (n *Node) wantList(what string) error {
	if n.kind == scalarNode {
		return n.Errorf("want %s, got %s; write [%s]", what, n.describe(), shorten(n.text))
	}
	return n.want(what)
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
		return n.want("a mapping")
	}
	known := fieldsOf(v.Type())
	for i, key := range n.keys {
		at := slices.IndexFunc(known, func(f field) bool { return f.name == key })
		if at < 0 {
			d.errs.append(n.items[i].unknown(key, hintAt(v, n.path, key), names(known)))
			continue
		}
		d.value(n.items[i], v.FieldByIndex(known[at].index))
	}
	for _, f := range known {
		if n.Get(f.name) == nil {
			d.defaults(n, joinPath("", f.name), v.FieldByIndex(f.index), 0)
		}
	}
	return nil
}

// Hinter is implemented by settings that know what is meant by some keys that they do not have.
type Hinter interface {
	Hint(key string) string // empty: nothing is known
}

// hintAt says what may be meant by a key that a struct does not have.
func hintAt(v reflect.Value, path, key string) string {
	if h, ok := v.Addr().Interface().(Hinter); ok {
		if text := h.Hint(key); text != "" {
			return "; " + text
		}
	}
	for _, o := range Options(v.Addr().Interface()) {
		if strings.HasSuffix(o.Key, "."+key) && !slices.Contains(strings.Split(o.Key, "."), "N") {
			return fmt.Sprintf("; did you mean %q?", joinAll(path, o.Key))
		}
	}
	return ""
}

// unknown is the error about a key that does not exist.
func (n *Node) unknown(key, hint string, known []string) *Error {
	switch {
	case hint != "":
	case len(known) == 0:
		hint = "; there are no options here"
	default:
		hint = registry.Suggest(key, known)
	}
	return n.keyOrValue().fail(n.path, fmt.Errorf("unknown key %q%s", key, hint))
}

// dynamic decodes what has no type of its own: bool, int, float64, string,
// []any, map[string]any or nil.
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

// deepProblems reports what parsing found in a part that is kept as it is.
func (d *decoder) deepProblems(n *Node) {
	for _, item := range n.items {
		d.errs.add(item, item.problems.err())
		d.deepProblems(item)
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

// field is one key of a struct.
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

// fieldsByType keeps what listFields has found, as the list of a type never changes.
var fieldsByType sync.Map // reflect.Type to []field

// fieldsOf lists the keys of a struct type, those of embedded structs included. The list is not to be changed.
func fieldsOf(t reflect.Type) []field {
	if all, ok := fieldsByType.Load(t); ok {
		return all.([]field)
	}
	all, _ := fieldsByType.LoadOrStore(t, listFields(t))
	return all.([]field)
}

// listFields finds the fields of a struct type.
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
			if name == "" {
				name = strings.ToLower(f.Name)
			}
			all = append(all, field{name, f.Tag.Get("doc"), []int{i}, strings.Contains(options, "omitempty")})
		}
	}
	return all
}

// inlined tells whether a struct field lends its keys to the struct that it is in.
func inlined(f reflect.StructField) bool {
	name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return f.Type.Kind() == reflect.Struct && !decodesItself(f.Type) &&
		(f.Anonymous && name == "" || strings.Contains(options, "inline"))
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[Decoder]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

package config

import (
	"cmp"
	"encoding"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
)

// Encode writes settings as YAML. Decode reads equal settings from this YAML. Keys are in the order of the struct's
// fields, and keys of maps are sorted. Encode cannot write NaN, or text other than UTF-8.
func Encode(v any) ([]byte, error) {
	n, err := encodeAny(v)
	if err != nil {
		return nil, err
	}
	n = cmp.Or(n, &Node{kind: nullNode})
	var b strings.Builder
	n.write(&b, 0, false)
	out := strings.TrimPrefix(b.String(), "\n")
	if !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	return []byte(strings.TrimPrefix(out, " ")), nil
}

func encodeAny(v any) (*Node, error) {
	if v == nil {
		return &Node{kind: nullNode}, nil
	}
	return encode("", settable(reflect.ValueOf(v)), 0)
}

// encode returns the node of a value, or nil to omit the value.
func encode(path string, v reflect.Value, depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, encodeError(path, "nested more than %d deep", maxDepth)
	}
	n := &Node{path: path, kind: scalarNode, plain: true}
	switch x := v.Addr().Interface().(type) {
	case **Node:
		if *x == nil {
			n.kind = nullNode
			return n, nil
		}
		return *x, nil
	case Encoder:
		inner, err := x.EncodeConfig()
		if err != nil || inner == nil {
			return nil, err
		}
		return encode(path, settable(reflect.ValueOf(inner)), depth+1)
	case encoding.TextMarshaler:
		text, err := x.MarshalText()
		n.text, n.plain = string(text), false
		return n, err
	case *yaml.MapSlice:
		return encodeMapSlice(path, *x, depth)
	}
	if name, value, ok := choiceIn(v); ok {
		if name == "" {
			return nil, nil
		}
		return encodeMapSlice(path, yaml.MapSlice{{Key: name, Value: value.Interface()}}, depth)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			n.kind = nullNode
			return n, nil
		}
		return encode(path, settable(v.Elem()), depth+1)
	case reflect.Slice, reflect.Array:
		return encodeList(path, v, depth)
	case reflect.Map:
		return encodeMap(path, v, depth)
	case reflect.Struct:
		return encodeStruct(path, v, depth)
	}
	return n, n.encodeScalar(v)
}

func (n *Node) encodeScalar(v reflect.Value) error {
	switch {
	case v.Kind() == reflect.Bool:
		n.text = strconv.FormatBool(v.Bool())
	case v.CanInt():
		n.text = strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		n.text = strconv.FormatUint(v.Uint(), 10)
	case v.CanFloat():
		if math.IsNaN(v.Float()) {
			return encodeError(n.path, "NaN cannot be written")
		}
		n.text = formatFloat(v.Float(), v.Type().Bits())
	case v.Kind() == reflect.String:
		if !utf8.ValidString(v.String()) {
			return encodeError(n.path, "the text %q is not UTF-8", v.String())
		}
		n.text, n.plain = v.String(), false
	default:
		return encodeError(n.path, "settings of Go type %s cannot be written", v.Type())
	}
	return nil
}

func encodeError(path, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

func encodeList(path string, v reflect.Value, depth int) (*Node, error) {
	list := &Node{path: path, kind: listNode}
	for i := range v.Len() {
		p := joinPath(path, strconv.Itoa(i))
		item, err := encode(p, v.Index(i), depth+1)
		if err != nil {
			return nil, err
		}
		if item == nil {
			return nil, encodeError(p, "an element that encodes to nothing")
		}
		list.items = append(list.items, item)
	}
	return list, nil
}

func encodeMap(path string, v reflect.Value, depth int) (*Node, error) {
	if v.Type().Key().Kind() != reflect.String {
		return nil, encodeError(path, "settings of Go type %s cannot be written", v.Type())
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	m := &Node{path: path, kind: mapNode}
	for _, k := range keys {
		if err := m.encodeEntry(k.String(), settable(v.MapIndex(k)), depth); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func encodeMapSlice(path string, s yaml.MapSlice, depth int) (*Node, error) {
	m := &Node{path: path, kind: mapNode}
	seen := map[string]bool{}
	for _, entry := range s {
		key, v := fmt.Sprint(entry.Key), entry.Value
		if seen[key] {
			return nil, encodeError(joinPath(path, key), "two values with this key")
		}
		seen[key] = true
		if err := m.encodeEntry(key, reflect.ValueOf(&v).Elem(), depth); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func encodeStruct(path string, v reflect.Value, depth int) (*Node, error) {
	m := &Node{path: path, kind: mapNode}
	for _, f := range fieldsOf(v.Type()) {
		if e := v.FieldByIndex(f.index); !f.omitEmpty || !e.IsZero() {
			if err := m.encodeEntry(f.name, e, depth); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

func (n *Node) encodeEntry(key string, v reflect.Value, depth int) error {
	path := joinPath(n.path, key)
	if !utf8.ValidString(key) {
		return encodeError(path, "the key is not UTF-8")
	}
	item, err := encode(path, v, depth+1)
	if err != nil || item == nil {
		return err
	}
	n.keys, n.items = append(n.keys, key), append(n.items, item)
	return nil
}

// formatFloat returns the shortest number that parses to the same float. Every YAML reader reads it as a float.
func formatFloat(f float64, bits int) string {
	switch {
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	}
	s := strconv.FormatFloat(f, 'g', -1, bits)
	mantissa, exponent, scientific := strings.Cut(s, "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if scientific {
		return mantissa + "e" + exponent
	}
	return mantissa
}

// write appends the node in block style. A list of scalars and an empty node stay on the same line.
func (n *Node) write(b *strings.Builder, indent int, inList bool) {
	if n.isShort() {
		b.WriteByte(' ')
		n.writeFlow(b)
		b.WriteByte('\n')
		return
	}
	for i, item := range n.items {
		switch {
		case i == 0 && inList:
			b.WriteByte(' ') // "- key: value"
		case i == 0:
			b.WriteByte('\n')
			fallthrough
		default:
			b.WriteString(strings.Repeat(" ", indent))
		}
		if n.kind == mapNode {
			b.WriteString(quote(n.keys[i]) + ":")
			item.write(b, indent+2, false)
		} else {
			b.WriteByte('-')
			item.write(b, indent+2, true)
		}
	}
}

// isShort reports whether a node is written on a single line.
func (n *Node) isShort() bool {
	switch n.kind {
	case mapNode:
		return len(n.items) == 0
	case listNode:
		return !slices.ContainsFunc(n.items, func(item *Node) bool { return item.kind != scalarNode })
	}
	return true
}

func (n *Node) writeFlow(b *strings.Builder) {
	switch n.kind {
	case scalarNode:
		if n.plain && !strings.ContainsAny(n.text, ",[]{}") { // these characters end or open lists and mappings
			b.WriteString(n.text)
		} else {
			b.WriteString(quote(n.text))
		}
	case listNode, mapNode:
		brackets := "[]"
		if n.kind == mapNode {
			brackets = "{}"
		}
		b.WriteByte(brackets[0])
		for i, item := range n.items {
			if i > 0 {
				b.WriteString(", ")
			}
			if n.kind == mapNode {
				b.WriteString(quote(n.keys[i]) + ": ")
			}
			item.writeFlow(b)
		}
		b.WriteByte(brackets[1])
	default:
		b.WriteString("null")
	}
}

var safePlain = regexp.MustCompile(`^[A-Za-z_./][A-Za-z0-9_./+-]*( [A-Za-z0-9_./+-]+)*$`)

// isYAML11Boolean reports whether YAML 1.1 reads a text as a boolean.
func isYAML11Boolean(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off":
		return true
	}
	return false
}

// quote writes a text without quotes if every YAML reader reads it as a text, and otherwise in double quotes.
func quote(s string) string {
	if safePlain.MatchString(s) && classify(s) == isText && !isYAML11Boolean(s) && len(s) < 80 {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Inline returns the node as one line of YAML.
func (n *Node) Inline() string {
	var b strings.Builder
	n.writeFlow(&b)
	return b.String()
}

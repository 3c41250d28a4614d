package config

import (
	"encoding"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Document describes a kind of config for [Document.Schema].
type Document struct {
	Title    string
	Settings []any    // pointers to structs with the defaults; the config has the keys of all
	Required []string // required keys
	Or       string   // key that replaces the required keys; empty: none
}

// Schema returns the JSON Schema (draft 2020-12) of a kind of config, for editors. It follows from the types, the tags,
// the defaults and the registries, as decoding does:
//
//   - A struct has no keys except its own. Descriptions are the doc tags, defaults the values of the settings.
//   - A type with [Former] has its forms, and an entry of a registry is `name` or `{name: {options}}`.
//   - Where UnmarshalText or Validate refuses unknown texts, the enum has the accepted words of the doc tag and of the
//     error. A doc tag with "such as" names examples, and gives no enum.
//   - Where Validate refuses negative numbers for a key, the minimum is 0.
//
// The schema accepts all that decoding accepts. It also accepts some mistakes, which decoding then reports: other
// ranges, rules between keys, repeated elements and keys, and 2.0 for an integer.
func (d Document) Schema() ([]byte, error) {
	b := schemaBuilder{defs: map[string]*schema{}}
	s := &schema{Schema: "https://json-schema.org/draft/2020-12/schema",
		Title: d.Title, Type: "object", Properties: map[string]*schema{}, AdditionalProperties: false}
	for _, settings := range d.Settings {
		maps.Copy(s.Properties, b.structure(settable(reflect.ValueOf(settings).Elem()), 0).Properties)
	}
	s.Required, s.Defs = d.Required, b.defs
	if d.Or != "" {
		s.Required, s.AnyOf = nil, []*schema{{Required: []string{d.Or}}, {Required: d.Required}}
	}
	text, err := json.MarshalIndent(s, "", " ")
	return append(text, '\n'), err
}

// schema is a JSON Schema. The zero value accepts everything.
type schema struct {
	Schema               string             `json:"$schema,omitempty"`
	Ref                  string             `json:"$ref,omitempty"`
	Title                string             `json:"title,omitempty"`
	Description          string             `json:"description,omitempty"`
	Type                 string             `json:"type,omitempty"`
	Enum                 []string           `json:"enum,omitempty"`
	Default              any                `json:"default,omitempty"`
	Minimum              *int               `json:"minimum,omitempty"`
	Items                *schema            `json:"items,omitempty"`
	MinItems             int                `json:"minItems,omitempty"`
	MaxItems             *int               `json:"maxItems,omitempty"`
	Properties           map[string]*schema `json:"properties,omitempty"`
	AdditionalProperties any                `json:"additionalProperties,omitempty"` // false, or a schema
	MinProperties        int                `json:"minProperties,omitempty"`
	MaxProperties        int                `json:"maxProperties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	AnyOf                []*schema          `json:"anyOf,omitempty"`
	Defs                 map[string]*schema `json:"$defs,omitempty"`
}

// schemaBuilder collects the schemas of registries by kind. Registries contain each other.
type schemaBuilder struct{ defs map[string]*schema }

func (b *schemaBuilder) value(v reflect.Value, doc string, depth int) *schema {
	if depth > maxDepth {
		return &schema{}
	}
	t := v.Type()
	if t.Kind() == reflect.Pointer && t != nodeType {
		target := fresh(t.Elem())
		if !v.IsNil() {
			target.Elem().Set(v.Elem())
		}
		return anyOf(b.value(target.Elem(), doc, depth+1), &schema{Type: "null"})
	}
	switch custom := v.Addr().Interface().(type) {
	case Former:
		return b.forms(custom.ConfigForms(), doc, depth)
	case Decoder:
		return &schema{}
	case encoding.TextUnmarshaler:
		return &schema{Type: "string", Enum: words(doc, defaultWord(v), func(word string) string {
			return text(settable(v).Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(word)))
		})}
	}
	switch t.Kind() {
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &schema{Type: "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &schema{Type: "integer", Minimum: new(int)}
	case reflect.Float32, reflect.Float64:
		return &schema{Type: "number"}
	case reflect.String:
		return &schema{Type: "string"}
	case reflect.Slice:
		return &schema{Type: "array", Items: b.value(fresh(t.Elem()).Elem(), "", depth+1)}
	case reflect.Array:
		n := t.Len()
		return &schema{Type: "array", Items: b.value(fresh(t.Elem()).Elem(), "", depth+1), MinItems: n, MaxItems: &n}
	case reflect.Map:
		return &schema{Type: "object", AdditionalProperties: b.value(fresh(t.Elem()).Elem(), "", depth+1)}
	case reflect.Struct:
		return b.structure(v, depth)
	}
	return &schema{}
}

func (b *schemaBuilder) structure(v reflect.Value, depth int) *schema {
	s := &schema{Type: "object", Properties: map[string]*schema{}, AdditionalProperties: false}
	valid := completed(v)
	for _, f := range fieldsOf(v.Type()) {
		e := v.FieldByIndex(f.index)
		p := *b.value(e, f.doc, depth+1)
		p.Description = f.doc
		if n, err := encode("", settable(e), 0); err == nil && n != nil && p.Properties == nil {
			p.Default = n.json()
		}
		set := func(value any) string { return validated(valid, f, value) }
		switch {
		case e.Kind() == reflect.String && p.Type == "string" && p.Enum == nil:
			p.Enum = words(f.doc, e.String(), func(word string) string { return set(word) })
		case (e.CanInt() || e.CanFloat()) && p.AnyOf == nil && set(-1) != set(1) && set(-1000) != set(1) &&
			rejects(set(-1), f.name):
			p.Minimum = new(int)
		}
		s.Properties[f.name] = &p
	}
	return s
}

// completed returns settings with a value for a missing key, so Validate checks the other keys, too.
func completed(v reflect.Value) reflect.Value {
	for _, f := range fieldsOf(v.Type()) {
		e := v.FieldByIndex(f.index)
		var value any = 1
		switch {
		case !e.IsZero():
			continue
		case e.Kind() == reflect.String:
			value = "a"
		case !e.CanInt() && !e.CanFloat():
			continue
		}
		if validated(v, field{}, nil) != "" && validated(v, f, value) == "" {
			v = settable(v)
			v.FieldByIndex(f.index).Set(reflect.ValueOf(value).Convert(e.Type()))
		}
	}
	return v
}

// validated returns the errors of Validate with another value of a field; nil keeps the value.
func validated(v reflect.Value, f field, value any) string {
	changed := settable(v)
	if value != nil {
		e := changed.FieldByIndex(f.index)
		e.Set(reflect.ValueOf(value).Convert(e.Type()))
	}
	var d decoder
	d.validate(&Node{kind: absentNode}, changed)
	return text(d.errs.asError())
}

// rejects reports whether errors mention a key.
func rejects(errs, key string) bool { return strings.Contains(errs, ": "+key+": ") }

func (b *schemaBuilder) forms(forms []any, doc string, depth int) *schema {
	var all []*schema
	for _, form := range forms {
		switch form := form.(type) {
		case nil:
			all = append(all, &schema{Type: "null"})
		case Words:
			all = append(all, &schema{Type: "string", Enum: form})
		case Choices:
			all = append(all, b.choices(form, depth))
		case Short:
			for _, s := range all {
				if p := s.Properties[string(form)]; p != nil {
					all = append(all, &schema{Ref: p.Ref, Type: p.Type, Enum: p.Enum, Items: p.Items, Minimum: p.Minimum,
						MinItems: p.MinItems, MaxItems: p.MaxItems, AnyOf: p.AnyOf})
					break
				}
			}
		default:
			all = append(all, b.value(settable(reflect.ValueOf(form)), doc, depth+1))
		}
	}
	return anyOf(all...)
}

// choices returns a reference to the schema of a registry's entries.
func (b *schemaBuilder) choices(c Choices, depth int) *schema {
	name := strings.ReplaceAll(c.Kind, " ", "-")
	ref := &schema{Ref: "#/$defs/" + name}
	if b.defs[name] != nil {
		return ref
	}
	parts := &schema{Title: c.Kind, Type: "object", Properties: map[string]*schema{}, AdditionalProperties: false,
		MinProperties: 1, MaxProperties: 1}
	b.defs[name] = anyOf(parts, &schema{Type: "string", Enum: c.names()})
	for _, part := range c.Parts {
		list := append(forms(reflect.ValueOf(part.New())), nil)
		if part.Short != "" {
			list = append(list, part.Short)
		}
		options := *b.forms(list, "", depth+1)
		for _, s := range options.AnyOf {
			for key, more := range part.More {
				if s.Properties != nil {
					s.Properties[key] = b.forms([]any{more}, "", depth+1)
				}
			}
		}
		if options.Description = part.Doc; part.Source != "" {
			options.Description += ". Source: " + part.Source
		}
		parts.Properties[part.Name] = &options
	}
	return ref
}

func anyOf(all ...*schema) *schema {
	if len(all) == 1 {
		return all[0]
	}
	return &schema{AnyOf: all}
}

// word matches the words of a text that may be values of an enum.
var word = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9_-]*`)

// words lists the texts that a key accepts if it rejects others: the accepted words in its doc and in the error. errors
// returns the errors of a text. Except for a suggestion, all unknown words have the same error; another error is about
// other keys.
func words(doc, byDefault string, errors func(word string) string) []string {
	const unknown, also = "no-such-word", "nosuchword"
	refused := errors(unknown)
	if refused == "" || refused == errors(byDefault) || strings.ReplaceAll(refused, unknown, also) != errors(also) ||
		strings.Contains(doc, "such as") {
		return nil
	}
	mistake, _, _ := strings.Cut(refused, ";")
	var known []string
	for _, w := range append(word.FindAllString(doc+" "+refused, -1), byDefault) {
		e, _, _ := strings.Cut(errors(w), ";")
		if w != unknown && !slices.Contains(known, w) && e != strings.ReplaceAll(mistake, unknown, w) {
			known = append(known, w)
		}
	}
	if len(known) < 2 { // not an enum, but a text with another rule
		return nil
	}
	return known
}

// defaultWord returns the text of a value in a config.
func defaultWord(v reflect.Value) string {
	if n, err := encode("", v, 0); err == nil && n != nil {
		return n.text
	}
	return ""
}

// text returns the text of an error, or "" for nil.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// json returns the value of a node for JSON. It returns nil for null, and for numbers that JSON cannot represent.
func (n *Node) json() any {
	switch n.kind {
	case scalarNode:
		if f, ok := n.Value().(float64); n.plain && !(ok && (math.IsInf(f, 0) || math.IsNaN(f))) {
			return n.Value()
		}
		if !n.plain {
			return n.text
		}
	case listNode:
		list := []any{}
		for _, item := range n.items {
			list = append(list, item.json())
		}
		return list
	case mapNode:
		m := map[string]any{}
		for i, item := range n.items {
			m[n.keys[i]] = item.json()
		}
		return m
	}
	return nil
}

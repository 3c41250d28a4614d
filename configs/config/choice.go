package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/unravel-ml/unravel/configs/registry"
)

// choice is [registry.Choice] with settings T, or a type defined as one.
type choice[T any] interface {
	~struct {
		Name  string
		Value T
	}
}

// DecodeChoice decodes `{name: {options}}` or just `name` to an entry of a registry. The entry's New creates settings
// with their defaults, which must be a pointer. The options are decoded into these settings.
func DecodeChoice[T any, C choice[T]](n *Node, t *registry.Registry[T], c *C) error {
	name, pos, options, err := n.splitChoice(t.Kind, t.Names(), func(name, key string) bool {
		entry, err := t.Lookup(name)
		return err == nil && hasKey(reflect.ValueOf(any(entry.New())), key)
	})
	if err != nil {
		return err
	}
	entry, err := t.Lookup(name)
	hint := colonHint(name)
	if first, second, joined := strings.Cut(name, " - "); hint == "" && joined {
		hint = fmt.Sprintf("the dash of %s belongs below the dash of %s", second, first)
	}
	if err != nil && hint != "" {
		return pos.fail(n.path, fmt.Errorf("%q is no %s; %s", name, t.Kind, hint))
	}
	if err != nil {
		return pos.fail(n.path, err)
	}
	settings := entry.New()
	if err := options.Decode(any(settings)); err != nil {
		return err
	}
	*c = C{Name: name, Value: settings}
	return nil
}

// EncodeChoice is the inverse of DecodeChoice. It returns nil for an empty choice.
func EncodeChoice[T any, C choice[T]](c C) (any, error) {
	chosen := registry.Choice[T](c)
	if chosen.Name == "" {
		return nil, nil
	}
	return yaml.MapSlice{{Key: chosen.Name, Value: chosen.Value}}, nil
}

func hasKey(v reflect.Value, key string) bool {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v.Kind() == reflect.Struct && slices.Contains(names(fieldsOf(v.Type())), key)
}

// splitChoice returns the chosen name, its position, and its options.
func (n *Node) splitChoice(
	kind string, known []string, hasKey func(name, key string) bool,
) (name string, pos position, options *Node, err error) {
	list := strings.Join(known, ", ")
	fail := func(format string, args ...any) (string, position, *Node, error) {
		return "", position{}, nil, n.Errorf(format, args...)
	}
	if err := n.problems.asError(); err != nil {
		return "", position{}, nil, err
	}
	switch {
	case n.kind == scalarNode && n.class() == isText:
		return n.text, n.pos, &Node{kind: mapNode, path: joinPath(n.path, n.text), pos: n.pos}, nil
	case n.kind != mapNode:
		return fail("want one %s, by its name or as {name: {options}}, got %s; known: %s", kind, n.describe(), list)
	case len(n.keys) == 0:
		return fail("want {name: {options}} to choose one %s, got an empty mapping; known: %s", kind, list)
	case len(n.keys) > 1:
		second := n.items[1]
		place := second.keyOrValue()
		switch option := hasKey(n.keys[0], n.keys[1]); {
		case option && place.line == 0:
			return "", position{}, nil, place.fail(n.path, fmt.Errorf("unknown %s %q; an option of %s is %s",
				kind, n.keys[1], n.keys[0], joinPath(n.items[0].path, n.keys[1])))
		case option:
			return "", position{}, nil,
				place.fail(n.path, fmt.Errorf("unknown %s %q; an option of %s begins further right than %s, or stands in braces: %s: {%s: ...}",
					kind, n.keys[1], n.keys[0], n.keys[0], n.keys[0], n.keys[1]))
		case !slices.Contains(known, n.keys[1]):
			return "", position{}, nil,
				place.fail(n.path, fmt.Errorf("unknown %s %q beside %s%s", kind, n.keys[1], n.keys[0],
					registry.Suggest(n.keys[1], known)))
		}
		return "", position{}, nil, place.fail(n.path, fmt.Errorf(
			"a %s with two names: %s is chosen at %s, and here %s; keep one, or replace the whole: %s={%s: {...}}",
			kind, n.keys[0], n.items[0].keyOrValue(), n.keys[1], n.path, n.keys[1]))
	}
	options = n.items[0]
	pos = options.keyOrValue()
	if options.kind == nullNode {
		options = &Node{kind: mapNode, path: options.path, pos: options.pos, keyPos: options.keyPos}
	}
	return n.keys[0], pos, options, nil
}

var choicePackage = reflect.TypeFor[registry.Choice[int]]().PkgPath()

// choiceIn finds the registry.Choice in v. v may be one, embed one, or have a type defined as one.
func choiceIn(v reflect.Value) (name string, value reflect.Value, ok bool) {
	if v.Kind() != reflect.Struct {
		return "", v, false
	}
	if isChoice(v.Type()) {
		return v.Field(0).String(), v.Field(1), true
	}
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous {
			if name, value, ok = choiceIn(v.Field(i)); ok {
				return name, value, true
			}
		}
	}
	return "", v, false
}

// isChoice recognises registry.Choice[T]. It recognises types defined as registry.Choice[T] by their fields.
func isChoice(t reflect.Type) bool {
	if t.PkgPath() == choicePackage {
		return strings.HasPrefix(t.Name(), "Choice[")
	}
	return t.NumField() == 2 && t.Field(0).Name == "Name" && t.Field(0).Type.Kind() == reflect.String &&
		t.Field(1).Name == "Value" && decodesItself(t)
}

var errNoChoice = errors.New("a registry.Choice is decoded by a type that embeds it and whose DecodeConfig calls config.DecodeChoice")

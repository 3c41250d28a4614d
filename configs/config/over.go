package config

import "reflect"

// Over returns n merged over base, for settings that hold the defaults. Mappings merge key by key, and the keys of base
// come first. Any other value of n replaces the value of base, and so does a registry entry with another name. Neither
// n nor base changes. Errors about a key keep the key's position in its file.
func (n *Node) Over(base *Node, settings any) *Node { return n.over(base, []any{settings}) }

func (n *Node) over(base *Node, as []any) *Node {
	n, base = n.longForm(base, as)
	if n.kind != mapNode || base.kind != mapNode {
		return n
	}
	formsOf := func(string) []any { return nil }
	for _, form := range as {
		switch form := form.(type) {
		case Choices:
			if len(n.keys) != 1 || len(base.keys) != 1 || n.keys[0] != base.keys[0] {
				return n
			}
			formsOf = form.options
		case nil, Words, Short:
		default:
			if v := reflect.ValueOf(form); v.Kind() == reflect.Pointer || v.Kind() == reflect.Struct || v.Kind() == reflect.Map {
				formsOf = func(key string) []any { return formsOfKey(v, key) }
			}
		}
	}
	merged := *n
	merged.keys, merged.items = nil, nil
	merged.problems = append(base.problems[:len(base.problems):len(base.problems)], n.problems...)
	for i, key := range base.keys {
		item := base.items[i]
		if override := n.Get(key); override != nil {
			item = override.over(item, formsOf(key))
		}
		merged.keys, merged.items = append(merged.keys, key), append(merged.items, item)
	}
	for i, key := range n.keys {
		if base.Get(key) == nil {
			merged.keys, merged.items = append(merged.keys, key), append(merged.items, n.items[i])
		}
	}
	return &merged
}

// longForm expands the short form of n or base if the other one is a mapping.
func (n *Node) longForm(base *Node, as []any) (*Node, *Node) {
	for _, form := range as {
		short, ok := form.(Short)
		switch {
		case !ok || short == "":
		case n.kind == mapNode && (base.kind == listNode || base.kind == scalarNode):
			base = base.wrapIn(string(short))
		case base.kind == mapNode && (n.kind == listNode || n.kind == scalarNode):
			n = n.wrapIn(string(short))
		}
	}
	return n, base
}

// wrapIn returns a copy of n after [Node.Wrap].
func (n *Node) wrapIn(key string) *Node {
	w := *n
	w.Wrap(key)
	return &w
}

func (c Choices) options(name string) []any {
	p := c.part(name)
	if p == nil {
		return nil
	}
	return append(forms(reflect.ValueOf(p.New())), p.Short)
}

func formsOfKey(v reflect.Value, key string) []any {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Map:
		return forms(fresh(v.Type().Elem()).Elem())
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			if f.name == key {
				return forms(v.FieldByIndex(f.index))
			}
		}
	}
	return nil
}

package train

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/goccy/go-yaml"
)

// difference is the first key in which two configs differ, and what is there; nil: it is not there.
type difference struct {
	key         string
	began, goes any
}

func (d *difference) String() string {
	switch {
	case d.began == nil:
		return fmt.Sprintf("%s: the run began without it, now %s", d.key, inline(d.goes))
	case d.goes == nil:
		return fmt.Sprintf("%s: the run began with %s, now without it", d.key, inline(d.began))
	}
	return fmt.Sprintf("%s: the run began with %s, now %s", d.key, inline(d.began), inline(d.goes))
}

// inline is a value of a config in a line.
func inline(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, err := yaml.MarshalWithOptions(v, yaml.Flow(true))
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text[:len(text)-1])
}

// differing finds the first difference of two encoded configs; nil: there is none.
func differing(a, b []byte) (*difference, error) {
	var x, y any
	for _, one := range []struct {
		text []byte
		to   *any
	}{{a, &x}, {b, &y}} {
		if err := yaml.UnmarshalWithOptions(one.text, one.to, yaml.UseOrderedMap()); err != nil {
			return nil, err
		}
	}
	return differ("", x, y), nil
}

// differ finds the first difference of the values of a key.
func differ(key string, a, b any) *difference {
	if x, ok := a.(yaml.MapSlice); ok {
		if y, ok := b.(yaml.MapSlice); ok {
			return differKeys(key, x, y)
		}
	}
	if x, ok := a.([]any); ok {
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				if d := differ(join(key, strconv.Itoa(i)), x[i], y[i]); d != nil {
					return d
				}
			}
			return nil
		}
	}
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return &difference{key, a, b}
}

// differKeys finds the first difference of two mappings. Two with one key each that is not the same are choices of other parts.
func differKeys(key string, a, b yaml.MapSlice) *difference {
	if len(a) == 1 && len(b) == 1 && a[0].Key != b[0].Key {
		return &difference{key, fmt.Sprint(a[0].Key), fmt.Sprint(b[0].Key)}
	}
	values := b.ToMap()
	for _, item := range a {
		name := fmt.Sprint(item.Key)
		value, ok := values[name]
		if !ok {
			return &difference{join(key, name), item.Value, nil}
		}
		if d := differ(join(key, name), item.Value, value); d != nil {
			return d
		}
		delete(values, name)
	}
	for _, item := range b {
		if name := fmt.Sprint(item.Key); values[name] != nil {
			return &difference{join(key, name), nil, item.Value}
		}
	}
	return nil
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

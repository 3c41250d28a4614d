// Package differ lists the differences between two encoded configs.
package differ

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/goccy/go-yaml"
)

// Difference is a key with different values in two configs. The value of a missing key is nil.
type Difference struct {
	Key         string
	Began, Goes any
}

func (d Difference) String() string {
	switch {
	case d.Began == nil:
		return fmt.Sprintf("%s: the run began without it, now %s", d.Key, inline(d.Goes))
	case d.Goes == nil:
		return fmt.Sprintf("%s: the run began with %s, now without it", d.Key, inline(d.Began))
	}
	return fmt.Sprintf("%s: the run began with %s, now %s", d.Key, inline(d.Began), inline(d.Goes))
}

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

func Configs(a, b []byte) ([]Difference, error) {
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

func differ(key string, a, b any) (list []Difference) {
	if x, ok := a.(yaml.MapSlice); ok {
		if y, ok := b.(yaml.MapSlice); ok {
			return differKeys(key, x, y)
		}
	}
	if x, ok := a.([]any); ok {
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				list = append(list, differ(join(key, strconv.Itoa(i)), x[i], y[i])...)
			}
			return list
		}
	}
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return []Difference{{key, a, b}}
}

// differKeys lists the differences of two mappings. Single keys that differ select different parts.
func differKeys(key string, a, b yaml.MapSlice) (list []Difference) {
	if len(a) == 1 && len(b) == 1 && a[0].Key != b[0].Key {
		return []Difference{{key, fmt.Sprint(a[0].Key), fmt.Sprint(b[0].Key)}}
	}
	values := b.ToMap()
	for _, item := range a {
		name := fmt.Sprint(item.Key)
		value, ok := values[name]
		if !ok {
			list = append(list, Difference{join(key, name), item.Value, nil})
			continue
		}
		list = append(list, differ(join(key, name), item.Value, value)...)
		delete(values, name)
	}
	for _, item := range b {
		if name := fmt.Sprint(item.Key); values[name] != nil {
			list = append(list, Difference{join(key, name), nil, item.Value})
		}
	}
	return list
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

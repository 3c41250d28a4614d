package index

import (
	"encoding/json"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
)

// names is a sorted list of keys or result names that several runs share.
type names struct {
	list    []string
	indices map[string]int
	chosen  map[string]string // names of choices, by key
}

func newNames(list []string) *names {
	n := &names{list: list, indices: make(map[string]int, len(list)), chosen: choicesOf(list)}
	for i, name := range list {
		n.indices[name] = i
	}
	return n
}

// text identifies the names.
func (n *names) text() string { return strings.Join(n.list, "\x00") }

// Settings that differ between most runs.
const nameKey, seedKey = "name", "seed"

// Settings are the settings of a run, by key path. To save memory, runs that differ only in name and seed share all
// other settings. Settings are immutable. The zero value is empty and belongs to a damaged run.
type Settings struct {
	kind       *kind
	name, seed string
}

// kind is the common part of runs that differ only in name and seed.
type kind struct {
	names  *names // keys, including name and seed if the runs have them
	values []string
}

// text identifies the settings.
func (k *kind) text() string { return k.names.text() + "\x00\x00" + strings.Join(k.values, "\x00") }

// NewSettings returns settings by key path.
func NewSettings(all map[string]string) Settings {
	if len(all) == 0 {
		return Settings{}
	}
	keys := slices.Sorted(maps.Keys(all))
	k := &kind{names: newNames(keys)}
	for _, key := range keys {
		value := all[key]
		if key == nameKey || key == seedKey {
			value = ""
		}
		k.values = append(k.values, value)
	}
	return Settings{k, all[nameKey], all[seedKey]}
}

// Len returns the number of settings.
func (s Settings) Len() int {
	if s.kind == nil {
		return 0
	}
	return len(s.kind.names.list)
}

// Get returns a setting, or false if there is none.
func (s Settings) Get(key string) (string, bool) {
	if s.kind == nil {
		return "", false
	}
	i, ok := s.kind.names.indices[key]
	if !ok {
		return "", false
	}
	return s.value(i), true
}

func (s Settings) value(i int) string {
	switch s.kind.names.list[i] {
	case nameKey:
		return s.name
	case seedKey:
		return s.seed
	}
	return s.kind.values[i]
}

// All yields the settings, sorted by key.
func (s Settings) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i := range s.Len() {
			if !yield(s.kind.names.list[i], s.value(i)) {
				return
			}
		}
	}
}

// MarshalJSON writes an object.
func (s Settings) MarshalJSON() ([]byte, error) { return json.Marshal(maps.Collect(s.All())) }

// UnmarshalJSON reads an object.
func (s *Settings) UnmarshalJSON(text []byte) error {
	var values map[string]string
	err := json.Unmarshal(text, &values)
	*s = NewSettings(values)
	return err
}

// Results are a run's metrics, their parts as name.part, and fit.*. They are immutable; the zero value is empty.
type Results struct {
	names   *names
	numbers []float64
}

// NewResults returns results by name, without NaN and infinite results.
func NewResults(all map[string]float64) Results {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool {
		return math.IsNaN(all[name]) || math.IsInf(all[name], 0)
	})
	if len(keys) == 0 {
		return Results{}
	}
	r := Results{names: newNames(keys)}
	for _, name := range keys {
		r.numbers = append(r.numbers, all[name])
	}
	return r
}

// Len returns the number of results.
func (r Results) Len() int { return len(r.numbers) }

// Get returns a result, or false if there is none.
func (r Results) Get(name string) (float64, bool) {
	if r.names == nil {
		return 0, false
	}
	i, ok := r.names.indices[name]
	if !ok {
		return 0, false
	}
	return r.numbers[i], true
}

// All yields the results, sorted by name.
func (r Results) All() iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for i, v := range r.numbers {
			if !yield(r.names.list[i], v) {
				return
			}
		}
	}
}

// MarshalJSON writes an object.
func (r Results) MarshalJSON() ([]byte, error) { return json.Marshal(maps.Collect(r.All())) }

// UnmarshalJSON reads an object.
func (r *Results) UnmarshalJSON(text []byte) error {
	var values map[string]float64
	err := json.Unmarshal(text, &values)
	*r = NewResults(values)
	return err
}

// Package registry holds explicit lists of the parts that a config can name:
// models, losses, data sets, metrics.
package registry

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Entry describes one part that a config can name. T is the interface of its settings
// (build a data set, add a loss node, ...); New returns a pointer to a
// settings struct that holds the defaults.
type Entry[T any] struct {
	Name   string
	Doc    string // what it is, in a sentence or two
	Source string // paper and equation or section, empty for our own
	Units  string // of its numbers, such as "nats"; empty: not stated
	New    func() T
}

// Registry is an ordered list of entries of one kind ("loss", "model", ...).
type Registry[T any] struct {
	Kind    string
	Entries []Entry[T]
	Hints   map[string]string // what to name in place of names that others have; empty: nothing, although a name is near
}

// Names lists the entries' names in the registry's order.
func (t *Registry[T]) Names() []string {
	names := make([]string, len(t.Entries))
	for i, e := range t.Entries {
		names[i] = e.Name
	}
	return names
}

// Lookup finds an entry. Its error names the nearest known name.
func (t *Registry[T]) Lookup(name string) (Entry[T], error) {
	for _, e := range t.Entries {
		if e.Name == name {
			return e, nil
		}
	}
	return Entry[T]{}, &UnknownError{t.Kind, name, t.suggest(name)}
}

// suggest gives the hint about a name in any spelling, or else suggests a known name.
func (t *Registry[T]) suggest(name string) string {
	for other, hint := range t.Hints {
		if Fold(other) == Fold(name) {
			if hint == "" {
				return "; known: " + strings.Join(t.Names(), ", ")
			}
			return "; " + hint
		}
	}
	return Suggest(name, t.Names())
}

// UnknownError is the error about a name that a registry does not have.
type UnknownError struct {
	Kind, Name string // "loss", "kl"
	hint       string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown %s %q%s", e.Kind, e.Name, e.hint) }

// Register adds an entry. It is an error if the entry lacks a part or its name is taken. It must not run
// concurrently with look-ups: call it before a config is read.
func (t *Registry[T]) Register(e Entry[T]) error {
	switch {
	case !validName(e.Name):
		return fmt.Errorf("%s %q: want a name of lower-case letters, digits and hyphens", t.Kind, e.Name)
	case slices.Contains(t.Names(), e.Name):
		return fmt.Errorf("%s %q is registered already; want another name", t.Kind, e.Name)
	case e.Doc == "":
		return fmt.Errorf("%s %q has no Doc; want a sentence about it", t.Kind, e.Name)
	case e.New == nil:
		return fmt.Errorf("%s %q has no New; want a function that returns a pointer to settings with their defaults", t.Kind, e.Name)
	}
	settings := reflect.TypeFor[T]().Kind() // of other types, such as lists, any value will do
	if v := reflect.ValueOf(e.New()); settings == reflect.Interface || settings == reflect.Pointer {
		if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return fmt.Errorf("%s %q: New returns %v; want a pointer to a struct of settings", t.Kind, e.Name, v)
		}
	}
	t.Entries = append(t.Entries, e)
	return nil
}

func validName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && name[0] != '-'
}

// Named returns the choice of an entry by name, with its defaults.
func (t *Registry[T]) Named(name string) (Choice[T], error) {
	e, err := t.Lookup(name)
	if err != nil {
		return Choice[T]{}, err
	}
	return Choice[T]{Name: name, Value: e.New()}, nil
}

// Choice is an entry chosen in a config: its name and its settings.
type Choice[T any] struct {
	Name  string
	Value T
}

// Suggest returns `; did you mean "x"?` when [Near] finds a name, and otherwise the list of what is known.
func Suggest(name string, known []string) string {
	if near := Near(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(known) == 0 {
		return ""
	}
	return "; known: " + strings.Join(known, ", ")
}

// Near returns the known name that a name is a spelling, a beginning or a slip of; empty if there is none or more than one.
// Short names differ in few letters (mig and fid, vae and wae), so no name is near that the user may not mean.
func Near(name string, known []string) string {
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return Fold(a) == Fold(b) },
		func(a, b string) bool { return slip(a, b, 1) },
		func(a, b string) bool { return len(a) > 2 && strings.HasPrefix(Fold(b), Fold(a)) },
		func(a, b string) bool { return len(a) >= longName && slip(a, b, 2) },
	} {
		near := ""
		for _, k := range known {
			switch {
			case k == near || !same(name, k):
			case near == "":
				near = k
			default:
				return ""
			}
		}
		if near != "" {
			return near
		}
	}
	return ""
}

const (
	shortName = 5 // letters of a name whose first letter tells it from other names
	longName  = 8 // letters of a name that may have two slips
)

// slip reports whether a is b with at most so many letters added, left out, replaced or swapped. The first letter of a short name
// tells it from others (rmse and mse), and so do digits (moco-v3 and moco-v2), unless they are swapped or typed twice.
func slip(a, b string, most int) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if len(a) < 2 || b == "" || Distance(a, b) > most {
		return false
	}
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	swapped := i+1 < min(len(a), len(b)) && a[i] == b[i+1] && a[i+1] == b[i]
	repeated := 0 < i && i < len(a) && len(a) == len(b)+1 && a[i] == a[i-1]
	return swapped || repeated || digits(a) == digits(b) && (len(a) > shortName || a[0] == b[0])
}

// Fold removes what spellings of a name differ in: case, hyphens, underscores and spaces.
func Fold(name string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
}

// digits returns the digits of a name.
func digits(name string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, name)
}

// Distance counts the letters to insert, delete, replace or swap with their
// neighbour that make b of a (each at most once).
func Distance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, before
		row[0] = i + 1
		for j := range len(b) {
			substitute := above[j]
			if a[i] != b[j] {
				substitute++
			}
			row[j+1] = min(substitute, row[j]+1, above[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// Package registry has explicit lists of the parts that a config can name: models, losses, data sets, metrics.
package registry

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Entry describes a part that a config can name. T is the interface of its settings (build a data set, add a loss node,
// ...). New returns a pointer to settings with the defaults.
type Entry[T any] struct {
	Name   string
	Doc    string // description of the part, one or two sentences
	Source string // paper and equation or section; empty: our own
	Units  string // unit of its values, such as "nats"; empty: not stated
	New    func() T
}

// Registry is an ordered list of entries of one kind ("loss", "model", ...).
type Registry[T any] struct {
	Kind    string
	Entries []Entry[T]
	More    *Registry[T] // entries that programs add, in a lower-level package; nil: programs add to Entries
	// Hints are hints for names from other programs. An empty hint means no suggestion, although a known name is
	// similar. The hint for "" follows a list of the known names.
	Hints map[string]string
}

// Names lists the names of the entries in order.
func (t *Registry[T]) Names() []string {
	var names []string
	for _, e := range t.All() {
		names = append(names, e.Name)
	}
	return names
}

// All lists the entries, and the entries of More last.
func (t *Registry[T]) All() []Entry[T] {
	if t.More == nil {
		return t.Entries
	}
	return slices.Concat(t.Entries, t.More.Entries)
}

// Lookup finds an entry. Its error suggests the most similar known name. It also returns an error if both Entries and
// More have the name.
func (t *Registry[T]) Lookup(name string) (Entry[T], error) {
	named := func(e Entry[T]) bool { return e.Name == name }
	all := t.All()
	i := slices.IndexFunc(all, named)
	if i < 0 {
		return Entry[T]{}, &UnknownError{t.Kind, name, t.suggest(name)}
	}
	if slices.ContainsFunc(all[i+1:], named) {
		return Entry[T]{}, fmt.Errorf("%s %q is built in, and the program registers it too; want another name for its own",
			t.Kind, name)
	}
	return all[i], nil
}

// suggest returns the hint for a name in any spelling, or otherwise suggests a known name.
func (t *Registry[T]) suggest(name string) string {
	for synonym, hint := range t.Hints {
		if Fold(synonym) == Fold(name) {
			if hint == "" {
				return "; known: " + strings.Join(t.Names(), ", ")
			}
			return "; " + hint
		}
	}
	unknown := func(word string) bool { return !slices.Contains(t.Names(), word) }
	if words := strings.Fields(name); len(words) > 1 && !slices.ContainsFunc(words, unknown) {
		return "; want commas between names: " + strings.Join(words, ", ")
	}
	hint := Suggest(name, t.Names())
	if general := t.Hints[""]; general != "" && strings.HasPrefix(hint, "; known") {
		hint += "; " + general
	}
	return hint
}

// UnknownError is the error of [Registry.Lookup] for an unknown name. Its message suggests a known name. Register
// missing parts before the look-up.
type UnknownError struct {
	Kind, Name string // "loss", "kl"
	hint       string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown %s %q%s", e.Kind, e.Name, e.hint) }

// Register adds an entry. It returns an error if the entry is incomplete or its name is already registered. It must not
// run concurrently with look-ups: call it before reading a config.
func (t *Registry[T]) Register(e Entry[T]) error {
	switch {
	case !validName(e.Name):
		return fmt.Errorf("%s %q: want a name of lower-case letters, digits and hyphens", t.Kind, e.Name)
	case slices.Contains(t.Names(), e.Name):
		return fmt.Errorf("%s %q is registered already; want another name", t.Kind, e.Name)
	case e.Doc == "":
		return fmt.Errorf("%s %q has no Doc; want a sentence about it", t.Kind, e.Name)
	case e.New == nil:
		return fmt.Errorf("%s %q has no New; want a function that returns a pointer to settings with their defaults",
			t.Kind, e.Name)
	}
	settings := reflect.TypeFor[T]().Kind() // other types, such as lists, may have any value
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

// Some returns the first few names for a message, and the number of further names.
func Some(names []string, limit int) string {
	if len(names) <= limit {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
}

// Suggest returns `; did you mean "x"?` if [Near] finds a name. Otherwise, it lists the known names with this part, or
// all.
func Suggest(name string, known []string) string {
	if suggestion := Near(name, known); suggestion != "" {
		return fmt.Sprintf("; did you mean %q?", suggestion)
	}
	if len(known) == 0 {
		return ""
	}
	part := func(k string) bool { return len(name) > 2 && strings.Contains(Fold(k), Fold(name)) }
	if slices.ContainsFunc(known, part) {
		some := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !part(k) })
		return "; want one of " + strings.Join(some, ", ")
	}
	return "; known: " + strings.Join(known, ", ")
}

// Near returns the known name that a name probably means: a different spelling, a longer name with this prefix, a name
// with an ending, such as training, or a name with a typo. If no known name matches, or several match, it returns "".
// Short names differ in few letters (mig and fid, vae and wae), so Near only accepts small differences in them.
func Near(name string, known []string) string {
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return Fold(a) == Fold(b) },
		func(a, b string) bool { return isTypo(a, b, 1) },
		func(a, b string) bool { return len(a) > 2 && strings.HasPrefix(Fold(b), Fold(a)) },
		func(a, b string) bool { return len(b) > 3 && (Fold(a) == Fold(b)+"ing" || Fold(a) == Fold(b)+"es") },
		func(a, b string) bool { return len(a) >= longName && isTypo(a, b, 2) },
	} {
		nearest := ""
		for _, k := range known {
			switch {
			case k == nearest || !same(name, k):
			case nearest == "":
				nearest = k
			default:
				return ""
			}
		}
		if nearest != "" {
			return nearest
		}
	}
	return ""
}

const (
	shortName = 5 // maximum length at which the first letter must match
	longName  = 8 // minimum length at which two typos are accepted
)

// isTypo reports whether a becomes b if at most limit letters are inserted, deleted, replaced or swapped. The first
// letter of a short name must match (rmse and mse differ). Digits must match, too (moco-v3 and moco-v2 differ), unless
// they are swapped or doubled.
func isTypo(a, b string, limit int) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if len(a) < 2 || b == "" || editDistance(a, b) > limit {
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

// Fold removes differences in spelling from a name: case, hyphens, underscores and spaces.
func Fold(name string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
}

func digits(name string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, name)
}

// editDistance returns the number of edits from a to b: insert, delete or replace a letter, or swap two neighbours.
func editDistance(a, b string) int {
	beforeLast, previous, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		beforeLast, previous, row = previous, row, beforeLast
		row[0] = i + 1
		for j := range len(b) {
			substitute := previous[j]
			if a[i] != b[j] {
				substitute++
			}
			row[j+1] = min(substitute, row[j]+1, previous[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], beforeLast[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

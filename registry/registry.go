// Package registry holds explicit tables of the things that a config can name:
// models, losses, data sets, metrics.
package registry

import (
	"fmt"
	"strings"
)

// Entry describes one thing that a config can name. T is what its settings can
// do (build a data set, add a loss node, ...); New returns a pointer to a
// settings struct that holds the defaults.
type Entry[T any] struct {
	Name   string
	Doc    string // what it is, in a sentence or two
	Source string // paper and equation or section, empty for our own
	Units  string // of its numbers, such as "nats"; empty: not stated
	New    func() T
}

// Table is an ordered list of entries of one kind ("loss", "model", ...).
type Table[T any] struct {
	Kind    string
	Entries []Entry[T]
	Hints   map[string]string // what to name in place of names that others have for it
}

// Names lists the entries' names in the table's order.
func (t *Table[T]) Names() []string {
	names := make([]string, len(t.Entries))
	for i, e := range t.Entries {
		names[i] = e.Name
	}
	return names
}

// Lookup finds an entry. Its error names the nearest known name.
func (t *Table[T]) Lookup(name string) (Entry[T], error) {
	for _, e := range t.Entries {
		if e.Name == name {
			return e, nil
		}
	}
	if hint, ok := t.Hints[name]; ok {
		return Entry[T]{}, fmt.Errorf("unknown %s %q; %s", t.Kind, name, hint)
	}
	return Entry[T]{}, fmt.Errorf("unknown %s %q%s", t.Kind, name, Suggest(name, t.Names()))
}

// Choice is what a config chose from a table: a name and the settings under it.
type Choice[T any] struct {
	Name  string
	Value T
}

// Suggest returns `; did you mean "x"?` when a name is near enough to the given
// one, and otherwise the list of what is known.
func Suggest(name string, known []string) string {
	best, distance := "", max(2, len(name)/3)+1
	for _, k := range known {
		if d := Distance(name, k); d < distance {
			best, distance = k, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("; did you mean %q?", best)
	case len(known) == 0:
		return ""
	}
	return "; known: " + strings.Join(known, ", ")
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

package logic

import (
	"fmt"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// Schema describes a batch: the columns of its codes and factors, with the names that a
// sentence can use.
type Schema struct {
	Codes    int                 // columns of the codes z
	SubCodes map[string][]int    // z.name(i) are these columns of z(i)
	Factors  []string            // names of the columns of the factors y
	Levels   map[string][]string // names of a factor's levels, if any
	Turns    []Turn              // transformations of the data, in the order of their columns in Batch.Moves
}

// check returns an error if the schema is inconsistent.
func (s Schema) check() error {
	if s.Codes < 1 {
		return fmt.Errorf("codes of %d columns, want at least one", s.Codes)
	}
	for _, name := range sortedKeys(s.SubCodes) {
		if len(s.SubCodes[name]) == 0 {
			return fmt.Errorf("the sub-code %s has no columns, want at least one", name)
		}
		for _, c := range s.SubCodes[name] {
			if c < 0 || c >= s.Codes {
				return fmt.Errorf("the sub-code %s has column %d, want columns from 0 to %d", name, c, s.Codes-1)
			}
		}
	}
	for i, name := range s.Factors {
		if name == "" || slices.Contains(s.Factors[:i], name) {
			return fmt.Errorf("factor %d is called %q, want names that differ", i, name)
		}
	}
	for _, name := range sortedKeys(s.Levels) {
		if !slices.Contains(s.Factors, name) {
			return fmt.Errorf("names of levels of %q: there is no such factor%s", name, registry.Suggest(name, s.Factors))
		}
	}
	for i, t := range s.Turns {
		if t.Name == "" || slices.ContainsFunc(s.Turns[:i], func(o Turn) bool { return o.Name == t.Name }) {
			return fmt.Errorf("turn %d is called %q, want names that differ", i, t.Name)
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// binding is a variable of a sentence.
type binding struct {
	*program.Binder
	name    string
	members []syntax.Term // of MemberSet, without places
	columns []int         // of MemberSet: the columns of the members' numbers
	width   int           // of MemberSet: 0 for numbers, -1 for levels
	known   []int         // of RowSet: factors that must be known, ascending
	from    *binding      // of MoveSet: the transformation leads from this row
	to      *binding      // to this one
	exists  bool          // exists binds it
}

// compiler turns a sentence into a typed program. Its first error stops it.
type compiler struct {
	sentence syntax.Sentence
	schema   Schema
	scope    []*binding
	maps     []*mapping // functions in scope
	program  *program.Program
}

// fail returns the error of a part of the sentence.
func (c *compiler) fail(part any, format string, values ...any) error {
	return c.sentence.Errorf(part, format, values...)
}

// lookup finds a variable.
func (c *compiler) lookup(v syntax.Variable, part any) (*binding, error) {
	var names []string
	for _, b := range slices.Backward(c.scope) {
		if b.name == string(v) {
			return b, nil
		}
		names = append(names, b.name)
	}
	if len(names) == 0 {
		return nil, c.fail(part, "there is no variable %s; want a quantifier that binds it, such as forall %s: ...", v, v)
	}
	return nil, c.fail(part, "there is no variable %s%s", v, registry.Suggest(string(v), names))
}

// row finds the variable of a row.
func (c *compiler) row(a *syntax.Access) (*binding, error) {
	b, err := c.lookup(a.Row, a)
	if err == nil && b.Set != syntax.RowSet {
		return nil, c.fail(a, "%s stands for %s, want a variable that stands for a row", a.Row, b.what())
	}
	return b, err
}

func (b *binding) what() string {
	switch b.Set {
	case syntax.ValueSet:
		return "a value of a factor"
	case syntax.MemberSet:
		return "a constant"
	case syntax.PointSet:
		return "a point of the codes"
	case syntax.MoveSet:
		return "a transformation"
	}
	return "a row"
}

// factor finds a factor.
func (c *compiler) factor(name string, part any) (int, error) {
	i := slices.Index(c.schema.Factors, name)
	if i < 0 {
		return 0, c.fail(part, "there is no factor %q%s", name, registry.Suggest(name, c.schema.Factors))
	}
	return i, nil
}

// columnsOf lists the columns of z or y that an access selects.
func (c *compiler) columnsOf(a *syntax.Access) ([]int, error) {
	all := len(c.schema.Factors)
	if a.Codes {
		all = c.schema.Codes
	}
	switch {
	case a.Name != "" && a.Codes:
		columns, ok := c.schema.SubCodes[a.Name]
		if !ok {
			return nil, c.fail(a, "there is no sub-code %q%s", a.Name, registry.Suggest(a.Name, sortedKeys(c.schema.SubCodes)))
		}
		return columns, nil
	case a.Name != "":
		i, err := c.factor(a.Name, a)
		return []int{i}, err
	case len(a.Columns) > 0:
		var columns []int
		for _, r := range a.Columns {
			if r.Lo < 0 || r.Hi <= r.Lo || r.Hi > all {
				return nil, c.fail(a, "columns %d:%d do not exist: the %s have %d columns", r.Lo, r.Hi, syntax.SpaceName(a.Codes), all)
			}
			for i := r.Lo; i < r.Hi; i++ {
				if slices.Contains(columns, i) {
					return nil, c.fail(a, "column %d is named twice", i)
				}
				columns = append(columns, i)
			}
		}
		return columns, nil
	}
	if all == 0 {
		return nil, c.fail(a, "there are no %s", syntax.SpaceName(a.Codes))
	}
	columns := make([]int, all)
	for i := range columns {
		columns[i] = i
	}
	return columns, nil
}

func validNumber(x float64) bool { return math.Abs(x) <= 1e150 }

package logic

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// Sentence is a formula about the rows of a batch, together with the operations that convert it to a quantity. [Parse]
// creates sentences; the zero value is no sentence.
type Sentence struct{ tree syntax.Sentence }

// Parse reads a sentence; see the package comment for the grammar. Its error is an [*Error]. [Compile], not Parse,
// checks the names of factors and sub-codes.
func Parse(text string) (Sentence, error) {
	tree, err := syntax.Parse(text)
	return Sentence{tree}, public(err)
}

// Error is the error of [Parse] and [Compile] about a part of a sentence. Line and Column start at 1; Column counts
// characters. Correct the sentence there.
type Error struct {
	Line, Column int
	Part         string // the invalid part; empty if line and column are known
	Message      string
}

func (e *Error) Error() string { return (*syntax.Error)(e).Error() }

// public converts an error about a part of a sentence to an [*Error].
func public(err error) error {
	if e, ok := err.(*syntax.Error); ok {
		return (*Error)(e)
	}
	return err
}

// String returns the sentence as text. Parse(s.String()) is the same sentence.
func (s Sentence) String() string { return s.tree.String() }

// Formula returns the sentence in the symbols of logic, without premetrics, aggregates and multiples.
func (s Sentence) Formula() string { return s.tree.Formula() }

// Quantity returns the formula of the sentence's quantity.
func (s Sentence) Quantity() string { return s.tree.Quantity() }

// UnmarshalText parses a sentence, for use in settings. Its error is an [*Error].
func (s *Sentence) UnmarshalText(text []byte) (err error) {
	*s, err = Parse(string(text))
	return err
}

// MarshalText returns the sentence as text. It returns an error if there is no sentence.
func (s Sentence) MarshalText() ([]byte, error) {
	if s.IsZero() {
		return nil, errNoSentence
	}
	return []byte(s.String()), nil
}

var errNoSentence = errors.New("logic: a sentence without a formula; want a sentence of Parse")

// IsZero reports whether there is no sentence.
func (s Sentence) IsZero() bool { return s.tree.Body == nil }

// Sampled reports whether the sentence is about samples of the rows' posteriors, `with z ~ q:`.
func (s Sentence) Sampled() bool { return s.tree.Sampled }

// OfSamples returns the sentence about samples of the rows' posteriors instead of their means, as `with z ~ q:` does.
func (s Sentence) OfSamples() Sentence {
	s.tree.Sampled = true
	return s
}

// Moves reports whether the sentence uses transformations between rows.
func (s Sentence) Moves() bool { return s.tree.Moves() }

// Mentions reports whether the sentence uses factors, and whether it uses named sub-codes, such as z.shape.
func (s Sentence) Mentions() (factors, subCodes bool) { return s.tree.Mentions() }

// AllRows reports whether a variable without factors ranges over all rows, also where all factors are unknown.
// Sub-codes that must be independent range over all rows, too.
func (s Sentence) AllRows() bool { return s.tree.AllRows() }

// Compared lists the factors whose levels group rows: factors of crisp equalities and arguments of functions.
func (s Sentence) Compared() []string { return s.tree.Compared() }

// Truth relates a quantity of 0 to the truth of the sentence (Zhang and Sugiyama 2024, theorem 1).
type Truth struct {
	Implied    bool   // if the quantity is 0, the sentence is true
	Equivalent bool   // also, if the sentence is true, the quantity is 0
	Reason     string // the reason
}

func (t Truth) String() string {
	switch {
	case t.Equivalent:
		return "0 if and only if the sentence is true: " + t.Reason
	case t.Implied:
		return "0 implies that the sentence is true, but a true sentence may not have 0: " + t.Reason
	}
	return "0 does not show that the sentence is true: " + t.Reason
}

// Truth says what a quantity of 0 means. Most formulas are 0 if and only if they are true, in every quantale here:
// equalities, conjunctions, disjunctions, quantifiers, multiples, implications from crisp formulas, and strict
// implications and negations. Any other implication a -> b is 0 if a >= b, so it can be true and not 0 if a < b. Any
// other negation can also be true and not 0, and so can a soft minimum, which is 0 only if all its quantities are 0. If
// the negated formula, or the antecedent of an implication, contains such a formula, a quantity of 0 says nothing.
// (Theorem 1 omits this case. Its proof, by theorem 10, assumes parts that are 0 if and only if they are true.) The
// cosine distance is also 0 for different vectors with the same direction.
func (s Sentence) Truth() Truth {
	q := s.tree.Quantale
	l := truthLink(q, s.tree.Body)
	t := Truth{Implied: l.unsound == "", Equivalent: l.unsound == "" && l.incomplete == ""}
	switch {
	case t.Equivalent:
		t.Reason = "it has no negation, and only crisp formulas (= or !=) imply others"
		if q.Implies == syntax.ImpliesStrict || q.Not == syntax.NotStrict {
			t.Reason = "its negations are strict, and its implications strict or from crisp formulas"
		}
	case t.Implied:
		t.Reason = l.incomplete
	default:
		t.Reason = l.unsound
	}
	return t
}

// link holds two reasons: why zero does not imply truth (unsound), and why truth does not imply zero (incomplete). An
// empty reason means that the implication holds.
type link struct{ unsound, incomplete string }

func truthLink(q syntax.Quantale, f syntax.Formula) link {
	if syntax.IsCrisp(f) {
		return link{}
	}
	switch f := f.(type) {
	case *syntax.Equality:
		if f.Premetric == syntax.Cosine {
			return link{unsound: fmt.Sprintf("=[cosine] compares directions: 0 of %s means that %s and %s have one direction, not that they are equal",
				syntax.TextOf(f), syntax.TextOf(f.A), syntax.TextOf(f.B))}
		}
	case *syntax.Connective:
		a, b := truthLink(q, f.A), truthLink(q, f.B)
		switch {
		case f.Kind != syntax.ImpliesKind:
			return link{firstReason(a.unsound, b.unsound), firstReason(a.incomplete, b.incomplete)}
		case syntax.IsCrisp(f.A):
			return b
		case q.Implies == syntax.ImpliesStrict:
			return link{firstReason(b.unsound, antecedentReason(f, a.incomplete)), firstReason(b.incomplete, a.unsound)}
		}
		l := link{unsound: b.unsound,
			incomplete: fmt.Sprintf("the implication %s may be true where %s is nearer to 0 than %s, but not 0",
				syntax.TextOf(f), syntax.TextOf(f.A), syntax.TextOf(f.B))}
		l.unsound = firstReason(l.unsound, antecedentReason(f, a.incomplete))
		return l
	case *syntax.Negated:
		a := truthLink(q, f.A)
		l := link{incomplete: fmt.Sprintf("the negation of %[1]s may be true and not 0, where %[1]s is false with a small value", syntax.TextOf(f.A))}
		if a.incomplete != "" {
			l.unsound = fmt.Sprintf("%s, which is negated, may be true and not 0: %s", syntax.TextOf(f.A), a.incomplete)
		}
		if q.Not == syntax.NotStrict {
			l.incomplete = a.unsound
		}
		return l
	case *syntax.Independence:
		return independenceLink(f)
	case *syntax.Scaled:
		return truthLink(q, f.A)
	case *syntax.Quantified:
		l := truthLink(q, f.Body)
		for _, d := range f.Domain.Functions {
			if d.Class == syntax.MLP {
				l.incomplete = firstReason(l.incomplete,
					fmt.Sprintf("training may not find the function %s in mlp for which %s is true", d.Name, syntax.TextOf(f)))
			}
		}
		if f.Fold == syntax.AnySoft {
			l.incomplete = firstReason(l.incomplete,
				fmt.Sprintf("the soft minimum of %s is 0 only where all its quantities are 0; one is enough for truth",
					syntax.TextOf(f)))
		}
		return l
	}
	return link{}
}

// antecedentReason is the reason why an implication is not sound if its antecedent can be true and not 0.
func antecedentReason(f *syntax.Connective, complete string) string {
	if complete == "" {
		return ""
	}
	return fmt.Sprintf("%s, from which %s follows, may be true and not 0: %s",
		syntax.TextOf(f.A), syntax.TextOf(f.B), complete)
}

func firstReason(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// independenceLink says that 0 means independence of the sub-codes for a row drawn at random from the batch.
func independenceLink(f *syntax.Independence) link {
	switch f.By {
	case syntax.TotalCorrelation:
		return link{unsound: fmt.Sprintf("%s is also 0 for uncorrelated codes that depend on each other", syntax.TextOf(f))}
	case syntax.ByDiscriminator:
		estimate := fmt.Sprintf("%s is the estimate of a discriminator", syntax.TextOf(f))
		return link{estimate, estimate}
	}
	return link{}
}

// Schema describes a batch: the columns of its codes and factors, with the names that a sentence can use.
type Schema struct {
	Codes    int                 // number of columns of the codes z
	SubCodes map[string][]int    // z.name(i) selects these columns of z(i)
	Factors  []string            // names of the columns of the factors y
	Levels   map[string][]string // names of a factor's levels, if it has any
	Turns    []Turn              // transformations of the data, in the order of their columns in Batch.Moves
}

// check returns an error if the schema is inconsistent.
func (s Schema) check() error {
	if s.Codes < 1 {
		return fmt.Errorf("codes of %d columns, want at least one", s.Codes)
	}
	for _, name := range slices.Sorted(maps.Keys(s.SubCodes)) {
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
			return fmt.Errorf("factor %d is called %q, want distinct names", i, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Levels)) {
		if !slices.Contains(s.Factors, name) {
			return fmt.Errorf("names of levels of %q: there is no such factor%s", name, registry.Suggest(name, s.Factors))
		}
	}
	for i, t := range s.Turns {
		if t.Name == "" || slices.ContainsFunc(s.Turns[:i], func(o Turn) bool { return o.Name == t.Name }) {
			return fmt.Errorf("turn %d is called %q, want distinct names", i, t.Name)
		}
	}
	return nil
}

// Turn is a transformation of the data in a sentence: by the angles of a circular factor, or by rotations in space. It
// acts on the columns of the sub-code with its name.
type Turn struct {
	Name string
	// rotations in space, each an axis and an angle in radians (4 columns of moves); otherwise an angle in radians (1
	// column)
	Space bool
}

// Columns returns the number of columns of the turn in [Batch.Moves].
func (t Turn) Columns() int {
	if t.Space {
		return 4
	}
	return 1
}

// width is the number of coordinates that the turn acts on together.
func (t Turn) width() int {
	if t.Space {
		return 3
	}
	return 2
}

// Turns lists the transformations of circular factors and of factors with rotations as levels.
func Turns(factors []factor.Factor) []Turn {
	var all []Turn
	for _, f := range factors {
		if f.Turns() {
			all = append(all, Turn{f.Name, f.Rotations != nil})
		}
	}
	return all
}

// LevelNames returns names for [Schema.Levels]. The name of a level without one is its value, such as "2".
func LevelNames(factors []factor.Factor) map[string][]string {
	all := map[string][]string{}
	for _, f := range factors {
		names := f.Names
		for level := 0; f.Names == nil && level < f.Size; level++ {
			names = append(names, strconv.FormatFloat(f.Value(level), 'g', -1, 64))
		}
		all[f.Name] = names
	}
	return all
}

// MovesOf returns the moves of images with the given levels [n, K] of factors, and their groups: images with equal
// values of all other factors are related by a transformation. An unknown level is negative. A row with an unknown
// level of a turning factor has no known transformation; a row with another unknown factor is in no group.
func MovesOf(factors []factor.Factor, levels [][]int) (moves [][]float64, groups []int) {
	moves, groups = make([][]float64, len(levels)), make([]int, len(levels))
	numbers := map[string]int{}
	for i, row := range levels {
		var key strings.Builder
		missing := false
		for k, f := range factors {
			if f.Turns() {
				moves[i] = append(moves[i], turnMoves(f, row[k])...)
				continue
			}
			missing = missing || row[k] < 0
			fmt.Fprintf(&key, "%d ", row[k])
		}
		if groups[i] = -1; missing {
			continue
		}
		if _, ok := numbers[key.String()]; !ok {
			numbers[key.String()] = len(numbers)
		}
		groups[i] = numbers[key.String()]
	}
	return moves, groups
}

// turnMoves returns the angle of a level, or its axis and angle; an unknown level gives NaN.
func turnMoves(f factor.Factor, level int) []float64 {
	switch {
	case level < 0 && f.Rotations != nil:
		return slices.Repeat([]float64{math.NaN()}, 4)
	case level < 0:
		return []float64{math.NaN()}
	case f.Rotations == nil:
		return []float64{f.Angle(level)}
	}
	axis, angle := rotation.AxisAngle(&f.Rotations[level])
	return append(axis[:], angle)
}

func (s Schema) moves() (columns int) {
	for _, t := range s.Turns {
		columns += t.Columns()
	}
	return columns
}

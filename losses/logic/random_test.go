package logic

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// sentences is the number of random sentences: 250, and with -long 1000.
func sentences() int {
	if long.Enabled() {
		return 1000
	}
	return 250
}

// TestRandomSentences tests theorem 1 of the paper on random sentences and batches, and compares values with a separate
// computation.
func TestRandomSentences(t *testing.T) {
	long.NotShort(t)
	held, broke, equivalent, implied := 0, 0, 0, 0
	for seed := range sentences() {
		s := randomSentence(seed)
		q, err := Compile(s, testSchema)
		if err != nil {
			t.Fatalf("sentence %d, %v: %v", seed, s, err)
		}
		truth, h, b := s.Truth(), false, false
		if truth.Equivalent {
			equivalent++
		}
		if truth.Implied {
			implied++
		}
		tolerance := 1e-6
		if strings.Contains(s.String(), " in z") {
			tolerance = 1e-3 // tolerance of the search for a centre
		}
		all := batches(seed, 5)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			d := all[name]
			v, err := q.ValueOf(d.of(q))
			if err != nil {
				t.Fatalf("sentence %d, %v: %v", seed, s, err)
			}
			if g := steepestOf(t, q, d); math.IsNaN(g) || math.IsInf(g, 0) {
				t.Errorf("sentence %d, %v: the gradient of %s is %v", seed, s, name, g)
			}
			holds := must.Get(q.HoldsOf(d.of(q)))(t)
			w := q.world(d.of(q))
			want := w.reference(s.tree.Quantale, s.tree.Body)
			if math.IsNaN(want) || want > 200 {
				want = v // inf - inf, or exp overflows
			}
			h, b = h || holds, b || !holds
			switch {
			case math.IsNaN(v) || v < 0:
				t.Errorf("sentence %d, %v: %v of %s", seed, s, v, name)
			case !(v == want || math.Abs(v-want) <= tolerance*max(1, want)):
				t.Errorf("sentence %d, %v: %v of %s, want %v", seed, s, v, name, want)
			case truth.Implied && v == 0 && !holds:
				t.Errorf("sentence %d, %v: 0 of %s, of which it is false (%v)", seed, s, name, truth)
			case truth.Equivalent && holds && v != 0:
				t.Errorf("sentence %d, %v: %v of %s, of which it is true (%v)", seed, s, v, name, truth)
			}
		}
		if h {
			held++
		}
		if b {
			broke++
		}
		if t.Failed() {
			return
		}
	}
	n := sentences()
	t.Logf("of %d sentences %d were true of some data, %d false; zero is equivalent to truth in %d, implies it in %d",
		n, held, broke, equivalent, implied)
	if held < n*85/100 || broke < n*80/100 || equivalent < n/4 || implied-equivalent < n/5 || implied > n*98/100 {
		t.Errorf("of %d sentences %d were true of some data, %d false; equivalent %d, implied %d: the generator is too narrow", n, held, broke, equivalent, implied)
	}
}

// steepestOf returns the largest element of a gradient.
func steepestOf(t *testing.T, q *Quantity, b batch) float64 {
	t.Helper()
	e := load(t, q, b)
	must.Get(e.Value(true))(t)
	e.Gradient(1)
	most := 0.0
	for c := range q.program.First + len(q.program.More) {
		for _, x := range e.Slope(c) {
			most = max(most, math.Abs(x))
		}
	}
	return most
}

// TestRandomText prints and parses random sentences.
func TestRandomText(t *testing.T) {
	for seed := range sentences() {
		s := randomSentence(seed)
		text := s.String()
		parsed, err := Parse(text)
		if err != nil {
			t.Fatalf("sentence %d, %s: %v", seed, text, err)
		}
		if parsed.String() != text {
			t.Fatalf("sentence %d, %s, is printed as %s", seed, text, parsed)
		}
		if got := unplaced(parsed); !reflect.DeepEqual(got, s.tree) {
			t.Fatalf("sentence %d, %s, is parsed as another one:\n%#v\n%#v", seed, text, got, s)
		}
	}
}

// unplaced removes the positions in the parsed text.
func unplaced(s Sentence) syntax.Sentence {
	return syntax.Sentence{Quantale: s.tree.Quantale, Sampled: s.tree.Sampled, Body: unplacedFormula(s.tree.Body)}
}

func unplacedFormula(f syntax.Formula) syntax.Formula {
	switch f := f.(type) {
	case *syntax.Equality:
		return &syntax.Equality{A: unplacedTerm(f.A), B: unplacedTerm(f.B), Premetric: f.Premetric, Period: f.Period, Not: f.Not}
	case *syntax.Connective:
		return &syntax.Connective{Kind: f.Kind, A: unplacedFormula(f.A), B: unplacedFormula(f.B)}
	case *syntax.Negated:
		return &syntax.Negated{A: unplacedFormula(f.A)}
	case *syntax.Scaled:
		return &syntax.Scaled{Weight: f.Weight, A: unplacedFormula(f.A)}
	case *syntax.Quantified:
		d := f.Domain
		d.Place = 0
		for i, m := range d.Members {
			d.Members[i] = syntax.Bare(m)
		}
		for _, f := range d.Functions {
			f.Place, f.From.Place, f.To.Place = 0, 0, 0
		}
		if d.Space != nil {
			d.Space = unplacedTerm(d.Space).(*syntax.Access)
		}
		q := *f
		q.Place, q.Domain, q.Body = 0, d, unplacedFormula(f.Body)
		return &q
	}
	return f
}

func unplacedTerm(t syntax.Term) syntax.Term {
	switch t := syntax.Bare(t).(type) {
	case *syntax.Access:
		a := *t
		a.Place = 0
		return &a
	case *syntax.Arithmetic:
		return &syntax.Arithmetic{A: unplacedTerm(t.A), B: unplacedTerm(t.B), Minus: t.Minus}
	case *syntax.Application:
		return &syntax.Application{Function: t.Function, A: unplacedTerm(t.A)}
	case *syntax.Multiple:
		return &syntax.Multiple{Factor: t.Factor, A: unplacedTerm(t.A)}
	default:
		return t
	}
}

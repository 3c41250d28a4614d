package logic

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
)

// sentences is the number of random sentences: 250, and with -long 1000.
func sentences() int {
	if long.Enabled() {
		return 1000
	}
	return 250
}

// TestRandomSentences tests Theorem 1 of the paper on random sentences and batches, and compares their values with a
// separate computation.
func TestRandomSentences(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes for long")
	}
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
			tolerance = 1e-3 // of the search for a centre
		}
		all := batches(seed, 5)
		for _, name := range sortedKeys(all) {
			d := all[name]
			v, err := q.ValueOf(d.of(q))
			if err != nil {
				t.Fatalf("sentence %d, %v: %v", seed, s, err)
			}
			if g := steepestOf(t, q, d); math.IsNaN(g) || math.IsInf(g, 0) {
				t.Errorf("sentence %d, %v: the gradient of %s is %v", seed, s, name, g)
			}
			holds, err := q.HoldsOf(d.of(q))
			if err != nil {
				t.Fatal(err)
			}
			w := q.world(d.of(q))
			want := w.reference(s.Quantale, s.Body)
			if math.IsNaN(want) || want > 200 {
				want = v // inf - inf, and exp beyond its range
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
	t.Logf("of %d sentences %d were true of some data, %d false; zero is equivalent to truth in %d, implies it in %d", n, held, broke, equivalent, implied)
	if held < n*85/100 || broke < n*80/100 || equivalent < n/4 || implied-equivalent < n/5 || implied > n*98/100 {
		t.Errorf("of %d sentences %d were true of some data, %d false; equivalent %d, implied %d: the generator is too narrow", n, held, broke, equivalent, implied)
	}
}

// steepestOf is the largest element of a gradient.
func steepestOf(t *testing.T, q *Quantity, b batch) float64 {
	t.Helper()
	e := load(t, q, b)
	if _, err := e.forward(true); err != nil {
		t.Fatal(err)
	}
	e.backward(1)
	most := 0.0
	for _, column := range e.main.slopes {
		for _, x := range column {
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
		if got := unplaced(parsed); !reflect.DeepEqual(got, s) {
			t.Fatalf("sentence %d, %s, is parsed as another one:\n%#v\n%#v", seed, text, got, s)
		}
	}
}

// unplaced removes the places of the parsed text.
func unplaced(s Sentence) Sentence {
	return Sentence{Quantale: s.Quantale, Sampled: s.Sampled, Body: unplacedFormula(s.Body)}
}

func unplacedFormula(f Formula) Formula {
	switch f := f.(type) {
	case *equality:
		return &equality{a: unplacedTerm(f.a), b: unplacedTerm(f.b), premetric: f.premetric, period: f.period, not: f.not}
	case *connective:
		return &connective{kind: f.kind, a: unplacedFormula(f.a), b: unplacedFormula(f.b)}
	case *negation:
		return &negation{a: unplacedFormula(f.a)}
	case *scaled:
		return &scaled{weight: f.weight, a: unplacedFormula(f.a)}
	case *quantified:
		d := f.domain
		d.place = 0
		for i, m := range d.members {
			d.members[i] = bare(m)
		}
		for i := range d.functions {
			d.functions[i].place = 0
		}
		if d.space != nil {
			space := *d.space
			space.place = 0
			d.space = &space
		}
		q := *f
		q.place, q.domain, q.body = 0, d, unplacedFormula(f.body)
		return &q
	}
	return f
}

func unplacedTerm(t Term) Term {
	switch t := bare(t).(type) {
	case *access:
		a := *t
		a.place = 0
		return &a
	case *arithmetic:
		return &arithmetic{a: unplacedTerm(t.a), b: unplacedTerm(t.b), minus: t.minus}
	case *application:
		return &application{function: t.function, a: unplacedTerm(t.a)}
	case *multiple:
		return &multiple{0, t.factor, unplacedTerm(t.a)}
	default:
		return t
	}
}

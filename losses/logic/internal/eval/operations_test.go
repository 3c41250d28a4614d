package eval

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/losses/logic/internal/reference"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// grid are quantities from tiny to large.
var grid = []float64{0, 1e-12, 1e-6, 0.01, 0.3, 0.7, 1, 1.5, 2, 5, 12, 30, 40, 300, 720, 1e4, 1e9}

func operations() map[string]operation {
	all := map[string]operation{}
	for i := range int(syntax.AndProduct) + 1 {
		name := syntax.Conjunction(i).String()
		all["and "+name] = conjunctions(syntax.Conjunction(i))
	}
	for i := range int(syntax.OrTanh) + 1 {
		name := syntax.Disjunction(i).String()
		all["or "+name] = disjunctions(syntax.Disjunction(i))
	}
	for i := range int(syntax.ImpliesStrict) + 1 {
		name := syntax.Implication(i).String()
		all["-> "+name] = implications(syntax.Implication(i))
	}
	return all
}

// TestOperations compares the operations with the paper's isomorphisms, if these neither overflow nor cancel.
func TestOperations(t *testing.T) {
	for k := range 6 {
		q := syntax.Quantale{And: syntax.Conjunction(k), Or: syntax.Disjunction(min(k, 4)), Implies: syntax.Implication(k),
			Not: syntax.NotComplement}
		for _, a := range grid {
			for _, b := range grid {
				for which, o := range []operation{conjunctions(q.And), disjunctions(q.Or), implications(q.Implies)} {
					got, want := o.value(a, b), reference.Operation(q, [...]syntax.Kind{syntax.AndKind, syntax.OrKind, syntax.ImpliesKind}[which], a, b)
					tolerance := 1e-9
					if max(a, b) > 300 || math.IsNaN(want) || which == 1 && (min(a, b) > 10 || a*b == 0) || which == 2 && max(a, b) > 30 {
						continue
					}
					if !(math.Abs(got-want) <= tolerance*max(want, 1e-4)) {
						t.Errorf("operation %d of %v: %v and %v give %v, want %v", which, q, a, b, got, want)
					}
				}
			}
		}
	}
}

// TestLaws tests the laws of every operation: units, zeros, the adjunction of implications, no NaN, no negative result,
// no infinite slope, up to infinity.
func TestLaws(t *testing.T) {
	all := append([]float64{math.Inf(1), 5e-324, 1e300}, grid...)
	for name, o := range operations() {
		for _, a := range all {
			for _, b := range all {
				r := o.value(a, b)
				if math.IsNaN(r) || r < 0 {
					t.Errorf("%s of %v and %v is %v", name, a, b, r)
				}
				da, db := o.slope(a, b, r)
				if !(math.Abs(da) <= maxSlope) || !(math.Abs(db) <= maxSlope) {
					t.Errorf("%s of %v and %v has slopes %v and %v", name, a, b, da, db)
				}
				if bad := lawOf(name, a, b, r); bad != "" {
					t.Errorf("%s of %v and %v is %v: %s", name, a, b, r, bad)
				}
			}
		}
	}
	for i := range int(syntax.AndProduct) + 1 {
		name := syntax.Conjunction(i)
		and, implies := conjunctions(syntax.Conjunction(i)), implications(syntax.Implication(i))
		for _, a := range grid {
			for _, b := range grid {
				// The least c with c and a >= b.
				if c := implies.value(a, b); !(and.value(c, a) >= b*(1-1e-9)-1e-9) || c > 1e-3 && !(and.value(c*0.99, a) <= b*(1+1e-9)+1e-9) {
					t.Errorf("%s: %v -> %v is %v, and %v with %v is %v", name, a, b, c, c, a, and.value(c, a))
				}
			}
		}
	}
}

func lawOf(name string, a, b, r float64) string {
	tiny := min(a, b) < 1e-100 // products may underflow
	switch name[:2] {
	case "an":
		if (r == 0) != (a == 0 && b == 0) {
			return "it must be 0 where both are"
		}
		if (a == 0 || b == 0) && !(math.Abs(r-max(a, b)) <= 1e-9*max(a, b)) && !math.IsInf(r, 1) {
			return "0 must be the unit"
		}
	case "or":
		if (r == 0) != (a == 0 || b == 0) && !tiny {
			return "it must be 0 where one is"
		}
		if math.IsInf(max(a, b), 1) && r != min(a, b) && !(math.Abs(r-min(a, b)) <= 1e-9*min(a, b)) {
			return "infinity must be the unit"
		}
	case "->":
		if name == "-> strict" {
			if (r == 0) != (a > 0 || b == 0) {
				return "it must be 0 where the implication is true"
			}
			return ""
		}
		if (r == 0) != (a >= b) && !(tiny || math.Abs(a-b) < 1e-9*b) {
			return "it must be 0 where a >= b"
		}
	}
	return ""
}

// TestSlopes compares slopes with finite differences away from kinks.
func TestSlopes(t *testing.T) {
	for name, o := range operations() {
		for _, a := range []float64{0.2, 0.5, 1.1, 2.3, 7} {
			for _, b := range []float64{0.21, 0.6, 1, 2, 6.5} {
				h := 1e-6
				da, db := o.slope(a, b, o.value(a, b))
				wantA, wantB := (o.value(a+h, b)-o.value(a-h, b))/(2*h), (o.value(a, b+h)-o.value(a, b-h))/(2*h)
				if !(math.Abs(da-wantA) <= 1e-6*max(1, math.Abs(wantA))) || !(math.Abs(db-wantB) <= 1e-6*max(1, math.Abs(wantB))) {
					t.Errorf("%s of %v and %v: slopes %v and %v, want %v and %v", name, a, b, da, db, wantA, wantB)
				}
			}
		}
	}
	for n := range syntax.NotStrict + 1 {
		c := negations(n)
		for _, a := range []float64{0.2, 0.5, 1.1, 3} {
			if want := (c.value(a+1e-6) - c.value(a-1e-6)) / 2e-6; !(math.Abs(c.slope(a)-want) <= 1e-6*max(1, math.Abs(want))) {
				t.Errorf("%v of %v: slope %v, want %v", n, a, c.slope(a), want)
			}
		}
	}
}

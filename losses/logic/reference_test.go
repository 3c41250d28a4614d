package logic

import (
	"github.com/unravel-ml/unravel/losses/logic/internal/reference"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// reference computes the quantity of a formula tuple by tuple, from the paper's tables.
func (w *world) reference(q syntax.Quantale, f syntax.Formula) float64 {
	if syntax.IsCrisp(f) {
		if w.holds(f) {
			return 0
		}
		return math.Inf(1)
	}
	switch f := f.(type) {
	case *syntax.Equality:
		return w.distance(f)
	case *syntax.Scaled:
		return f.Weight * w.reference(q, f.A)
	case *syntax.Negated:
		a := w.reference(q, f.A)
		switch {
		case q.Not == syntax.NotInverse:
			return 1 / a
		case q.Not == syntax.NotStrict && a == 0:
			return 1
		case q.Not == syntax.NotStrict:
			return 0
		}
		return max(1-a, 0)
	case *syntax.Connective:
		if f.Kind == syntax.ImpliesKind && syntax.IsCrisp(f.A) {
			if !w.holds(f.A) {
				return 0
			}
			return w.reference(q, f.B)
		}
		return reference.Operation(q, f.Kind, w.reference(q, f.A), w.reference(q, f.B))
	case *syntax.Quantified:
		if f.Domain.Set == syntax.PointSet {
			return w.referenceCentre(f)
		}
		guards, rest := f.Guards()
		var all []float64
		w.tuples(f, f.Domain.Names, func() {
			for _, g := range guards {
				if !w.holds(g) {
					return
				}
			}
			all = append(all, w.reference(q, rest))
		})
		return aggregateOf(f, all)
	}
	panic(f)
}

func aggregateOf(f *syntax.Quantified, all []float64) float64 {
	if f.Fold != syntax.NoFold {
		return reference.Fold(f.Fold, f.Temperature, all)
	}
	if !f.Universal {
		return slices.Min(append(all, math.Inf(1)))
	}
	if len(all) == 0 {
		return 0
	}
	sum, squares := 0.0, 0.0
	for _, x := range all {
		sum += x
		squares += x * x
	}
	n := float64(len(all))
	return []float64{sum / n, slices.Max(all), sum, squares / n}[f.Aggregate]
}

func (w *world) tuples(f *syntax.Quantified, names []string, visit func()) {
	if len(names) == 0 {
		if w.movable(f) {
			visit()
		}
		return
	}
	defer delete(w.bound, names[0])
	for _, t := range w.things(f, names[0]) {
		w.bound[names[0]] = t
		w.tuples(f, names[1:], visit)
	}
}

func (w *world) distance(e *syntax.Equality) float64 {
	if e.Premetric == syntax.KL || e.Premetric == syntax.Wasserstein {
		return divergence(e.Premetric, w.posterior(e.A), w.posterior(e.B))
	}
	a, b := w.term(e.A), w.term(e.B)
	if e.Premetric == syntax.Cosine {
		return cosineOf(a, b)
	}
	squares, sum, differ, arcs := 0.0, 0.0, 0.0, 0.0
	for i := range max(len(a.vector), len(b.vector)) {
		d := math.Abs(a.at(i) - b.at(i))
		squares += d * d
		sum += d
		if d > 0 {
			differ++
		}
		arcs += math.Abs(math.Remainder(d, e.Period))
	}
	return map[syntax.Premetric]float64{syntax.Euclidean: math.Sqrt(squares), syntax.Squared: squares,
		syntax.Absolute: sum, syntax.Discrete: differ, syntax.Circular: arcs}[e.Premetric]
}

func cosineOf(a, b thing) float64 {
	aa, bb, ab := 0.0, 0.0, 0.0
	for i := range max(len(a.vector), len(b.vector)) {
		aa, bb, ab = aa+a.at(i)*a.at(i), bb+b.at(i)*b.at(i), ab+a.at(i)*b.at(i)
	}
	switch {
	case aa == 0 && bb == 0:
		return 0
	case aa == 0 || bb == 0:
		return 1
	}
	return 1 - ab/math.Sqrt(aa)/math.Sqrt(bb)
}

func divergence(p syntax.Premetric, a, b [2][]float64) float64 {
	kl, squares := 0.0, 0.0
	for k := range a[0] {
		m, u, v := a[0][k]-b[0][k], math.Exp(a[1][k]), math.Exp(b[1][k])
		kl += (math.Log(v/u) + (u+m*m)/v - 1) / 2
		squares += m*m + math.Pow(math.Sqrt(u)-math.Sqrt(v), 2)
	}
	if p == syntax.KL {
		return max(kl, 0)
	}
	return math.Sqrt(squares)
}

// referenceCentre is the minimum over points of R or R^2 that include the optimum: the mean, centres of balls around
// two or three points, and a median.
func (w *world) referenceCentre(f *syntax.Quantified) float64 {
	inner := f.Body.(*syntax.Quantified)
	guards, rest := inner.Guards()
	columns := w.columns(f.Domain.Space)
	points := [][]float64{}
	w.tuples(inner, inner.Domain.Names, func() {
		for _, g := range guards {
			if !w.holds(g) {
				return
			}
		}
		p := pick(w.z[w.bound[inner.Domain.Names[0]].row], columns)
		points = append(points, append(p, 0)[:2])
	})
	tries := slices.Clone(points)
	mean := weighted(points, func(p []float64) float64 { return 1 })
	tries = append(tries, mean)
	for _, a := range points {
		for _, b := range points {
			tries = append(tries, []float64{(a[0] + b[0]) / 2, (a[1] + b[1]) / 2})
			for _, c := range points {
				tries = append(tries, circumcentre(a, b, c))
			}
		}
	}
	median := mean
	for range 2000 { // Weiszfeld's algorithm
		median = weighted(points, func(p []float64) float64 { return 1 / (1e-12 + math.Hypot(p[0]-median[0], p[1]-median[1])) })
	}
	tries = append(tries, median)
	best := math.Inf(1)
	e := rest.(*syntax.Equality)
	for _, c := range tries {
		var all []float64
		for _, p := range points {
			d := math.Hypot(p[0]-c[0], p[1]-c[1])
			if e.Premetric == syntax.Squared {
				d *= d
			}
			all = append(all, d)
		}
		if v := aggregateOf(inner, all); v < best {
			best = v
		}
	}
	return best
}

func weighted(points [][]float64, weight func([]float64) float64) []float64 {
	sum, c := 0.0, []float64{0, 0}
	for _, p := range points {
		f := weight(p)
		sum, c[0], c[1] = sum+f, c[0]+f*p[0], c[1]+f*p[1]
	}
	if sum == 0 {
		return c
	}
	return []float64{c[0] / sum, c[1] / sum}
}

func circumcentre(a, b, c []float64) []float64 {
	bx, by, cx, cy := b[0]-a[0], b[1]-a[1], c[0]-a[0], c[1]-a[1]
	d := 2 * (bx*cy - by*cx)
	if d == 0 {
		return a
	}
	return []float64{a[0] + (cy*(bx*bx+by*by)-by*(cx*cx+cy*cy))/d, a[1] + (bx*(cx*cx+cy*cy)-cx*(bx*bx+by*by))/d}
}

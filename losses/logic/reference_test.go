package logic

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// reference computes the quantity of a formula tuple by tuple, from the tables of
// the paper.
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
		return referenceOf(q, f.Kind, w.reference(q, f.A), w.reference(q, f.B))
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
		return foldOf(f.Fold, f.Temperature, all)
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

// foldOf is a fold as the package comment writes it.
func foldOf(f syntax.Fold, t float64, all []float64) float64 {
	over := func(g func(float64) float64) (sum float64) {
		for _, a := range all {
			sum += g(a)
		}
		return sum
	}
	if len(all) == 0 {
		return map[bool]float64{false: math.Inf(1), true: 0}[f.Universal()]
	}
	least, most := slices.Min(all), slices.Max(all)
	exp := func(a float64) float64 { return math.Exp(a - most) }
	switch {
	case math.IsInf(least, 1) || f.Universal() && math.IsInf(most, 1):
		return math.Inf(1)
	case f == syntax.AnyLogExp && least > 30:
		return least - math.Log(over(func(a float64) float64 { return math.Exp(least - a) }))
	case f == syntax.AnyTanh && least > 8:
		return least - math.Log(over(func(a float64) float64 { return math.Exp(2 * (least - a)) }))/2
	case f == syntax.AllLogExp && most > 30:
		return most + math.Log(over(exp)+float64(1-len(all))*math.Exp(-most))
	}
	switch f {
	case syntax.AnyHarmonic:
		return 1 / over(func(a float64) float64 { return 1 / a })
	case syntax.AnyHarmonicSquare:
		return 1 / math.Sqrt(over(func(a float64) float64 { return 1 / (a * a) }))
	case syntax.AnyLogExp:
		return math.Abs(math.Log(-math.Expm1(over(func(a float64) float64 { return math.Log1p(-math.Exp(-a)) }))))
	case syntax.AnyTanh:
		return math.Atanh(math.Exp(over(func(a float64) float64 { return math.Log(math.Tanh(a)) })))
	case syntax.AnySoft:
		return least - t*math.Log(over(func(a float64) float64 { return math.Exp((least - a) / t) })/float64(len(all)))
	case syntax.AllLogExp:
		return math.Log1p(over(math.Expm1))
	case syntax.AllNorm:
		return math.Sqrt(over(func(a float64) float64 { return a * a }))
	case syntax.AllRoot:
		return math.Pow(over(math.Sqrt), 2)
	}
	return math.Expm1(over(math.Log1p))
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
	return map[syntax.Premetric]float64{syntax.Euclidean: math.Sqrt(squares), syntax.Squared: squares, syntax.Absolute: sum, syntax.Discrete: differ, syntax.Circular: arcs}[e.Premetric]
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

// referenceCentre is the least value at points of R or R^2 that include the best point: the mean, centres of balls
// around two or three points, and a median.
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
	for range 2000 { // Weiszfeld's
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

// referenceOf is an operation as the paper writes it, by isomorphisms to + and *.
func referenceOf(q syntax.Quantale, k syntax.Kind, a, b float64) float64 {
	iso := func(f, g func(float64) float64, a, b float64) float64 { return g(f(a) + f(b)) }
	switch k {
	case syntax.AndKind:
		switch q.And {
		case syntax.AndAdd:
			return a + b
		case syntax.AndMax:
			return math.Max(a, b)
		case syntax.AndLogExp:
			if hi := math.Max(a, b); hi > 30 {
				return hi + math.Log(1+math.Exp(math.Min(a, b)-hi)-math.Exp(-hi))
			}
			return iso(math.Expm1, math.Log1p, a, b)
		case syntax.AndNorm:
			return iso(func(x float64) float64 { return x * x }, math.Sqrt, a, b)
		case syntax.AndRoot:
			return iso(math.Sqrt, func(x float64) float64 { return x * x }, a, b)
		}
		return (1+a)*(1+b) - 1
	case syntax.OrKind:
		if math.IsInf(a, 1) || math.IsInf(b, 1) {
			return math.Min(a, b)
		}
		switch q.Or {
		case syntax.OrMin:
			return math.Min(a, b)
		case syntax.OrHarmonic:
			return iso(func(x float64) float64 { return 1 / x }, func(x float64) float64 { return 1 / x }, a, b)
		case syntax.OrHarmonicSquare:
			return iso(func(x float64) float64 { return 1 / (x * x) }, func(x float64) float64 { return 1 / math.Sqrt(x) }, a, b)
		case syntax.OrLogExp:
			return -math.Log1p(-math.Expm1(-a) * math.Expm1(-b))
		}
		return math.Atanh(math.Tanh(a) * math.Tanh(b))
	}
	switch q.Implies {
	case syntax.ImpliesMax:
		if a >= b {
			return 0
		}
		return b
	case syntax.ImpliesStrict:
		if a == 0 {
			return b
		}
		return 0
	case syntax.ImpliesLogExp:
		return math.Log1p(math.Max(math.Exp(b)-math.Exp(a), 0))
	case syntax.ImpliesNorm:
		return math.Sqrt(math.Max(b*b-a*a, 0))
	case syntax.ImpliesRoot:
		return math.Pow(math.Max(math.Sqrt(b)-math.Sqrt(a), 0), 2)
	case syntax.ImpliesProduct:
		return math.Max((1+b)/(1+a), 1) - 1
	}
	return math.Max(b-a, 0)
}

package logic

import (
	"math"
	"slices"
)

// reference computes the quantity of a formula tuple by tuple, from the tables of
// the paper.
func (w *world) reference(q Quantale, f Formula) float64 {
	if isCrisp(f) {
		if w.holds(f) {
			return 0
		}
		return math.Inf(1)
	}
	switch f := f.(type) {
	case *equality:
		return w.distance(f)
	case *scaled:
		return f.weight * w.reference(q, f.a)
	case *negation:
		a := w.reference(q, f.a)
		if q.Not == NotInverse {
			return 1 / a
		}
		return max(1-a, 0)
	case *connective:
		if f.kind == implication && isCrisp(f.a) {
			if !w.holds(f.a) {
				return 0
			}
			return w.reference(q, f.b)
		}
		return referenceOf(q, f.kind, w.reference(q, f.a), w.reference(q, f.b))
	case *quantified:
		if f.domain.set == pointSet {
			return w.referenceCentre(f)
		}
		guards, rest := f.guards()
		var all []float64
		w.tuples(f, f.domain.names, func() {
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

func aggregateOf(f *quantified, all []float64) float64 {
	if !f.universal {
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
	return []float64{sum / n, slices.Max(all), sum, squares / n}[f.aggregate]
}

func (w *world) tuples(f *quantified, names []string, visit func()) {
	if len(names) == 0 {
		visit()
		return
	}
	defer delete(w.bound, names[0])
	for _, t := range w.things(f, names[0]) {
		w.bound[names[0]] = t
		w.tuples(f, names[1:], visit)
	}
}

func (w *world) distance(e *equality) float64 {
	a, b := w.term(e.a), w.term(e.b)
	squares, sum, differ, arcs := 0.0, 0.0, 0.0, 0.0
	for i := range max(len(a.vector), len(b.vector)) {
		d := math.Abs(a.at(i) - b.at(i))
		squares += d * d
		sum += d
		if d > 0 {
			differ++
		}
		arcs += math.Abs(math.Remainder(d, e.period))
	}
	return map[Premetric]float64{Euclidean: math.Sqrt(squares), Squared: squares, Absolute: sum, Discrete: differ, Circular: arcs}[e.premetric]
}

// referenceCentre is the least value at points of R or R^2 among which the best one
// is: the mean, centres of balls around two or three points, and a median.
func (w *world) referenceCentre(f *quantified) float64 {
	inner := f.body.(*quantified)
	guards, rest := inner.guards()
	columns := w.columns(f.domain.space)
	points := [][]float64{}
	w.tuples(inner, inner.domain.names, func() {
		for _, g := range guards {
			if !w.holds(g) {
				return
			}
		}
		p := pick(w.z[w.bound[inner.domain.names[0]].row], columns)
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
	e := rest.(*equality)
	for _, c := range tries {
		var all []float64
		for _, p := range points {
			d := math.Hypot(p[0]-c[0], p[1]-c[1])
			if e.premetric == Squared {
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
func referenceOf(q Quantale, k kind, a, b float64) float64 {
	iso := func(f, g func(float64) float64, a, b float64) float64 { return g(f(a) + f(b)) }
	switch k {
	case conjunction:
		switch q.And {
		case AndAdd:
			return a + b
		case AndMax:
			return math.Max(a, b)
		case AndLogExp:
			return iso(math.Expm1, math.Log1p, a, b)
		case AndNorm:
			return iso(func(x float64) float64 { return x * x }, math.Sqrt, a, b)
		case AndRoot:
			return iso(math.Sqrt, func(x float64) float64 { return x * x }, a, b)
		}
		return (1+a)*(1+b) - 1
	case disjunction:
		if math.IsInf(a, 1) || math.IsInf(b, 1) {
			return math.Min(a, b)
		}
		switch q.Or {
		case OrMin:
			return math.Min(a, b)
		case OrHarmonic:
			return iso(func(x float64) float64 { return 1 / x }, func(x float64) float64 { return 1 / x }, a, b)
		case OrHarmonicSquare:
			return iso(func(x float64) float64 { return 1 / (x * x) }, func(x float64) float64 { return 1 / math.Sqrt(x) }, a, b)
		case OrLogExp:
			return -math.Log1p(-math.Expm1(-a) * math.Expm1(-b))
		}
		return math.Atanh(math.Tanh(a) * math.Tanh(b))
	}
	switch q.Implies {
	case ImpliesMax:
		if a >= b {
			return 0
		}
		return b
	case ImpliesLogExp:
		return math.Log1p(math.Max(math.Exp(b)-math.Exp(a), 0))
	case ImpliesNorm:
		return math.Sqrt(math.Max(b*b-a*a, 0))
	case ImpliesRoot:
		return math.Pow(math.Max(math.Sqrt(b)-math.Sqrt(a), 0), 2)
	case ImpliesProduct:
		return math.Max((1+b)/(1+a), 1) - 1
	}
	return math.Max(b-a, 0)
}

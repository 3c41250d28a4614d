package logic

import (
	"fmt"
	"math"
	"math/big"
	"slices"
)

// demand is a value that a function must have: at an argument, a row of numbers or labels.
type demand struct{ at, value []float64 }

// satisfiable reports whether there are functions that make a formula true. As Compile admits no function in two fits,
// the parts of a formula can be satisfied separately.
func (w *world) satisfiable(f Formula, maps map[string]Function) bool {
	if !slices.ContainsFunc(applications(f), func(a *application) bool { _, ok := maps[a.function]; return ok }) {
		return w.holds(f)
	}
	switch f := f.(type) {
	case *connective:
		switch f.kind {
		case conjunction:
			return w.satisfiable(f.a, maps) && w.satisfiable(f.b, maps)
		case disjunction:
			return w.satisfiable(f.a, maps) || w.satisfiable(f.b, maps)
		}
		return !w.holds(f.a) || w.satisfiable(f.b, maps)
	case *scaled:
		return w.satisfiable(f.a, maps)
	case *quantified:
		if f.domain.set == functionSet {
			return w.satisfiable(f.body, withFunctions(maps, f.domain))
		}
		if _, rest := f.guards(); f.universal && !hasQuantifier(rest) {
			return w.fits(f, maps)
		}
		return w.each(f, f.domain.names, func() bool { return w.satisfiable(f.body, maps) })
	}
	panic(fmt.Sprintf("logic: no function can be sought in %s", textOf(f)))
}

func withFunctions(maps map[string]Function, d Domain) map[string]Function {
	all := map[string]Function{}
	for name, f := range maps {
		all[name] = f
	}
	for _, f := range d.functions {
		all[f.Name] = f.Function
	}
	return all
}

// each tries all assignments of the variables of a quantifier.
func (w *world) each(f *quantified, names []string, holds func() bool) bool {
	if len(names) == 0 {
		return holds()
	}
	defer delete(w.bound, names[0])
	for _, t := range w.things(f, names[0]) {
		w.bound[names[0]] = t
		if w.each(f, names[1:], holds) != f.universal {
			return !f.universal
		}
	}
	return f.universal
}

// fits reports whether there are functions with the values that a quantifier over rows demands.
func (w *world) fits(f *quantified, maps map[string]Function) bool {
	demands := map[string][]demand{}
	if !w.each(f, f.domain.names, func() bool { return w.collect(f.body, maps, demands) }) {
		return false
	}
	for name, all := range demands {
		if !exactly(maps[name].Class, all) {
			return false
		}
	}
	return true
}

// collect lists the values that a formula demands of functions, and reports whether the rest of the formula is true.
func (w *world) collect(f Formula, maps map[string]Function, demands map[string][]demand) bool {
	switch f := f.(type) {
	case *connective:
		if f.kind == implication {
			return !w.holds(f.a) || w.collect(f.b, maps, demands)
		}
		return w.collect(f.a, maps, demands) && w.collect(f.b, maps, demands)
	case *scaled:
		return w.collect(f.a, maps, demands)
	case *equality:
		a, other := bare(f.a), f.b
		if _, ok := a.(*application); !ok {
			a, other = bare(f.b), f.a
		}
		if a, ok := a.(*application); ok {
			d, x, t := demand{}, w.term(a.a), w.term(other)
			if d.at = x.vector; maps[a.function].Class == AnyFunction {
				d.at = x.labels
			}
			for k := range w.columns(maps[a.function].To.access(0)) {
				d.value = append(d.value, t.at(k))
			}
			demands[a.function] = append(demands[a.function], d)
			return true
		}
	}
	return w.holds(f)
}

// exactly reports whether a function of a class has the values demanded, in exact arithmetic. A function of levels, or
// a network of enough units, has them if equal arguments have equal values. An affine or linear map has them if the
// values add nothing to the rank of the arguments. An isometry has them if all distances of values are equal to the
// distances of arguments.
func exactly(c Class, all []demand) bool {
	for _, d := range all {
		if slices.ContainsFunc(slices.Concat(d.at, d.value), func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
			return false
		}
	}
	switch c {
	case AnyFunction, MLP:
		for i, d := range all {
			for _, e := range all[:i] {
				if slices.Equal(d.at, e.at) && !slices.Equal(d.value, e.value) {
					return false
				}
			}
		}
		return true
	case Isometry:
		for i, d := range all {
			for _, e := range all[:i] {
				if distanceOf(d.at, e.at).Cmp(distanceOf(d.value, e.value)) != 0 {
					return false
				}
			}
		}
		return true
	}
	var arguments, both [][]*big.Rat
	for _, d := range all {
		var row []*big.Rat
		if c == Affine {
			row = append(row, big.NewRat(1, 1))
		}
		row = append(row, rational(d.at)...)
		arguments = append(arguments, slices.Clone(row))
		both = append(both, append(row, rational(d.value)...))
	}
	return rank(arguments) == rank(both)
}

func rational(x []float64) (r []*big.Rat) {
	for _, v := range x {
		r = append(r, new(big.Rat).SetFloat64(v))
	}
	return r
}

// distanceOf returns the squared distance of two points.
func distanceOf(a, b []float64) *big.Rat {
	sum, x, y := new(big.Rat), rational(a), rational(b)
	for k := range x {
		d := new(big.Rat).Sub(x[k], y[k])
		sum.Add(sum, d.Mul(d, d))
	}
	return sum
}

// rank returns the rank of a matrix, by elimination. It changes the rows.
func rank(rows [][]*big.Rat) (r int) {
	if len(rows) == 0 {
		return 0
	}
	for c := range rows[0] {
		pivot := slices.IndexFunc(rows[r:], func(row []*big.Rat) bool { return row[c].Sign() != 0 })
		if pivot < 0 {
			continue
		}
		rows[r], rows[r+pivot] = rows[r+pivot], rows[r]
		for _, row := range rows[r+1:] {
			if row[c].Sign() == 0 {
				continue
			}
			f := new(big.Rat).Quo(row[c], rows[r][c])
			for k := c; k < len(row); k++ {
				row[k] = new(big.Rat).Sub(row[k], new(big.Rat).Mul(f, rows[r][k]))
			}
		}
		if r++; r == len(rows) {
			break
		}
	}
	return r
}

// related reports whether an equality of a formula applies functions twice.
func related(f Formula) bool {
	switch f := f.(type) {
	case *connective:
		return related(f.a) || related(f.b)
	case *negation:
		return related(f.a)
	case *scaled:
		return related(f.a)
	case *quantified:
		return related(f.body)
	case *equality:
		return len(applications(f)) > 1
	}
	return false
}

package metrics

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// DLSBDWorkshop is the earlier form of D_LSBD (Pérez Rey et al. 2020, equations 6 to 12). Code columns are divided by
// their standard deviation before the principal components are taken. The components are scaled by 1/sqrt(2) alone, and
// subgroups are summed. The subtracted mean is over the subgroup's levels, as in the paper's text, not over the other
// subgroups' levels, as in its equation 6.
//
// Without Whiten this is equation 8 to the letter, and contradicts the rest of the paper. It is not invariant under
// linear maps, and columns that carry a factor add up, which can lift one subgroup above 1. Whiten divides the
// components by their standard deviations (n degrees of freedom). Perfect codes then stay at 0 under invertible linear
// maps, as section 5 reports. The mean square of a subgroup's points is 1, as equation 18 demands. The value is at most
// the number of subgroups. In either form noise in columns that do not depend on a factor is enlarged.
type DLSBDWorkshop struct {
	Omega       int              `yaml:"omega" doc:"largest |omega| tried: turns of the code per turn of the factor, all integers from -omega to omega"`
	Aggregate   factor.Aggregate `yaml:"aggregate" doc:"how subgroups are joined: sum as in the paper, or mean"`
	SharedOmega bool             `yaml:"shared_omega" doc:"use one omega for all objects instead of the best one for each"`
	Whiten      bool             `yaml:"whiten" doc:"divide the two principal components by their standard deviations, as equation 18 and the invariance of section 5 require; false: equation 8 literally"`
}

// Needs returns AllLevels.
func (*DLSBDWorkshop) Needs() Needs { return AllLevels }

// Better returns LowerIsBetter.
func (*DLSBDWorkshop) Better() Direction { return LowerIsBetter }

// Range implements Bounded.
func (*DLSBDWorkshop) Range() (least, most float64) { return 0, math.Inf(1) }

// Validate checks the settings.
func (m *DLSBDWorkshop) Validate() error { return validTurns(m.Omega, m.Aggregate) }

// Suits implements Selective.
func (*DLSBDWorkshop) Suits(in *Input) error { return suitsTurning(in) }

// Compute returns the same parts as DLSBD.
func (m *DLSBDWorkshop) Compute(ctx context.Context, in *Input) (Result, error) {
	plane := standardisedPlane
	if m.Whiten {
		plane = standardisedWhitenedPlane
	}
	return turning{m.Omega, m.Aggregate, m.SharedOmega, plane, false}.compute(ctx, in)
}

func validTurns(omega int, a factor.Aggregate) error {
	switch {
	case omega < 1 || omega > 1000:
		return config.Invalid("omega", "%d is out of range; want 1 to 1000", omega)
	case a != factor.Mean && a != factor.Sum:
		return config.Invalid("aggregate", "%v; want mean or sum", a)
	}
	return nil
}

// suitsTurning returns an error if a combination of the circular factors' levels is missing or repeated.
func suitsTurning(in *Input) error {
	_, err := arrange(in, false)
	return err
}

// turning holds the settings that the forms of D_LSBD share.
type turning struct {
	omega     int
	aggregate factor.Aggregate
	shared    bool
	plane     plane
	penalise  bool // add the dispersion of noise for components that vanish
}

func (m turning) compute(ctx context.Context, in *Input) (Result, error) {
	if err := validTurns(m.omega, m.aggregate); err != nil {
		return Result{}, err
	}
	if err := in.Validate(); err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	t, err := arrange(in, false)
	if err != nil {
		return Result{}, err
	}
	r, err := m.collect(t.circles, t.objectNames, func(k int) (*measured, error) { return m.subgroup(ctx, in.Codes, t, k) })
	r.Basis = turningBasis(slices.Repeat([]int{t.cells}, t.objects), m.omega)
	return r, err
}

// turningBasis returns the basis of objects, given their numbers of rows. Fewer rows than 2 omega + 1 fit some number
// of turns by chance.
func turningBasis(objects []int, omega int) (b Basis) {
	b.count(objects)
	for _, n := range objects {
		b.Rows += n
	}
	if least := 2*omega + 1; b.Smallest < least {
		b.want(least, "rows of each object")
	}
	return b
}

// collect measures the subgroups of all factors and joins them to a result.
func (m turning) collect(factors []factor.Factor, names []string, subgroup func(k int) (*measured, error)) (Result, error) {
	subgroups := Part{Name: "per_subgroup"}
	turns := Part{Name: "omega"}
	objects := Part{Name: "per_object", Labels: names, Values: make([]float64, len(names))}
	var notes []string
	for k, f := range factors {
		s, err := subgroup(k)
		if err != nil {
			return Result{}, fmt.Errorf("factor %q: %w", f.Name, err)
		}
		subgroups.Labels = append(subgroups.Labels, f.Name)
		subgroups.Values = append(subgroups.Values, factor.Mean.Of(s.values))
		turns.Values = append(turns.Values, factor.Mean.Of(s.turns))
		for o, v := range s.values {
			if objects.Values[o] += v; m.aggregate == factor.Mean && k == len(factors)-1 {
				objects.Values[o] /= float64(len(factors))
			}
		}
		notes = append(notes, s.notes(f.Name)...)
	}
	turns.Labels = subgroups.Labels
	r := Result{Value: m.aggregate.Of(subgroups.Values), Parts: []Part{subgroups, turns}, Notes: notes}
	if len(names) > 1 {
		r.Parts = append(r.Parts, objects)
	}
	return r, nil
}

// measured holds D_k and turns of one subgroup, by object.
type measured struct {
	values, turns []float64
	constant      int     // objects with codes that do not depend on the factor
	line          int     // objects with codes that the factor moves along a line
	near          int     // objects with an arbitrary plane
	cover         float64 // least part of the group's moments that the rows of an object have
	remark        string
}

// leastCover is a part of a group's moments; below it a note says that the rows cover little of the group.
const leastCover = 0.1

func (s *measured) notes(factor string) (notes []string) {
	of := counted(max(s.constant, s.line), len(s.values))
	if s.constant > 0 {
		notes = append(notes, fmt.Sprintf("codes do not depend on %s%s", factor, of))
	}
	if s.line > 0 {
		notes = append(notes, fmt.Sprintf("codes depend on %s along a line only%s", factor, of))
	}
	if s.near > 0 {
		notes = append(notes, fmt.Sprintf("the plane of the codes for %s is arbitrary: the next principal component has nearly the same standard deviation%s; name its columns (codes, or --blocks of eval)", factor, counted(s.near, len(s.values))))
	}
	if s.cover < leastCover {
		notes = append(notes, fmt.Sprintf("the rows cover a part of %s; the value continues their fit to the whole group, so noise counts for more", factor))
	}
	if s.remark != "" {
		notes = append(notes, s.remark)
	}
	return notes
}

// counted formats a count of objects for a note, or returns "" for one object.
func counted(count, objects int) string {
	if objects == 1 {
		return ""
	}
	return fmt.Sprintf(" (%d of %d objects)", count, objects)
}

// subgroup measures every object along circle k.
func (m turning) subgroup(ctx context.Context, codes Matrix, t *torus, k int) (*measured, error) {
	codes, _ = codes.Sized(matrix.LeastSquared, matrix.MostSquared)
	size := t.circles[k].Size
	s := &measured{values: make([]float64, t.objects), turns: make([]float64, t.objects), cover: 1}
	tolerance := 1e-12 * rootMeanSquare(codes.Data)
	z := make([]float64, t.cells*codes.Cols)
	searches := make([]*search, t.objects)
	for o := range t.objects {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t.centred(codes, o, k, z)
		if rotations := t.circles[k].Rotations; rotations != nil {
			inner := t.inner(k)
			err := s.rotated(o, z, codes.Cols, tolerance, func(i int) *[9]float64 { return &rotations[i/inner%size] })
			if err != nil {
				return nil, err
			}
			continue
		}
		p, err := m.plane(z, t.cells, codes.Cols, tolerance)
		if err != nil {
			return nil, err
		}
		if p.near {
			s.near++
		}
		switch p.rank {
		case 0:
			s.constant++
		case 1:
			s.line++
		}
		searches[o] = newSearch(p.points, p.rank, size, t.inner(k), m.omega)
	}
	if t.circles[k].Rotations != nil {
		return s, nil
	}
	shared := -1
	if m.shared {
		shared = bestTurns(meanCurve(searches))
	}
	for o, search := range searches {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w := shared
		if w < 0 {
			w = bestTurns(search.curve)
		}
		s.turns[o] = float64(w)
		s.values[o] = search.dispersion(w)
		switch n := float64(t.cells); {
		case m.penalise && search.rank == 0:
			s.values[o] = 1
		case m.penalise && search.rank == 1 && size > 2: // two levels lie on a line at best
			s.values[o] += (n - 1) / (2 * n)
		}
	}
	return s, nil
}

// meanCurve returns the mean over objects of their curves.
func meanCurve(searches []*search) []float64 {
	mean := make([]float64, len(searches[0].curve))
	for _, s := range searches {
		for w, v := range s.curve {
			mean[w] += v / float64(len(searches))
		}
	}
	return mean
}

// bestTurns returns the index of the least value; among values within rounding, the first.
func bestTurns(curve []float64) int {
	best := 0
	for w, v := range curve {
		if v < curve[best]-1e-12 {
			best = w
		}
	}
	return best
}

func rootMeanSquare(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v * v / float64(len(x))
	}
	return math.Sqrt(sum)
}

package metrics

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/internal/lsbd"
)

// DLSBD is the metric D_LSBD of Tonnaer et al. 2022, equations 6 and 7 and section 4.3, for any number K of circular
// factors (subgroups SO(2)) and factors of rotations in space (SO(3)). The rows may be any sample, in any order; their
// factors give their group elements. If they contain every combination of these factors' levels exactly once, the
// computation is the one in section 4.3 and in the authors' code. For subgroup k, with the angle theta = 2 pi
// level/Size:
//
//  1. subtract from the codes their mean over the levels of factor k;
//  2. project on the first two principal components;
//  3. divide each component by sqrt(2) times its standard deviation (n-1 degrees of
//     freedom), so that perfect codes stay perfect under invertible linear maps;
//  4. D_k = min over whole numbers w, |w| <= Omega, of the mean squared distance of the points, rotated back by w
//     theta, from their mean.
//
// For other samples, such as angles of an arc or any set of rotations, the metric estimates the same number. The codes
// are fitted by least squares to cosine and sine of w theta, or to the elements of the rotation matrix. Moments are
// taken over the whole group even if the rows cover only a part of it, so perfect codes score 0 on every sample. The
// mean of rows with equal values of all other factors is subtracted. If more than half of the rows have no such
// partner, an effect of each other factor is subtracted instead. An effect is any function of the factor's levels, or
// its harmonics up to Omega if these are fewer. A sum of effects treats interactions of the other factors as noise. A
// note says when the rows have less than a tenth of the group's second moment in some direction: noise then has more
// weight.
//
// For rotations g, the steps take 3 components, divided by sqrt(3) times the standard deviation. D_k is the minimum,
// over orthogonal Q, of the mean squared distance of g^T Q^T p from its mean: the irreducible representations on three
// columns are Q g Q^T. A grid of rotations with the moments of the whole group, such as the rotations of a regular
// solid, is measured as in section 4.3. Other rotations are treated as a sample.
//
// The value is the mean of the D_k, without units. It is 0 for codes that rotate with every factor in a separate plane,
// and about 1 for codes without any such structure. The paper's tables for K = 2 contain the sum (values up to 2). Step
// 3 is not in the paper's text but in its authors' code.
//
// Each combination of the other factors' levels is an object. Every object is measured separately, and D_k is the mean
// over objects (appendix E). In a sample, objects with fewer than 5 different angles (20 rotations) are left out.
// Angles closer than a hundredth of their range count as one. If a factor has fewer levels, but they are equal steps of
// a full turn, all of them suffice. With Objects together, all objects have one plane in common, and each object has
// its own centre.
//
// A principal component counts as noise, not as a perfect fit, if its standard deviation is below 1e-12 of the codes'
// root mean square. It adds 1/2 (n-1)/n (1/3 for rotations), as noise with the variance of step 3 does. If all
// components are that small, the codes do not depend on the factor, and D_k = 1. (Equation 7 gives 0 for constant
// codes, because a constant map is equivariant and has norm 0 by appendix C. Such codes say nothing about the factor,
// so here they count as codes without structure.)
//
// If the standard deviations of the last component used and of the next one differ by less than a tenth, the plane is
// arbitrary, and so is the value. Codes that follow one factor on two circles of equal radius are perfect, but score
// .16 to .70. Codes with known spaces ([Input.Spaces]) are then measured in each space, and the smallest D_k counts,
// with a note; without known spaces, a note warns. Equation 7 also allows sums of representations, which need more
// columns than one plane has. If such a sum lowers D_k by more than .02, a note gives its name and its D_k; the value
// stays D_k of the plane, as in section 4.3. The sum uses the principal components that the factor changes
// significantly. The search is greedy: it takes the representation (up to Omega turns, or degrees 1 and 2) that
// explains most, then the next one in the remaining components. Codes names the columns of a factor; by default a
// factor has all columns.
//
// Bootstrap adds a 95 % percentile interval by the Bayesian bootstrap of Rubin (1981). Rows get random, exponentially
// distributed weights; columns and turns stay the same as for the value.
type DLSBD struct {
	allLevels
	loss

	Omega       int              `yaml:"omega" doc:"largest |omega| (code turns per factor turn); all integers from -omega to omega are tried"`
	Aggregate   factor.Aggregate `yaml:"aggregate" doc:"aggregate over subgroups: mean, or sum as in the paper's tables"`
	SharedOmega bool             `yaml:"shared_omega" doc:"use one omega for all objects; false: the best omega of each object"`
	Codes       factor.SubCodes  `yaml:"codes" doc:"columns of each factor's sub-code, such as {row: [0, 1]}; a factor not listed has all columns"`
	Spaces      UseSpaces        `yaml:"spaces" doc:"measure each latent space separately and take the factor's best: where-arbitrary (if nearly equal principal variances leave the plane undetermined), always or never"`
	Objects     Objects          `yaml:"objects" doc:"objects are combinations of non-angle factors, measured: each (separately, then averaged) or together (one plane for all, one centre per object)"`
	Bootstrap   int              `yaml:"bootstrap" doc:"bootstrap samples for a 95 % interval; 0: no interval"`
}

// UseSpaces says when each space of a code is measured separately.
type UseSpaces string

// Objects says how objects are measured.
type Objects string

// The ways to measure objects; empty means separately.
const (
	spacesWhereArbitrary UseSpaces = "where-arbitrary"
	spacesAlways         UseSpaces = "always"
	spacesNever          UseSpaces = "never"

	objectsEach     Objects = "each"
	objectsTogether Objects = "together"
)

const maxBootstrap = 100000

// SetCodes implements SubCoded. A factor without named columns has all columns.
func (m *DLSBD) SetCodes(c factor.SubCodes, _ Assign) {
	if c != nil {
		m.Codes = c
	}
}

func (m *DLSBD) Validate() error {
	return cmp.Or(
		oneOfOrNone("spaces", "choice", m.Spaces, spacesWhereArbitrary, spacesAlways, spacesNever),
		oneOfOrNone("objects", "choice", m.Objects, objectsEach, objectsTogether),
		rule(m.Bootstrap >= 0 && m.Bootstrap <= maxBootstrap, "bootstrap",
			"%d is out of range; want 0 (none) to %d draws", m.Bootstrap, maxBootstrap),
		validTurns(m.Omega, m.Aggregate),
	)
}

func (m *DLSBD) Suits(in *Input) error {
	if _, err := m.Codes.Blocks("codes", in.codeFactors(), in.Codes.Cols); err != nil {
		return err
	}
	for s, space := range in.Spaces {
		if len(space) == 0 || slices.Min(space) < 0 || slices.Max(space) >= in.Codes.Cols {
			return fmt.Errorf("space %d has the columns %v; want some of 0 to %d", s, space, in.Codes.Cols-1)
		}
	}
	if !slices.ContainsFunc(in.Factors, factor.Factor.Turns) {
		return MissingCircular
	}
	if _, err := lsbd.NewGrid(in.table(), true); err == nil {
		return nil
	}
	_, err := m.sample(in)
	return err
}

// sample returns the rows as a sample, even if they form a grid.
func (m *DLSBD) sample(in *Input) (*lsbd.Sample, error) {
	return lsbd.NewSample(in.table(), m.settings())
}

func (m *DLSBD) settings() lsbd.Settings {
	return lsbd.Settings{Omega: m.Omega, Shared: m.SharedOmega, Together: m.Objects == objectsTogether}
}

// Compute returns D_LSBD with the parts per_subgroup and omega. omega is the mean of |w| over objects, or 1 for
// rotations; the sign of w depends on the arbitrary orientation of principal axes. Several objects add the part
// per_object, and a bootstrap adds the interval.
func (m *DLSBD) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	d, err := lsbd.New(in.table(), m.settings())
	if err != nil {
		return Result{}, err
	}
	chosen := make([]*lsbd.Subgroup, len(d.Factors))
	spaces := in.Spaces
	if m.Spaces == spacesNever {
		spaces = nil
	}
	r, err := collect(d, m.Aggregate, func(k int) (*lsbd.Measured, error) {
		var err error
		chosen[k], err = d.Choose(ctx, in.Codes, k, m.Codes[d.Factors[k].Name], spaces, m.Spaces == spacesAlways)
		if err != nil {
			return nil, err
		}
		return chosen[k].Measured, nil
	})
	if err != nil {
		return Result{}, err
	}
	r.Notes = append(r.Notes, d.Notes...)
	sample, sampleErr := m.sample(in)
	if sampleErr == nil {
		for k, c := range chosen {
			if note := sample.SumNote(in.Codes.Columns(c.Columns), k, c.Values); note != "" {
				r.Notes = append(r.Notes, note)
			}
		}
	}
	r.Basis = turningBasis(d.Objects, m.Omega)
	if n := in.Codes.Rows - r.Basis.Rows; n > 0 {
		r.Basis.Excluded = []Exclusion{{Rows: n, Why: whyObject}}
	}
	if m.Bootstrap == 0 {
		return r, nil
	}
	if sampleErr == nil && in.Stream == nil {
		sampleErr = errNoStream
	}
	if sampleErr != nil {
		return Result{}, fmt.Errorf("bootstrap: %w", sampleErr)
	}
	low, high, err := sample.Bootstrap(ctx, in.Codes, chosen, m.Aggregate, m.Bootstrap, in.Stream)
	if err != nil {
		return Result{}, fmt.Errorf("bootstrap: %w", err)
	}
	r.Parts = append(r.Parts, Part{Name: "interval", Labels: []string{"2.5 %", "97.5 %"}, Values: []float64{low, high}})
	return r, nil
}

// turningBasis returns the basis of the value. Fewer than 2 omega + 1 rows of an object fit some turns by chance.
func turningBasis(objects []int, omega int) (b Basis) {
	b.countGroups(objects)
	for _, n := range objects {
		b.Rows += n
	}
	if minRows := 2*omega + 1; b.Smallest < minRows {
		b.tooFew(minRows, "rows of each object")
	}
	return b
}

// collect measures the subgroups of all factors and combines them into a result.
func collect(d *lsbd.Design, a factor.Aggregate, subgroup func(k int) (*lsbd.Measured, error)) (Result, error) {
	subgroups := Part{Name: "per_subgroup"}
	turns := Part{Name: "omega"}
	objects := Part{Name: "per_object", Labels: d.Names, Values: make([]float64, len(d.Names))}
	var notes []string
	for k, f := range d.Factors {
		s, err := subgroup(k)
		if err != nil {
			return Result{}, fmt.Errorf("factor %q: %w", f.Name, err)
		}
		subgroups.add(f.Name, factor.Mean.Of(s.Values))
		turns.add(f.Name, factor.Mean.Of(s.Turns))
		for o, v := range s.Values {
			if objects.Values[o] += v; a == factor.Mean && k == len(d.Factors)-1 {
				objects.Values[o] /= float64(len(d.Factors))
			}
		}
		notes = append(notes, s.Notes(f.Name)...)
	}
	r := Result{Value: a.Of(subgroups.Values), Parts: []Part{subgroups, turns}, Notes: notes}
	if len(d.Names) > 1 {
		r.Parts = append(r.Parts, objects)
	}
	return r, nil
}

// DLSBDWorkshop is the earlier form of D_LSBD (Pérez Rey et al. 2020, equations 6 to 12). Code columns are divided by
// their standard deviation before the principal components are computed. The components are only scaled by 1/sqrt(2),
// and subgroups are summed. The subtracted mean is over the levels of the subgroup, as in the paper's text. Its
// equation 6 takes the mean over the levels of the other subgroups.
//
// Without Whiten this is exactly equation 8, which contradicts the rest of the paper. It is not invariant under linear
// maps. Several columns that carry the same factor add up, so a subgroup can exceed 1. Whiten divides the components by
// their standard deviations (n degrees of freedom). Perfect codes then stay at 0 under invertible linear maps, as
// section 5 reports. The mean square of a subgroup's points is 1, as equation 18 requires. The value is at most the
// number of subgroups. Both forms amplify noise in columns that do not depend on a factor.
type DLSBDWorkshop struct {
	allLevels
	loss

	Omega       int              `yaml:"omega" doc:"largest |omega| (code turns per factor turn); all integers from -omega to omega are tried"`
	Aggregate   factor.Aggregate `yaml:"aggregate" doc:"aggregate over subgroups: sum as in the paper, or mean"`
	SharedOmega bool             `yaml:"shared_omega" doc:"use one omega for all objects; false: the best omega of each object"`
	Whiten      bool             `yaml:"whiten" doc:"divide both principal components by their standard deviations, as equation 18 and section 5's invariance require; false: equation 8 literally"`
}

func (m *DLSBDWorkshop) Validate() error { return validTurns(m.Omega, m.Aggregate) }

func (m *DLSBDWorkshop) Suits(in *Input) error {
	_, err := m.design(in)
	return err
}

func (m *DLSBDWorkshop) design(in *Input) (*lsbd.Design, error) {
	if !slices.ContainsFunc(in.Factors, func(f factor.Factor) bool { return f.Kind == factor.Circular }) {
		return nil, MissingCircular
	}
	s := lsbd.Settings{Form: lsbd.Standardised, Omega: m.Omega, Shared: m.SharedOmega}
	if m.Whiten {
		s.Form = lsbd.StandardisedWhitened
	}
	return lsbd.New(in.table(), s)
}

// Compute returns the same parts as DLSBD.
func (m *DLSBDWorkshop) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	d, err := m.design(in)
	if err != nil {
		return Result{}, err
	}
	r, err := collect(d, m.Aggregate, func(k int) (*lsbd.Measured, error) { return d.Measure(ctx, in.Codes, k) })
	r.Basis = turningBasis(d.Objects, m.Omega)
	return r, err
}

func validTurns(omega int, a factor.Aggregate) error {
	return cmp.Or(inRange("omega", omega, 1, 1000), rule(a == factor.Mean || a == factor.Sum, "aggregate",
		"%v; want mean or sum", a))
}

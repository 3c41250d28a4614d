package metrics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
)

// turnedScatter is the D_k of a circular factor for one omega w (Tonnaer et al. 2022, equations 6 and 7, section 4.3).
// Each of n whitened points p_i is turned back by w times the angle theta_i of its level; the value is the mean squared
// distance of the points from their mean,
//
//	1/n sum_i |q_i - 1/n sum_j q_j|^2,  q_i = R(w theta_i)^T p_i
//
// where angle returns sine and cosine of w theta_i. D_k is the least over w. Two passes make it exact near 0.
// [rotationScatter] is the same for rotations in space.
func turnedScatter(points [][2]float64, angle func(i int) (sin, cos float64)) float64 {
	n := float64(len(points))
	var mx, my, sum float64
	for i, p := range points {
		sin, cos := angle(i)
		x, y := turnBack(p, sin, cos)
		mx, my = mx+x/n, my+y/n
	}
	for i, p := range points {
		sin, cos := angle(i)
		x, y := turnBack(p, sin, cos)
		sum += (x-mx)*(x-mx) + (y-my)*(y-my)
	}
	return sum / n
}

// turnBack is R^T p for the rotation R of a plane by an angle with the given sine and cosine.
func turnBack(p [2]float64, sin, cos float64) (x, y float64) {
	return cos*p[0] + sin*p[1], cos*p[1] - sin*p[0]
}

// DLSBD is the metric D_LSBD of Tonnaer et al. 2022, equations 6 and 7 and section 4.3, for any number K of circular
// factors (subgroups SO(2)) and factors of rotations in space (SO(3)). The rows may be any sample, in any order; their
// factors give their group elements. If they cover every combination of these factors' levels once, the value is the
// one in section 4.3 and in its public code. For subgroup k, with angle theta = 2 pi level/Size:
//
//  1. subtract from the codes their mean over the levels of factor k;
//  2. project on the first two principal components;
//  3. divide each component by sqrt(2) times its standard deviation (n-1 degrees of
//     freedom), so that perfect codes stay perfect under invertible linear maps;
//  4. D_k = min over whole numbers w, |w| <= Omega, of the mean squared distance of
//     the points, turned back by w theta, to their mean.
//
// Other samples estimate the same number, also angles of an arc and any set of rotations. The codes are fitted to
// cosine and sine of w theta, or to the elements of the rotation, by least squares. The moments belong to the whole
// group even if the rows cover a part of it, so perfect codes score 0 on every sample. Rows that share all other
// factors lose their mean. If fewer than half of the rows share them with another row, an effect of each other factor
// is subtracted. The effect is any function of the factor's levels, or its harmonics up to Omega turns if these are
// fewer. A sum of effects treats the joint effect of the other factors as noise. A note says if rows cover a direction
// of the group by less than a tenth: noise then counts for more.
//
// For rotations g the steps take 3 components, divided by sqrt(3) times the standard deviation. D_k is the least mean
// squared distance of g^T Q^T p to its mean over orthogonal Q: the irreducible representations on three columns are Q g
// Q^T. A grid of rotations with the moments of all rotations, such as the rotations of a regular solid, is measured as
// in section 4.3. Other rotations are a sample.
//
// The value is the mean of the D_k, without units. It is 0 for codes that turn with every factor in a separate plane,
// and about 1 for codes without any such structure. The paper's tables for K = 2 hold the sum (values up to 2). Step 3
// is not in the paper's text but in its authors' code.
//
// Combinations of the other factors' levels are objects. Each object is measured separately, and the D_k are averaged
// over objects (appendix E). Objects of a sample with fewer than 5 different angles (20 rotations) are left out. With
// Objects together, all objects share one plane, and each has a centre.
//
// A principal component with a standard deviation below 1e-12 of the codes' root mean square counts as noise, not as a
// perfect fit. It adds 1/2 (n-1)/n (1/3 for rotations), as noise with the variance of step 3 does. If all are that
// small, the codes do not depend on the factor, and D_k = 1. (Equation 7 gives 0 for constant codes, with norm 0 by
// appendix C: a constant map is equivariant. It says nothing of the factor, so it counts as no structure here.)
//
// The plane is arbitrary, and so is the value, if the standard deviations of the last component taken and the next
// differ by less than a tenth. Codes on two circles of equal radius for one factor are perfect, and score .16 to .70.
// Codes with known spaces ([Input.Spaces]) are then measured in each space, and the least D_k counts, with a note;
// otherwise a note warns. Equation 7 also allows sums of representations, in more columns than one plane has. If such a
// sum leaves less than D_k, by .02, a note gives its name and remainder; the value stays the plane's, as in section
// 4.3. The sum takes the principal components in which the factor moves the codes significantly. It takes first the
// representation (up to Omega turns, or degrees 1 and 2) that explains most, then the next in the remaining components.
// Codes names the columns of a factor, instead of all.
//
// Bootstrap adds a percentile interval of 95 % by the Bayesian bootstrap of Rubin (1981). Rows get random weights,
// exponentially distributed; columns and turns stay the same as for the value.
type DLSBD struct {
	Omega       int              `yaml:"omega" doc:"largest |omega| tried: turns of the code per turn of the factor, all integers from -omega to omega"`
	Aggregate   factor.Aggregate `yaml:"aggregate" doc:"how subgroups are joined: mean, or sum as in the paper's tables"`
	SharedOmega bool             `yaml:"shared_omega" doc:"use one omega for all objects instead of the best one for each"`
	Codes       factor.SubCodes  `yaml:"codes" doc:"columns of each factor's sub-code, such as {row: [0, 1]}; a factor that is not named has all columns"`
	Spaces      UseSpaces        `yaml:"spaces" doc:"whether to measure each latent space of a model by itself and take the best for a factor: where-arbitrary (if principal components of nearly equal variance do not determine the plane), always or never"`
	Objects     Objects          `yaml:"objects" doc:"how combinations of the factors that are no angles (objects) are measured: each (by itself, then averaged) or together (one plane for all, a centre for each)"`
	Bootstrap   int              `yaml:"bootstrap" doc:"bootstrap samples for a 95 % interval; 0: no interval"`
}

// UseSpaces is the condition for measuring each space of a code separately.
type UseSpaces string

// Objects says how objects are measured.
type Objects string

// The ways; empty is the first.
const (
	SpacesWhereArbitrary UseSpaces = "where-arbitrary"
	SpacesAlways         UseSpaces = "always"
	SpacesNever          UseSpaces = "never"

	ObjectsEach     Objects = "each"
	ObjectsTogether Objects = "together"
)

const maxBootstrap = 100000

// Needs returns AllLevels.
func (*DLSBD) Needs() Needs { return AllLevels }

// Better returns LowerIsBetter.
func (*DLSBD) Better() Direction { return LowerIsBetter }

// Range implements Bounded.
func (*DLSBD) Range() (least, most float64) { return 0, math.Inf(1) }

// SetCodes implements SubCoded. A factor without named columns has all columns.
func (m *DLSBD) SetCodes(c factor.SubCodes, _ Assign) {
	if c != nil {
		m.Codes = c
	}
}

// Validate checks the settings.
func (m *DLSBD) Validate() error {
	switch {
	case !slices.Contains([]UseSpaces{"", SpacesWhereArbitrary, SpacesAlways, SpacesNever}, m.Spaces):
		return config.Invalid("spaces", "unknown choice %q; want where-arbitrary, always or never", string(m.Spaces))
	case !slices.Contains([]Objects{"", ObjectsEach, ObjectsTogether}, m.Objects):
		return config.Invalid("objects", "unknown choice %q; want each or together", string(m.Objects))
	case m.Bootstrap < 0 || m.Bootstrap > maxBootstrap:
		return config.Invalid("bootstrap", "%d is out of range; want 0 (none) to %d draws", m.Bootstrap, maxBootstrap)
	}
	return validTurns(m.Omega, m.Aggregate)
}

// Suits implements Selective.
func (m *DLSBD) Suits(in *Input) error {
	if _, err := m.Codes.Blocks("codes", in.Factors, in.Codes.Cols); err != nil {
		return err
	}
	if _, err := arrange(in, true); err == nil {
		return nil
	}
	_, err := newSampling(in, m.Objects == ObjectsTogether, m.Omega)
	return err
}

// Compute returns D_LSBD with the parts per_subgroup and omega. omega is |w|, the mean over objects, or 1 for
// rotations; the sign of w depends on the arbitrary orientation of principal axes. The part per_object comes with
// several objects, interval with a bootstrap.
func (m *DLSBD) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	d, err := m.design(ctx, in)
	if err != nil {
		return Result{}, err
	}
	chosen := make([]*subgroup, len(d.factors))
	r, err := d.turning.collect(d.factors, d.names, func(k int) (*measured, error) {
		var err error
		chosen[k], err = m.choose(in, d, k)
		if err != nil {
			return nil, err
		}
		return chosen[k].measured, nil
	})
	if err != nil {
		return Result{}, err
	}
	r.Notes = append(r.Notes, d.notes...)
	if s, err := newSampling(in, m.Objects == ObjectsTogether, m.Omega); err == nil {
		for k, c := range chosen {
			if note := s.sumNote(in.Codes.Columns(c.columns), k, c.values); note != "" {
				r.Notes = append(r.Notes, note)
			}
		}
	}
	r.Basis = turningBasis(d.objects, m.Omega)
	if n := in.Codes.Rows - r.Basis.Rows; n > 0 {
		r.Basis.Excluded = []Exclusion{{Rows: n, Why: whyObject}}
	}
	if m.Bootstrap > 0 {
		part, err := m.interval(ctx, in, chosen)
		if err != nil {
			return Result{}, err
		}
		r.Parts = append(r.Parts, part)
	}
	return r, nil
}

// design is the grid or sample of an input, ready to measure.
type design struct {
	turning
	factors []factor.Factor // that turn
	names   []string        // of objects
	measure func(codes Matrix, k int) (*measured, error)
	objects []int // rows of each object
	notes   []string
}

func (m *DLSBD) design(ctx context.Context, in *Input) (*design, error) {
	d := &design{turning: turning{m.Omega, m.Aggregate, m.SharedOmega, whitenedPlane, true}}
	t, err := arrange(in, true)
	if err == nil && t.uniform() && (m.Objects != ObjectsTogether || t.objects == 1) {
		d.factors, d.names = t.circles, t.objectNames
		d.objects = slices.Repeat([]int{t.cells}, t.objects)
		d.measure = func(codes Matrix, k int) (*measured, error) { return d.subgroup(ctx, codes, t, k) }
		return d, nil
	}
	s, err := newSampling(in, m.Objects == ObjectsTogether, m.Omega)
	if err != nil {
		return nil, err
	}
	for _, j := range s.moving {
		d.factors = append(d.factors, in.Factors[j])
	}
	d.names = s.names
	for _, rows := range s.objects {
		d.objects = append(d.objects, len(rows))
	}
	d.measure = func(codes Matrix, k int) (*measured, error) { return d.sampled(ctx, codes, s, k) }
	d.notes = append(d.notes, s.notes()...)
	return d, nil
}

// subgroup holds the measurement of one factor in some columns.
type subgroup struct {
	*measured
	columns []int // nil: all
}

// choose measures a subgroup in the columns of the settings, or in the best space of the codes.
func (m *DLSBD) choose(in *Input, d *design, k int) (*subgroup, error) {
	columns := m.Codes[d.factors[k].Name]
	s, err := d.measure(in.Codes.Columns(columns), k)
	if err != nil {
		return nil, err
	}
	if columns != nil || len(in.Spaces) < 2 || m.Spaces == SpacesNever || s.near == 0 && m.Spaces != SpacesAlways {
		return &subgroup{s, columns}, nil
	}
	best := &subgroup{}
	for _, space := range in.Spaces {
		s, err := d.measure(in.Codes.Columns(space), k)
		if err != nil {
			return nil, err
		}
		if best.measured == nil || factor.Mean.Of(s.values) < factor.Mean.Of(best.values)-1e-12 {
			best = &subgroup{s, space}
		}
	}
	best.remark = fmt.Sprintf("%s is measured in each space of the codes by itself; the best has the columns %v", d.factors[k].Name, best.columns)
	return best, nil
}

// interval returns the 95 % percentile interval of the value.
func (m *DLSBD) interval(ctx context.Context, in *Input, chosen []*subgroup) (Part, error) {
	if in.Stream == nil {
		return Part{}, errors.New("there is no stream of random numbers for the bootstrap; Evaluate sets one")
	}
	s, err := newSampling(in, m.Objects == ObjectsTogether, m.Omega)
	if err != nil {
		return Part{}, fmt.Errorf("bootstrap: %w", err)
	}
	values := make([]float64, m.Bootstrap)
	weights := make([]float64, in.Codes.Rows)
	for b := range values {
		for i := range weights {
			weights[i] = in.Stream.ExpFloat64()
		}
		each := make([]float64, len(chosen))
		for k, c := range chosen {
			if each[k], err = s.weighted(ctx, in.Codes.Columns(c.columns), k, c.turns, weights); err != nil {
				return Part{}, fmt.Errorf("bootstrap: %w", err)
			}
		}
		values[b] = m.Aggregate.Of(each)
	}
	slices.Sort(values)
	at := func(part float64) float64 { return values[min(int(part*float64(len(values))), len(values)-1)] }
	return Part{Name: "interval", Labels: []string{"2.5 %", "97.5 %"}, Values: []float64{at(0.025), at(0.975)}}, nil
}

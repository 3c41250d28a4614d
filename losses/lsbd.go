package losses

import (
	"fmt"
	"maps"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses/internal/symmetry"
	"github.com/unravel-ml/unravel/losses/internal/total"
)

// LSBD returns the mean squared distance between the points of labelled groups and the transported common point of
// their group,
//
//	L_LSBD = 1/B sum_B 1/M sum_m |z_m - y_m|^2,  y_m = g_m . zbar
//
// with y from [CircleTransport], [SphereTransport] or [MeanTransport]. Rotations preserve distances, so |z_m - y_m| =
// |g_m^-1 . z_m - zbar|, as in the paper. z and y have the shape [B*M, columns]. The result is a scalar, differentiable
// everywhere. The minimum is 0, if the encoder is equivariant on every group.
//
// Source: Tonnaer et al. 2022, section 5.
func LSBD(z, y *gorgonia.Node) (*gorgonia.Node, error) { return symmetry.LSBD(z, y) }

// PublicLSBD returns the loss of LSBD-VAE's public code, which differs from [LSBD]. Its distance covers all latent
// spaces together, counts once per space, and is summed over the members of a group:
//
//	1/B sum_B sum_m spheres * 2 (1 - clip(z_m.y_m, -1, 1)) + euclideans * |z_m - y_m|
//
// z and y are the columns of all spaces together, [B*M, columns]; spheres and euclideans count the spaces; the result
// is a scalar. Value and gradient are 0 wherever z.y >= 1, so both circles of a torus can be off by 60 degrees. Use it
// only to compare with that code. The gradient of |z - y| is taken as 0 at 0.
func PublicLSBD(z, y *gorgonia.Node, m, spheres, euclideans int) (*gorgonia.Node, error) {
	return symmetry.PublicLSBD(z, y, m, spheres, euclideans)
}

// LSBDLoss is the sum of [LSBD] over the spaces where the transformations of labelled groups act. These are the latent
// spaces of lsbd-vae, which computes the transport itself, or named planes and spheres of the codes of any model.
//
// If the transformations act on a space by the identity, as on R^n, y_m is the mean of the group's points. There the
// labels rho(g, e) = R(g) + I of section 6 of the paper pull the points of a group together. Identity = false leaves
// these spaces out. PublicLSBD always includes them.
//
// A plane is two code columns that rotate with a circular factor. With Project, its points are projected to the unit
// circle, z/|z|, and so is the group's common point ([CircleTransport]). Otherwise they are points of R^2
// ([PlaneTransport]), where codes of 0 have a loss of 0. A sphere is three code columns, with [SphereTransport] or
// [SpaceTransport].
type LSBDLoss struct {
	Weight   Weight          `yaml:"weight" doc:"factor in the total: gamma"`
	Variant  string          `yaml:"variant" doc:"paper, or public-code for the formula of the authors' public code"`
	Identity IdentityPart    `yaml:"identity" doc:"measure identity spaces too, such as R^n, where a labelled group shares its code; false: only rotating spaces; if absent, true"`
	Planes   factor.SubCodes `yaml:"planes" doc:"two code columns that rotate with each circular factor, such as {x: [0, 1]}; none: the model's spaces"`
	Spheres  []SphereBlock   `yaml:"spheres" doc:"three code columns each, rotated about an axis or by rotations in space"`
	Project  bool            `yaml:"project" doc:"project the points of planes and spheres to length 1"`
	On       On              `yaml:"on" doc:"codes for planes and spheres: sample (reparameterised z, as decoded) or codes (posterior mean)"`
}

// NewLSBD returns the default settings.
func NewLSBD() *LSBDLoss {
	return &LSBDLoss{Weight: Constant(100), Variant: "paper", Identity: true, Project: true, On: OnSample}
}

func (l *LSBDLoss) namesBlocks() bool { return len(l.Planes) > 0 || len(l.Spheres) > 0 }

func (l *LSBDLoss) Validate() error {
	if l.Variant != "paper" && l.Variant != "public-code" {
		return config.Invalid("variant", "want paper or public-code, got %q", l.Variant)
	}
	if l.namesBlocks() && l.Variant != "paper" {
		return config.Invalid("variant",
			"want paper, as planes or spheres are named: public-code is for the latent spaces of lsbd-vae")
	}
	if !l.Identity && l.Variant != "paper" {
		return config.Invalid("identity", "want true: public-code measures all spaces")
	}
	for _, name := range slices.Sorted(maps.Keys(l.Planes)) {
		if err := distinctColumns(l.Planes[name], 2); err != nil {
			return config.Invalid("planes."+name, "%w", err)
		}
	}
	return nil
}

func (l *LSBDLoss) Weighting() Weight { return l.Weight }
func (*LSBDLoss) Supervised()         {}

// Optimum implements [Optimal]: codes follow the transformations exactly.
func (l *LSBDLoss) Optimum(x *Example) bool {
	copy(x.Moved, x.Points)
	if l.Variant == "public-code" { // z.y >= 1
		fill(x.Points, 1)
		fill(x.Moved, 1)
	}
	fill(x.Angles, 0)
	fill(x.Rotations, 0)
	fill(x.Codes, 1)
	fill(x.Sample, 1)
	return true
}

func (*LSBDLoss) Variants() []Loss {
	public, rotating, planes, spheres := NewLSBD(), NewLSBD(), NewLSBD(), NewLSBD()
	rotating.Identity = false
	public.Variant = "public-code"
	planes.Planes = factor.SubCodes{"angle": {4, 1}}
	spheres.Spheres, spheres.Project = []SphereBlock{{Columns: []int{0, 1, 2}},
		{Columns: []int{5, 3, 4}, Factor: "angle", Axis: [3]float64{0, 1, 2}}}, false
	return []Loss{public, rotating, planes, spheres}
}

func (l *LSBDLoss) Add(in *Input) (*gorgonia.Node, error) {
	if l.namesBlocks() {
		return l.lsbdOfBlocks(in)
	}
	if len(in.Transports) == 0 {
		return nil, fmt.Errorf("%w; want planes, such as {%s: [0, 1]}, or the model lsbd-vae",
			missing("transported codes of labelled groups"), in.Transformations.exampleFactor())
	}
	switch l.Variant {
	case "paper":
		return paperLSBD(in.Transports, bool(l.Identity))
	case "public-code":
		return publicLSBD(in.Transports, in.Group)
	}
	return nil, fmt.Errorf("unknown variant %q; known: paper, public-code", l.Variant)
}

// lsbdOfBlocks returns the sum of [LSBD] over the planes and spheres that the settings name.
func (l *LSBDLoss) lsbdOfBlocks(in *Input) (*gorgonia.Node, error) {
	z, err := l.On.node(in)
	if err != nil {
		return nil, err
	}
	blocks, err := l.movedBlocks(in)
	if err != nil {
		return nil, err
	}
	var parts gorgonia.Nodes
	for _, b := range blocks {
		n, err := l.blockLSBD(z, b, in.Group)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		parts = append(parts, n)
	}
	return total.Sum(parts...)
}

// blockLSBD returns the [LSBD] of one plane or sphere in groups of m rows.
func (l *LSBDLoss) blockLSBD(z *gorgonia.Node, b movedBlock, m int) (*gorgonia.Node, error) {
	points, err := selectColumns(z, b.columns)
	if err != nil {
		return nil, err
	}
	action := symmetry.Space
	if b.plane {
		action = symmetry.Plane
	}
	if l.Project {
		if points, err = graph.NormaliseRows(points); err != nil {
			return nil, err
		}
		if action = symmetry.AxisAngle; b.plane {
			action = symmetry.Circle
		}
	}
	moved, err := symmetry.Transport(action, points, b.moves, m)
	if err != nil {
		return nil, err
	}
	return LSBD(points, moved)
}

// movedBlocks returns the transformations of the planes, in the factors' order, and of the spheres.
func (l *LSBDLoss) movedBlocks(in *Input) ([]movedBlock, error) {
	if in.Transformations == nil {
		return nil, errNoMoves
	}
	var blocks []movedBlock
	for _, name := range slices.Sorted(maps.Keys(l.Planes)) {
		circular := func(f factor.Factor) bool { return f.Kind == factor.Circular }
		if _, err := in.Transformations.find(name, "circular", circular); err != nil {
			return nil, fmt.Errorf("planes.%s: %w", name, err)
		}
	}
	for k, f := range in.Transformations.Factors {
		columns, ok := l.Planes[f.Name]
		if !ok {
			continue
		}
		angles, err := in.Transformations.Angles(k)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, movedBlock{"planes." + f.Name, columns, true, angles})
	}
	for i, s := range l.Spheres {
		rotations, err := s.rotations(in.Transformations)
		if err != nil {
			return nil, fmt.Errorf("spheres.%d: %w", i, err)
		}
		blocks = append(blocks, movedBlock{fmt.Sprintf("spheres.%d", i), s.Columns, false, rotations})
	}
	return blocks, nil
}

// IdentityPart says whether lsbd includes spaces on which the transformations act by the identity. A written config
// omits the value true, so configs from before this key existed keep their hashes.
type IdentityPart bool

// DecodeConfig reads true or false.
func (i *IdentityPart) DecodeConfig(n *config.Node) error { return n.Decode((*bool)(i)) }

func (i IdentityPart) EncodeConfig() (any, error) {
	if i {
		return nil, nil
	}
	return false, nil
}

func (i IdentityPart) ConfigForms() []any { return []any{bool(i)} }
func (i IdentityPart) ConfigType() string { return "true or false" }

func paperLSBD(transports []Transport, identity bool) (*gorgonia.Node, error) {
	if !slices.ContainsFunc(transports, func(t Transport) bool { return t.Acts }) {
		return nil, missing("a latent space on which transformations act, such as sphere with dim 1")
	}
	var nodes gorgonia.Nodes
	for i, t := range transports {
		if !t.Acts && !identity {
			continue
		}
		n, err := LSBD(t.Points, t.Moved)
		if err != nil {
			return nil, fmt.Errorf("latent space %d: %w", i, err)
		}
		nodes = append(nodes, n)
	}
	return total.Sum(nodes...)
}

func publicLSBD(transports []Transport, m int) (*gorgonia.Node, error) {
	var points, moved gorgonia.Nodes
	spheres := 0
	for _, t := range transports {
		points, moved = append(points, t.Points), append(moved, t.Moved)
		if t.Sphere {
			spheres++
		}
	}
	z, err := graph.ConcatColumns(points...)
	if err != nil {
		return nil, err
	}
	y, err := graph.ConcatColumns(moved...)
	if err != nil {
		return nil, err
	}
	return PublicLSBD(z, y, m, spheres, len(transports)-spheres)
}

// SphereBlock is a sphere of three code columns in a config. They rotate with a factor of rotations in space, around an
// axis with a circular factor, or by a rotation in space of the supervision's groups. Several spheres may rotate with
// one factor.
type SphereBlock struct {
	Columns  []int      `yaml:"columns" doc:"three columns of the codes"`
	Factor   string     `yaml:"factor" doc:"factor that rotates the columns: rotations in space, or a circular factor (its angle about the axis); empty: use the key rotation"`
	Axis     [3]float64 `yaml:"axis" doc:"axis of a circular factor's rotation"`
	Rotation int        `yaml:"rotation" doc:"index of the rotation in the supervision groups, from 0, if factor is empty"`
}

func (s *SphereBlock) SetDefaults() { s.Axis = [3]float64{0, 0, 1} }

func (s *SphereBlock) Validate() error {
	if err := distinctColumns(s.Columns, 3); err != nil {
		return config.Invalid("columns", "%w", err)
	}
	if s.Rotation < 0 {
		return config.Invalid("rotation", "%d is negative; want 0 or more", s.Rotation)
	}
	if s.Factor != "" && s.Axis == [3]float64{} {
		return config.Invalid("axis", "its length is 0; want a direction, such as [0, 0, 1]")
	}
	return nil
}

func (s *SphereBlock) rotations(m *Transformations) (*gorgonia.Node, error) {
	if s.Factor == "" {
		if s.Rotation >= m.Rotations {
			return nil, fmt.Errorf("rotation: there is no rotation %d: the supervision groups have %d; want their file as rotations, or a factor", s.Rotation, m.Rotations)
		}
		return m.Rotation(s.Rotation)
	}
	k, err := m.find(s.Factor, "circular, or of rotations in space", factor.Factor.Turns)
	if err != nil {
		return nil, fmt.Errorf("factor: %w", err)
	}
	if m.Factors[k].Rotations != nil {
		r := 0 // the groups' rotations are in the order of the factors that have rotations
		for _, f := range m.Factors[:k] {
			if f.Rotations != nil {
				r++
			}
		}
		if r >= m.Rotations {
			return nil, fmt.Errorf("factor: the supervision groups lack rotations of %q; want groups with a rotation for each factor of rotations", s.Factor)
		}
		return m.Rotation(r)
	}
	angles, err := m.Angles(k)
	if err != nil {
		return nil, err
	}
	return AboutAxis(s.Axis, 1, angles)
}

// movedBlock is a block of code columns with the transformations that act on it.
type movedBlock struct {
	name    string
	columns []int
	plane   bool
	moves   *gorgonia.Node // angles for a plane, rotations for a space
}

// find returns the factor with the given name, or an error if it lacks the property.
func (m *Transformations) find(name, property string, suits func(factor.Factor) bool) (int, error) {
	var names []string
	for k, f := range m.Factors {
		switch {
		case f.Name == name && suits(f):
			return k, nil
		case f.Name == name:
			return 0, fmt.Errorf("factor %q is %v, and has no angle; want a factor that is %s", name, f.Kind, property)
		case suits(f):
			names = append(names, f.Name)
		}
	}
	return 0, fmt.Errorf("there is no factor %q that is %s%s", name, property, registry.Suggest(name, names))
}

// exampleFactor names a circular factor for an error message.
func (m *Transformations) exampleFactor() string {
	if m != nil {
		for _, f := range m.Factors {
			if f.Kind == factor.Circular {
				return f.Name
			}
		}
	}
	return "angle"
}

// CircleTransport returns y_m = R(a_m) Pi(sum_k R(-a_k) z_k) within every group of m consecutive rows. z and y have the
// shape [groups*m, 2], and the angles a, in radians, [groups*m, 1]. Pi divides by the norm, or by 1e-6 if the norm is
// smaller. It is differentiable in z.
//
// Source: Tonnaer et al. 2022, section 5.
func CircleTransport(z, angles *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return symmetry.Transport(symmetry.Circle, z, angles, m)
}

// SphereTransport is [CircleTransport] for points of S^2. z and y have the shape [groups*m, 3]. A rotation, a row of
// [groups*m, 4], is an axis of any length and an angle in radians; a zero axis means no rotation.
func SphereTransport(z, rotations *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return symmetry.Transport(symmetry.AxisAngle, z, rotations, m)
}

// MeanTransport returns, for every row, the mean of its group of m consecutive rows. It is [CircleTransport] in R^n,
// where the group acts by the identity.
func MeanTransport(z *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return symmetry.Transport(symmetry.Identity, z, nil, m)
}

// PlaneTransport is [CircleTransport] without the projection: y_m = R(a_m) 1/m sum_k R(-a_k) z_k
// within every group of m consecutive rows, for points z of R^2.
func PlaneTransport(z, angles *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return symmetry.Transport(symmetry.Plane, z, angles, m)
}

// SpaceTransport is [SphereTransport] without the projection: the common point of a group is the mean of its points of
// R^3 after rotating them back.
func SpaceTransport(z, rotations *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return symmetry.Transport(symmetry.Space, z, rotations, m)
}

// AboutAxis returns rotations [rows, 4], each an axis and an angle in radians: factor times the angles [rows, 1] around
// one axis; see [SphereTransport]. It has no gradient.
func AboutAxis(axis [3]float64, factor float64, angles *gorgonia.Node) (*gorgonia.Node, error) {
	return symmetry.AboutAxis(axis, factor, angles)
}

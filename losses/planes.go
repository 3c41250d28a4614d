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
)

// SphereBlock is a sphere of three code columns in a config. They rotate with a factor of rotations in space, about an
// axis with a circular factor, or by a rotation in space of the supervision groups. Several spheres may rotate with one
// factor.
type SphereBlock struct {
	Columns  []int      `yaml:"columns" doc:"three columns of the codes"`
	Factor   string     `yaml:"factor" doc:"factor that rotates the columns: one of rotations in space, or a circular one, by its angle about the axis; empty: the rotation of an index"`
	Axis     [3]float64 `yaml:"axis" doc:"axis of a circular factor's rotation"`
	Rotation int        `yaml:"rotation" doc:"index of the rotation, from 0, among those of the supervision groups, if no factor is named"`
}

// SetDefaults implements config.Defaulter.
func (s *SphereBlock) SetDefaults() { s.Axis = [3]float64{0, 0, 1} }

// Validate checks the block.
func (s *SphereBlock) Validate() error {
	if err := distinctColumns(s.Columns, 3); err != nil {
		return config.Invalid("columns", "%w", err)
	}
	if s.Rotation < 0 {
		return config.Invalid("rotation", "%d is negative; want 0 or more", s.Rotation)
	}
	if s.Factor != "" && s.Axis == [3]float64{} {
		return config.Invalid("axis", "it has the length 0; want a direction, such as [0, 0, 1]")
	}
	return nil
}

func distinctColumns(columns []int, want int) error {
	if len(columns) != want {
		return fmt.Errorf("%v has %d columns; want %d", columns, len(columns), want)
	}
	for i, c := range columns {
		if c < 0 || slices.Contains(columns[:i], c) {
			return fmt.Errorf("want different columns from 0 on, got %v", columns)
		}
	}
	return nil
}

// turned is a block of code columns with the transformations that act on it.
type turned struct {
	name    string
	columns []int
	plane   bool
	moves   *gorgonia.Node // angles of a plane, rotations of a space
}

// turningLSBD is the sum of [LSBD] over the planes and spheres that the settings name.
func (l *LSBDLoss) turningLSBD(in *Input) (*gorgonia.Node, error) {
	z, err := l.On.node(in)
	if err != nil {
		return nil, err
	}
	blocks, err := l.turnedBlocks(in)
	if err != nil {
		return nil, err
	}
	var parts gorgonia.Nodes
	var ones []float64
	for _, b := range blocks {
		n, err := l.blockLSBD(z, b, in.Group)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		parts, ones = append(parts, n), append(ones, 1)
	}
	return graph.WeightedSum(ones, parts...)
}

// blockLSBD is the [LSBD] of one plane or sphere in groups of m rows.
func (l *LSBDLoss) blockLSBD(z *gorgonia.Node, b turned, m int) (*gorgonia.Node, error) {
	width := z.Shape()[1]
	var columns gorgonia.Nodes
	for _, c := range b.columns {
		if c >= width {
			return nil, fmt.Errorf("column %d does not exist: the codes have %d columns, 0 to %d", c, width, width-1)
		}
		n, err := graph.SliceColumns(z, c, c+1)
		if err != nil {
			return nil, err
		}
		columns = append(columns, n)
	}
	points, err := graph.ConcatColumns(columns...)
	if err != nil {
		return nil, err
	}
	action := space
	if b.plane {
		action = plane
	}
	if l.Project {
		if points, err = graph.NormaliseRows(points); err != nil {
			return nil, err
		}
		if action = axisAngle; b.plane {
			action = circle
		}
	}
	moved, err := transportBy(action, points, b.moves, m)
	if err != nil {
		return nil, err
	}
	return LSBD(points, moved)
}

// turnedBlocks finds the transformations of the planes, in the factors' order, and of the spheres.
func (l *LSBDLoss) turnedBlocks(in *Input) ([]turned, error) {
	if in.Transformations == nil {
		return nil, errNoMoves
	}
	var blocks []turned
	for _, name := range slices.Sorted(maps.Keys(l.Planes)) {
		if _, err := in.Transformations.circular(name); err != nil {
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
		blocks = append(blocks, turned{"planes." + f.Name, columns, true, angles})
	}
	for i, s := range l.Spheres {
		rotations, err := s.rotations(in.Transformations)
		if err != nil {
			return nil, fmt.Errorf("spheres.%d: %w", i, err)
		}
		blocks = append(blocks, turned{fmt.Sprintf("spheres.%d", i), s.Columns, false, rotations})
	}
	return blocks, nil
}

// rotations returns the rotations that act on a sphere.
func (s *SphereBlock) rotations(m *Transformations) (*gorgonia.Node, error) {
	if s.Factor == "" {
		if s.Rotation >= m.Rotations {
			return nil, fmt.Errorf("rotation: there is no rotation %d: the supervision groups have %d; want their file as rotations, or a factor", s.Rotation, m.Rotations)
		}
		return m.Rotation(s.Rotation)
	}
	k := slices.IndexFunc(m.Factors, func(f factor.Factor) bool { return f.Name == s.Factor && f.Turns() })
	if k < 0 {
		return nil, fmt.Errorf("factor: %w", m.misses(s.Factor, "circular, or of rotations in space", factor.Factor.Turns))
	}
	if m.Factors[k].Rotations != nil {
		r := 0 // the groups' rotations are the factors' rotations, in the factors' order
		for _, f := range m.Factors[:k] {
			if f.Rotations != nil {
				r++
			}
		}
		if r >= m.Rotations {
			return nil, fmt.Errorf("factor: the supervision groups lack rotations of %q", s.Factor)
		}
		return m.Rotation(r)
	}
	angles, err := m.Angles(k)
	if err != nil {
		return nil, err
	}
	return AboutAxis(s.Axis, 1, angles)
}

// circular finds a circular factor by its name.
func (m *Transformations) circular(name string) (int, error) {
	is := func(f factor.Factor) bool { return f.Kind == factor.Circular }
	if k := slices.IndexFunc(m.Factors, func(f factor.Factor) bool { return f.Name == name && is(f) }); k >= 0 {
		return k, nil
	}
	return 0, m.misses(name, "circular", is)
}

// misses says why no factor has a name and a property.
func (m *Transformations) misses(name, property string, has func(factor.Factor) bool) error {
	var names []string
	for _, f := range m.Factors {
		if f.Name == name {
			return fmt.Errorf("factor %q is %v, and has no angle; want one that is %s", name, f.Kind, property)
		}
		if has(f) {
			names = append(names, f.Name)
		}
	}
	return fmt.Errorf("there is no factor %q that is %s%s", name, property, registry.Suggest(name, names))
}

// example names a circular factor, for an error message.
func (m *Transformations) example() string {
	if m != nil {
		for _, f := range m.Factors {
			if f.Kind == factor.Circular {
				return f.Name
			}
		}
	}
	return "angle"
}

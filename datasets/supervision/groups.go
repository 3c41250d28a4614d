package supervision

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/arrays"
)

// Groups reads labelled groups and the transformations within them from files. It is for data with transformations
// other than rotations of circular factors, such as rotations of objects in space.
type Groups struct {
	Images          string `yaml:"images" doc:".npy array of integers, groups x M: image indices of each group"`
	Transformations string `yaml:"moves" doc:".npy array, groups x M x factors: angle of each factor from the group's first image, in radians; empty: computed from the circular factors' levels"`
	Rotations       string `yaml:"rotations" doc:".npy array, groups x M x 4R: R rotations in space from the group's first image, each an axis (x, y, z) and an angle in radians; empty: computed from the factors with rotations"`
	Unlabelled      bool   `yaml:"unlabelled" doc:"train also on images in no group, without labels"`
}

func (g *Groups) Validate() error {
	if g.Images == "" {
		return config.Invalid("images", "want the name of an .npy file")
	}
	return nil
}

func (g *Groups) Reads() []datasets.Read {
	return slices.Concat(datasets.ReadOf("images", g.Images), datasets.ReadOf("moves", g.Transformations),
		datasets.ReadOf("rotations", g.Rotations))
}

// Split reads the files. If the file has rotations, Rotations is set, and the columns of the rotations follow the
// columns of the factors in Transformations. If the data set has factors of poses, the file must contain one rotation
// for each of them, in their order.
func (g *Groups) Split(d datasets.Dataset, _ *rng.Stream) (*Split, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	groups, m, err := g.images(d)
	if err != nil {
		return nil, fmt.Errorf("groups: %w", err)
	}
	split, err := NewSplit(d, m, groups, g.Unlabelled)
	if err != nil {
		return nil, fmt.Errorf("groups: %w", err)
	}
	k := len(d.Factors())
	if g.Transformations != "" {
		angles, err := readTransformations(g.Transformations, len(groups), m, k)
		if err != nil {
			return nil, fmt.Errorf("groups: moves: %w", err)
		}
		for i := range groups {
			split.Transformations[i] = joinColumns(angles[i], k, split.Transformations[i], 4*split.Rotations, m)
		}
	}
	if g.Rotations == "" {
		return split, nil
	}
	axisAngles, err := readTransformations(g.Rotations, len(groups), m, 0)
	if err != nil {
		return nil, fmt.Errorf("groups: rotations: %w", err)
	}
	n := len(axisAngles[0]) / (4 * m)
	if split.Rotations > 0 && n != split.Rotations {
		return nil, fmt.Errorf("groups: rotations: %s has %d of each image; want one for each factor of dataset %s with rotations, %d", g.Rotations, n, d.Name(), split.Rotations)
	}
	split.Rotations = n
	for i := range groups {
		split.Transformations[i] = joinColumns(split.Transformations[i], k, axisAngles[i], 4*n, m)
	}
	return split, nil
}

// images reads groups of m images each from the file.
func (g *Groups) images(d datasets.Dataset) (groups [][]int, m int, err error) {
	a, err := arrays.OpenNPY(g.Images).Open("")
	if err != nil {
		return nil, 0, err
	}
	if len(a.Shape) != 2 || slices.Min(a.Shape) < 1 {
		return nil, 0, fmt.Errorf("images: %s has shape %v; want groups x M, at least one of each", g.Images, a.Shape)
	}
	values, err := arrays.ReadAll[float64](a)
	if err != nil {
		return nil, 0, err
	}
	m = a.Shape[1]
	list := make([]int, len(values))
	for i, v := range values {
		if v != math.Trunc(v) || v < 0 || v >= float64(d.Len()) {
			return nil, 0, fmt.Errorf("images: %s: row %d, column %d is %v; want an image of dataset %s, 0 to %d",
				g.Images, i/m, i%m, v, d.Name(), d.Len()-1)
		}
		list[i] = int(v)
	}
	return slices.Collect(slices.Chunk(list, m)), m, nil
}

// readTransformations reads an array [groups, m, columns]; with columns 0, any multiple of 4 is accepted.
func readTransformations(file string, groups, m, columns int) ([][]float32, error) {
	a, err := arrays.OpenNPY(file).Open("")
	if err != nil {
		return nil, err
	}
	want := fmt.Sprintf("%d, an angle for each factor of the data set", columns)
	if columns == 0 {
		want = "a multiple of 4, an axis and an angle for each rotation"
	}
	if s := a.Shape; len(s) != 3 || s[0] != groups || s[1] != m || columns > 0 && s[2] != columns ||
		columns == 0 && (s[2] < 4 || s[2]%4 != 0) {
		return nil, fmt.Errorf("%s has shape %v; want %d x %d x %s", file, s, groups, m, want)
	}
	values, err := arrays.ReadAll[float32](a)
	if err != nil {
		return nil, err
	}
	row := m * a.Shape[2]
	for i, v := range values {
		if angle := columns > 0 || i%4 == 3; v-v != 0 || angle && math.Abs(float64(v)) > 8*math.Pi { // hardly radians
			return nil, fmt.Errorf("%s: group %d, element %d is %v; want finite numbers, and angles of at most four turns in radians", file, i/row, i%row, v)
		}
	}
	if columns == 0 && rotation.AreQuaternions(values) {
		return nil, fmt.Errorf("%s has unit quaternions; want the axis and the angle of each rotation, in radians", file)
	}
	return slices.Collect(slices.Chunk(values, row)), nil
}

// joinColumns joins the first k columns of one array of m rows and the last l columns of another.
func joinColumns(a []float32, k int, b []float32, l, m int) []float32 {
	joined := make([]float32, 0, m*(k+l))
	for i := range m {
		first, last := a[i*len(a)/m:(i+1)*len(a)/m], b[i*len(b)/m:(i+1)*len(b)/m]
		joined = append(append(joined, first[:k]...), last[len(last)-l:]...)
	}
	return joined
}

// countRotations counts the factors that are rotations in space.
func countRotations(d datasets.Dataset) int { return newLevelTransforms(d.Factors()).rotations }

// levelTransforms computes transformations from levels.
type levelTransforms struct {
	factors   []factor.Factor
	rotations int // number of factors that are rotations in space
}

func newLevelTransforms(factors []factor.Factor) levelTransforms {
	t := levelTransforms{factors: factors}
	for _, f := range factors {
		if f.Rotations != nil {
			t.rotations++
		}
	}
	return t
}

// transform writes the transformation between two rows of levels: an angle for each factor, then an axis and an angle
// for each factor that is a rotation in space. It writes 0 for an unknown level. It returns the first circular or
// rotation factor with an unknown level, or -1 if all are known. If the first image has the pose R_1, image m has the
// pose g_m R_1. The rotation g_m = R_m R_1^-1 is in world axes; camera and light are fixed in the world.
func (t *levelTransforms) transform(first, levels []int, row []float32) (unknown int) {
	unknown = -1
	clear(row)
	spatial := row[len(t.factors):]
	for j, f := range t.factors {
		if !f.Turns() {
			continue
		}
		var axisAngle []float32
		if f.Rotations != nil {
			axisAngle, spatial = spatial[:4], spatial[4:]
		}
		switch {
		case levels[j] == datasets.Unknown || first[j] == datasets.Unknown:
			if unknown < 0 {
				unknown = j
			}
		case f.Rotations == nil:
			row[j] = float32(turnBetween(f, first[j], levels[j]))
		case levels[j] != first[j]:
			relative := rotation.Between(&f.Rotations[first[j]], &f.Rotations[levels[j]])
			axis, angle := rotation.AxisAngle(&relative)
			for c, v := range axis {
				axisAngle[c] = float32(v)
			}
			axisAngle[3] = float32(angle)
		}
	}
	return unknown
}

// turnBetween returns the angle between two levels of a circular factor, from 0 up to a full turn.
func turnBetween(f factor.Factor, from, to int) float64 {
	if f.Angles == nil {
		return f.Angle((to - from + f.Size) % f.Size)
	}
	turn := math.Mod(f.Angles[to]-f.Angles[from], 2*math.Pi)
	if turn < 0 {
		turn += 2 * math.Pi
	}
	return turn
}

// transformGroup writes the transformations of a group's images relative to the first one. It returns the first image
// with an unknown level and the factor of this level, or -1.
func (t *levelTransforms) transformGroup(d datasets.Dataset, group []int, moves []float32) (image, unknown int) {
	k, columns := len(t.factors), t.columns()
	first, levels := make([]int, k), make([]int, k)
	d.FactorsAt(group[0], first)
	unknown = -1
	for m, i := range group {
		d.FactorsAt(i, levels)
		if j := t.transform(first, levels, moves[m*columns:(m+1)*columns]); unknown < 0 {
			image, unknown = i, j
		}
	}
	return image, unknown
}

func (t *levelTransforms) columns() int { return len(t.factors) + 4*t.rotations }

// groupTransformations returns the transformations of the images of group g relative to the first one.
func groupTransformations(d datasets.Dataset, g int, group []int) ([]float32, error) {
	t := newLevelTransforms(d.Factors())
	moves := make([]float32, len(group)*t.columns())
	if i, j := t.transformGroup(d, group, moves); j >= 0 {
		return nil, fmt.Errorf("group %d has image %d of dataset %s, with unknown level of %q; want images with known levels of the turning factors", g, i, d.Name(), t.factors[j].Name)
	}
	return moves, nil
}

// poseDirections is the number of nearest rotations that a step is drawn among; ties may add more. Six correspond to up
// and down in three dimensions.
const poseDirections = 6

// stepOf draws a step of the given number of levels for a circular factor or a pose. On a circle, the step goes up or
// down. For a pose, the step repeats the rotation from this pose to one of its nearest poses.
func stepOf(f factor.Factor, level, step int, s *rng.Stream) int {
	if f.Rotations == nil {
		if s.IntN(2) == 1 {
			step = f.Size - step
		}
		return (level + step) % f.Size
	}
	neighbours := rotation.Neighbours(f.Rotations, level, poseDirections)
	to := neighbours[s.IntN(len(neighbours))]
	if step == 1 {
		return to
	}
	relative := rotation.Between(&f.Rotations[level], &f.Rotations[to])
	axis, angle := rotation.AxisAngle(&relative)
	turn := rotation.AboutAxis(axis, float64(step)*angle)
	pose := rotation.Product(&turn, &f.Rotations[level])
	return rotation.Nearest(f.Rotations, &pose)
}

// longestStep returns the maximum step, in levels, within a full turn of a factor or pose: 0 if all levels are equal.
func longestStep(f factor.Factor) int {
	if f.Rotations == nil {
		return f.Size - 1
	}
	neighbours := rotation.Neighbours(f.Rotations, 0, 1)
	if neighbours == nil {
		return 0
	}
	relative := rotation.Between(&f.Rotations[0], &f.Rotations[neighbours[0]])
	return int(math.Ceil(2*math.Pi/rotation.Angle(&relative)-1e-6)) - 1
}

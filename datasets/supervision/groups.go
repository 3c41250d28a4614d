package supervision

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
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
	return slices.Concat(
		datasets.ReadOf("images", g.Images),
		datasets.ReadOf("moves", g.Transformations),
		datasets.ReadOf("rotations", g.Rotations),
	)
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
		read, err := readTransformations(g.Transformations, len(groups), m, k)
		if err != nil {
			return nil, fmt.Errorf("groups: moves: %w", err)
		}
		for i := range groups {
			split.Transformations[i] = joinColumns(read[i], k, split.Transformations[i], 4*split.Rotations, m)
		}
	}
	if g.Rotations == "" {
		return split, nil
	}
	read, err := readTransformations(g.Rotations, len(groups), m, 0)
	if err != nil {
		return nil, fmt.Errorf("groups: rotations: %w", err)
	}
	n := len(read[0]) / (4 * m)
	if split.Rotations > 0 && n != split.Rotations {
		return nil, fmt.Errorf("groups: rotations: %s has %d of each image; want one for each factor of dataset %s with rotations, %d", g.Rotations, n, d.Name(), split.Rotations)
	}
	split.Rotations = n
	for i := range groups {
		split.Transformations[i] = joinColumns(split.Transformations[i], k, read[i], 4*n, m)
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
			return nil, 0, fmt.Errorf("images: %s: row %d, column %d is %v; want an image of dataset %s, 0 to %d", g.Images, i/m, i%m, v, d.Name(), d.Len()-1)
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
	if s := a.Shape; len(s) != 3 || s[0] != groups || s[1] != m || columns > 0 && s[2] != columns || columns == 0 && (s[2] < 4 || s[2]%4 != 0) {
		return nil, fmt.Errorf("%s has shape %v; want %d x %d x %s", file, s, groups, m, want)
	}
	values, err := arrays.ReadAll[float32](a)
	if err != nil {
		return nil, err
	}
	row := m * a.Shape[2]
	for i, v := range values {
		if v-v != 0 {
			return nil, fmt.Errorf("%s: group %d, element %d is %v; want finite numbers", file, i/row, i%row, v)
		}
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

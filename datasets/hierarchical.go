package datasets

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Hierarchical is a data set with a hierarchy of dimensions (Ross and Doshi-Velez 2021, section 3). The options of an
// image's categorical dimensions determine which further dimensions it has. Categorical and continuous dimensions are
// numbered in pre-order.
//
// Its Factors are the categorical dimensions followed by the continuous ones. A categorical factor has level 0 if the
// image lacks the dimension, and level 1+o for option o. A continuous factor has [ContinuousLevels] levels: bins of
// equal width over its range. Values returns the exact values. Images are drawn at random: several images may have the
// same levels, and most combinations of levels do not occur.
type Hierarchical interface {
	Dataset
	Hierarchy() hierarchy.Hierarchy // the true hierarchy; callers must not change it

	// Choices writes the option of every categorical dimension of image i, and -1 for a dimension that the image lacks.
	Choices(i int, dst []int)

	// Values writes the continuous dimensions of image i, and 0 for a dimension that the image lacks.
	Values(i int, dst []float64)
}

// ContinuousLevels is the number of levels of a continuous factor.
const ContinuousLevels = 20

// HoldOut draws a fraction, 0 to 1, of n images as a test set, in ascending order. It returns nil if the fraction
// rounds to 0 images. (Ross and Doshi-Velez 2021, section 7, hold out a tenth.)
func HoldOut(n int, part float64, seed uint64) []int {
	count := int(math.Round(part * float64(n)))
	if count == 0 {
		return nil
	}
	held := rng.New(seed, "dataset/hold-out").Perm(n)[:count]
	slices.Sort(held)
	return held
}

// Dimensions returns the dimensions of images, one row for each image: [len(images), len(d.Factors())]. A categorical
// dimension is 1 + its option, a continuous dimension is its value, and a missing dimension is 0.
func Dimensions(d Hierarchical, images []int) []float64 {
	k := len(d.Factors())
	c := k - d.Hierarchy().Continuous()
	rows := make([]float64, len(images)*k)
	choice := make([]int, c)
	for n, i := range images {
		row := rows[n*k : (n+1)*k]
		d.Choices(i, choice)
		for j, o := range choice {
			row[j] = float64(1 + o)
		}
		d.Values(i, row[c:])
	}
	return rows
}

// Exact returns the exact values of each continuous factor for the images, and nil for each categorical factor.
func Exact(d Hierarchical, images []int) [][]float64 {
	k, n := len(d.Factors()), d.Hierarchy().Continuous()
	columns := make([][]float64, k)
	for j := k - n; j < k; j++ {
		columns[j] = make([]float64, len(images))
	}
	values := make([]float64, n)
	for row, i := range images {
		d.Values(i, values)
		for j, v := range values {
			columns[k-n+j][row] = v
		}
	}
	return columns
}

// PathsOf numbers the paths of the images through the hierarchy. A path is a distinct row of choices, and paths are in
// ascending order. Images with the same path have the same dimensions. choices lists the choices of each path.
func PathsOf(d Hierarchical, images []int) (path []int, choices [][]int) {
	choice := make([]int, len(d.Hierarchy().Categoricals()))
	known := map[string][]int{} // choices by their bytes, which sort in the same order
	key, keys := make([]byte, len(choice)), make([]string, len(images))
	for n, i := range images {
		d.Choices(i, choice)
		for j, o := range choice {
			key[j] = byte(o + 1)
		}
		if keys[n] = string(key); known[keys[n]] == nil {
			known[keys[n]] = slices.Clone(choice)
		}
	}
	sorted := slices.Sorted(maps.Keys(known))
	for _, key := range sorted {
		choices = append(choices, known[key])
	}
	path = make([]int, len(images))
	for n, key := range keys {
		path[n], _ = slices.BinarySearch(sorted, key)
	}
	return path, choices
}

// PathName returns a name for a row of choices, built from its continuous dimensions. It omits a dimension if its name
// is a prefix of another dimension's name.
func PathName(d Hierarchical, choice []int) string {
	mask := make([]bool, d.Hierarchy().Continuous())
	d.Hierarchy().Masks(choice, mask)
	var names []string
	for j, on := range mask {
		if !on {
			continue
		}
		name := d.Factors()[len(choice)+j].Name
		if last := len(names) - 1; last >= 0 && strings.HasPrefix(name, names[last]+"-") {
			names = names[:last]
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

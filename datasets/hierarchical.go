package datasets

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Hierarchical is a data set whose images are described by a hierarchy of dimensions
// (Ross and Doshi-Velez 2021, section 3): the options that it chooses for categorical
// dimensions decide which further dimensions it has. Categorical and continuous dimensions are numbered in pre-order.
//
// Its Factors are the categorical dimensions and then the continuous ones. A
// categorical factor has level 0 where the image lacks it, and level 1+o for option
// o; a continuous one has [ContinuousLevels] levels, which are bins of equal widths of its
// range, and its exact value is in Values. Images are drawn at random: several may
// have the same levels, and most combinations of levels do not occur.
type Hierarchical interface {
	Dataset
	Hierarchy() hierarchy.Hierarchy // the true one; not to be changed

	// Choices writes the option of every categorical dimension of image i, -1 where the
	// image lacks it.
	Choices(i int, dst []int)

	// Values writes the continuous dimensions of image i, 0 where the image lacks them.
	Values(i int, dst []float64)
}

// ContinuousLevels is the number of levels of a continuous factor.
const ContinuousLevels = 20

// HoldOut draws the fraction part of n images as a test set, ascending; nil if that rounds to no image. (Ross and
// Doshi-Velez 2021, section 7, hold out a tenth.)
func HoldOut(n int, part float64, seed uint64) []int {
	count := int(math.Round(part * float64(n)))
	if count == 0 {
		return nil
	}
	held := rng.New(seed, "dataset/hold-out").Perm(n)[:count]
	slices.Sort(held)
	return held
}

// Dimensions returns the dimensions of images as one row of numbers each, [len(images),
// len(d.Factors())]: of a categorical dimension 1 + its option, of a continuous one its
// value, and 0 where the image lacks it.
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

// Exact returns the exact values of images for each continuous factor, and nil for each categorical one.
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

// PathsOf numbers the paths through the hierarchy that images take, the distinct rows of their choices in
// ascending order. Images on one path have the same dimensions. choices lists the choices of each path.
func PathsOf(d Hierarchical, images []int) (path []int, choices [][]int) {
	choice := make([]int, len(d.Hierarchy().Categoricals()))
	known := map[string]int{}
	key := make([]byte, len(choice))
	path = make([]int, len(images))
	for n, i := range images {
		d.Choices(i, choice)
		for j, o := range choice {
			key[j] = byte(o + 1)
		}
		p, ok := known[string(key)]
		if !ok {
			p = len(choices)
			known[string(key)] = p
			choices = append(choices, slices.Clone(choice))
		}
		path[n] = p
	}
	order := make([]int, len(choices)) // by rank: the number as first met
	for p := range order {
		order[p] = p
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(choices[a], choices[b]) })
	rank, sorted := make([]int, len(order)), make([][]int, len(order))
	for r, p := range order {
		rank[p], sorted[r] = r, choices[p]
	}
	for n, p := range path {
		path[n] = rank[p]
	}
	return path, sorted
}

// rowsPerPiece is the number of images drawn from one random stream.
const rowsPerPiece = 500

// dimensions implements Hierarchical, but for the images.
type dimensions struct {
	name    string
	n       int
	shape   [3]int
	tree    hierarchy.Hierarchy
	factors []factor.Factor
	low     []float64 // by continuous dimension: its range
	high    []float64
	choices []int8    // n x categorical dimensions
	values  []float64 // n x continuous dimensions
}

func (d *dimensions) Name() string                   { return d.name }
func (d *dimensions) ImageShape() (h, w, c int)      { return d.shape[0], d.shape[1], d.shape[2] }
func (d *dimensions) Factors() []factor.Factor       { return d.factors }
func (d *dimensions) Len() int                       { return d.n }
func (d *dimensions) Hierarchy() hierarchy.Hierarchy { return d.tree }

func (d *dimensions) Choices(i int, dst []int) {
	for j, o := range d.choiceRow(i) {
		dst[j] = int(o)
	}
}

func (d *dimensions) Values(i int, dst []float64) { copy(dst, d.valueRow(i)) }

func (d *dimensions) FactorsAt(i int, dst []int) {
	row := d.choiceRow(i)
	for j, o := range row {
		dst[j] = int(o) + 1
	}
	for j, v := range d.valueRow(i) {
		bin := int(ContinuousLevels * (v - d.low[j]) / (d.high[j] - d.low[j]))
		dst[len(row)+j] = max(0, min(bin, ContinuousLevels-1))
	}
}

func (d *dimensions) choiceRow(i int) []int8 {
	k := len(d.factors) - len(d.low)
	return d.choices[i*k : (i+1)*k]
}

func (d *dimensions) valueRow(i int) []float64 {
	k := len(d.low)
	return d.values[i*k : (i+1)*k]
}

// categorical adds a categorical dimension and returns its number.
func (d *dimensions) categorical(name string, options int) int {
	at := len(d.factors) - len(d.low)
	d.factors = slices.Insert(d.factors, at, factor.Factor{Name: name, Size: options + 1, Kind: factor.Categorical})
	return at
}

// continuous adds a continuous dimension with the range of its values.
func (d *dimensions) continuous(name string, low, high float64) {
	centres := make([]float64, ContinuousLevels)
	for l := range centres {
		centres[l] = low + (high-low)*(float64(l)+0.5)/ContinuousLevels
	}
	d.factors = append(d.factors, factor.Factor{Name: name, Size: ContinuousLevels, Kind: factor.Ordinal, Values: centres})
	d.low, d.high = append(d.low, low), append(d.high, high)
}

// draw draws the n images in pieces with a random stream each, so that they do not depend on
// the number of threads. It sets all choices to -1 before.
func (d *dimensions) draw(n int, seed uint64, image func(i int, s *rng.Stream)) {
	d.n = n
	d.choices = slices.Repeat([]int8{-1}, n*(len(d.factors)-len(d.low)))
	d.values = make([]float64, n*len(d.low))
	parallel.For((n+rowsPerPiece-1)/rowsPerPiece, func(_, piece int) {
		s := rng.New(seed, fmt.Sprintf("dataset/%s/%d", d.name, piece))
		for i := piece * rowsPerPiece; i < min(n, (piece+1)*rowsPerPiece); i++ {
			image(i, s)
		}
	})
}

// PathName names a row of choices by its continuous dimensions, without those whose names
// begin the name of another one.
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

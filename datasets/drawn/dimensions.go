package drawn

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// dimensions implements Hierarchical except for Image.
type dimensions struct {
	name    string
	n       int
	shape   [3]int
	tree    hierarchy.Hierarchy
	factors []factor.Factor
	low     []float64 // ranges of the continuous dimensions
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
		bin := int(datasets.ContinuousLevels * (v - d.low[j]) / (d.high[j] - d.low[j]))
		dst[len(row)+j] = max(0, min(bin, datasets.ContinuousLevels-1))
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
	centres := make([]float64, datasets.ContinuousLevels)
	for l := range centres {
		centres[l] = low + (high-low)*(float64(l)+0.5)/datasets.ContinuousLevels
	}
	d.factors = append(d.factors, factor.Factor{Name: name, Size: datasets.ContinuousLevels, Kind: factor.Ordinal, Values: centres})
	d.low, d.high = append(d.low, low), append(d.high, high)
}

// rowsPerPiece is the number of images per random stream.
const rowsPerPiece = 500

// draw draws the n images in pieces. Each piece has a separate random stream, so the images do not depend on the number
// of threads. It first sets all choices to -1.
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

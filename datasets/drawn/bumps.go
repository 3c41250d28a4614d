package drawn

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Bumps is a small set on which a model learns disentanglement in seconds. Each factor is encoded as a vector with one
// number per level: a Gaussian bump of width 1 centred at the image's level,
//
//	b_f(j) = exp(-(j - level_f)^2 / 2),  j = 0, ..., Levels-1,
//
// and the image, a row of Factors*Levels real numbers, is 3 Q (b_1, b_2, ...) for a fixed orthogonal matrix Q.
type Bumps struct {
	Factors int `yaml:"factors" doc:"number of factors"`
	Levels  int `yaml:"levels" doc:"levels of each factor"`
}

const (
	bumpScale  = 3
	mostBumps  = 12   // maximum number of factors
	mostBumped = 1024 // maximum length of an image
)

func (b *Bumps) Validate() error {
	switch {
	case b.Factors < 1 || b.Factors > mostBumps:
		return config.Invalid("factors", "%d is out of range; want 1 to %d", b.Factors, mostBumps)
	case b.Levels < 2 || b.Factors*b.Levels > mostBumped:
		return config.Invalid("levels", "%d is out of range; want 2 to %d", b.Levels, mostBumped/b.Factors)
	case math.Pow(float64(b.Levels), float64(b.Factors)) > 1<<30:
		return config.Invalid("levels", "%d levels of %d factors give too many images; want at most %d images", b.Levels, b.Factors, 1<<30)
	}
	return nil
}

// Build returns the data set, which does not depend on the seed.
func (b *Bumps) Build(uint64) (datasets.Dataset, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	n := b.Factors * b.Levels
	d := &bumps{gridSet: gridSet{name: "bumps", shape: [3]int{1, n, 1}}, mixed: make([]float32, b.Factors*b.Levels*n), levels: b.Levels}
	q := orthogonal(n, rng.New(0, "dataset/bumps"))
	for f := range b.Factors {
		d.grid = append(d.grid, factor.Factor{Name: fmt.Sprint("bump", f), Size: b.Levels, Kind: factor.Ordinal})
		for level := range b.Levels {
			row := d.mixed[(f*b.Levels+level)*n:][:n]
			for i := range row {
				sum := 0.0
				for j := range b.Levels {
					off := float64(j - level)
					sum += float64(q[i][f*b.Levels+j] * math.Exp(-off*off/2))
				}
				row[i] = float32(bumpScale * sum)
			}
		}
	}
	return d, nil
}

// orthogonal draws an orthogonal matrix by the Gram-Schmidt process. It converts products before it adds them, which
// gives the same bits on every processor.
func orthogonal(n int, s *rng.Stream) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		row := make([]float64, n)
		for j := range row {
			row[j] = s.Float64() - 0.5
		}
		for range 2 { // the second pass removes rounding errors of the first
			for _, other := range rows[:i] {
				dot := rowProduct(row, other)
				for j := range row {
					row[j] -= float64(dot * other[j])
				}
			}
		}
		norm := math.Sqrt(rowProduct(row, row))
		for j := range row {
			row[j] /= norm
		}
		rows[i] = row
	}
	return rows
}

func rowProduct(a, b []float64) (sum float64) {
	for j, v := range a {
		sum += float64(v * b[j])
	}
	return sum
}

type bumps struct {
	gridSet
	levels int
	mixed  []float32 // by factor and level: the bump's contribution to an image
}

func (d *bumps) Image(i int, dst []float32) {
	n := len(d.grid) * d.levels
	dst = dst[:n]
	clear(dst)
	for f := len(d.grid) - 1; f >= 0; f-- {
		for j, v := range d.mixed[(f*d.levels+i%d.levels)*n:][:n] {
			dst[j] += v
		}
		i /= d.levels
	}
}

func (d *bumps) RealValued() bool { return true }

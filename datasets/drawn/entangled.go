package drawn

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Entangled is the synthetic set of Zhang and Sugiyama 2024, appendix F.1. Its three ordinal factors have the values 0,
// 1/(Levels-1), ..., 1. The "image" of a combination y is the vector m(y) of an [AnalyticEncoder] of the paper, as 1 x
// 1 x d numbers. The default encoder is the generator g of equation 160, which entangles the factors by two rotations
// and two exponentials. g is injective, but neither linear nor a product.
//
// Unlike pixels, some numbers lie outside [0, 1]: rotation and redundancy give negative numbers. Models use the numbers
// unchanged; figures clip them.
type Entangled struct {
	Encoder string `yaml:"encoder" doc:"entanglement (the paper's generator), rotation, duplicate, complement, misalignment, redundancy, contraction, nonlinear, constant or random"`
	Levels  int    `yaml:"levels" doc:"levels of each of the three factors"`
}

// AnalyticEncoder is a map m from factors y to codes z (Zhang and Sugiyama 2024, appendix F.1 and table 2).
type AnalyticEncoder struct {
	Name     string
	Doc      string
	SubCodes [3][]int // columns of z that form the sub-code z_i of factor i

	encode func(y [3]float64, z []float64) // nil: see Codes
}

// Columns returns d, the number of columns of z.
func (e AnalyticEncoder) Columns() int {
	n := 0
	for _, columns := range e.SubCodes {
		n += len(columns)
	}
	return n
}

// one assigns one column to each factor.
var one = [3][]int{{0}, {1}, {2}}

// AnalyticEncoders lists the encoders in the paper's order.
func AnalyticEncoders() []AnalyticEncoder {
	return []AnalyticEncoder{
		{"entanglement", "g(y) = a exp(R exp(R y)) + b, R a rotation, a and b such that every column spans [0, 1]",
			one, entangle},
		{"rotation", "R y", one, func(y [3]float64, z []float64) { r := rotate(y); copy(z, r[:]) }},
		{"duplicate", "((y1, y2, y3), (y1, y2, y3), y3)", [3][]int{{0, 1, 2}, {3, 4, 5}, {6}}, func(y [3]float64, z []float64) {
			copy(z, y[:])
			copy(z[3:], y[:])
			z[6] = y[2]
		}},
		{"complement", "((y2, y3), (y1, y3), (y1, y2))", [3][]int{{0, 1}, {2, 3}, {4, 5}}, func(y [3]float64, z []float64) {
			copy(z, []float64{y[1], y[2], y[0], y[2], y[0], y[1]})
		}},
		{"misalignment", "(y2, y3, y1)", one, func(y [3]float64, z []float64) { z[0], z[1], z[2] = y[1], y[2], y[0] }},
		{"redundancy", "((y1, -y1), y2, y3)", [3][]int{{0, 1}, {2}, {3}}, func(y [3]float64, z []float64) {
			z[0], z[1], z[2], z[3] = y[0], -y[0], y[1], y[2]
		}},
		{"contraction", "0.01 y", one, func(y [3]float64, z []float64) {
			for i, v := range y {
				z[i] = 0.01 * v
			}
		}},
		{"nonlinear", "(y1^2, y2^2, y3^2)", one, func(y [3]float64, z []float64) {
			for i, v := range y {
				z[i] = v * v
			}
		}},
		{"constant", "(0, 0, 0)", one, func(_ [3]float64, z []float64) { clear(z) }},
		{"random", "independent uniform numbers from 0 to 1, drawn once for every combination", one, nil},
	}
}

// paperRotation is the matrix R of table 2 in Zhang and Sugiyama 2024, which the paper does not print. It is SciPy
// 1.10's Rotation.random(random_state=2023). Among the seeds that were tried, only this one gives all ten printed
// modularity values of the rows entanglement and rotation.
var paperRotation = [3][3]float64{
	{-0.32712987083188766, 0.006899156269426776, -0.944954204843961},
	{-0.5595787687346934, -0.807213382125789, 0.18782480480066935},
	{-0.7614838469664849, 0.5902194145907225, 0.2679242307991347},
}

// rotate is R y, rounded as in NumPy on every processor: codes lie on bin edges, so the last bit matters.
func rotate(y [3]float64) (z [3]float64) {
	for i, row := range paperRotation {
		z[i] = math.FMA(row[2], y[2], math.FMA(row[1], y[1], row[0]*y[0]))
	}
	return z
}

// entangle is g before its columns are scaled.
func entangle(y [3]float64, z []float64) {
	for range 2 {
		y = rotate(y)
		for i, v := range y {
			y[i] = math.Exp(v)
		}
	}
	copy(z, y[:])
}

// maxEntangled is the maximum of Levels.
const maxEntangled = 101

func (e *Entangled) Validate() error {
	if _, ok := encoderNamed(e.Encoder); !ok {
		var names []string
		for _, known := range AnalyticEncoders() {
			names = append(names, known.Name)
		}
		return config.Invalid("encoder", "unknown encoder %q%s", e.Encoder, registry.Suggest(e.Encoder, names))
	}
	if e.Levels < 2 || e.Levels > maxEntangled {
		return config.Invalid("levels", "%d is out of range; want 2 to %d", e.Levels, maxEntangled)
	}
	return nil
}

func encoderNamed(name string) (AnalyticEncoder, bool) {
	all := AnalyticEncoders()
	index := slices.IndexFunc(all, func(e AnalyticEncoder) bool { return e.Name == name })
	if index < 0 {
		return AnalyticEncoder{}, false
	}
	return all[index], true
}

// Codes returns m(y) for every combination of levels, with the last factor fastest: Levels^3 x d numbers. Only the
// encoder random uses the seed.
func (e *Entangled) Codes(seed uint64) (codes []float64, d int, err error) {
	if err := e.Validate(); err != nil {
		return nil, 0, err
	}
	encoder, _ := encoderNamed(e.Encoder)
	d = encoder.Columns()
	codes = make([]float64, e.Levels*e.Levels*e.Levels*d)
	if encoder.encode == nil {
		stream := rng.New(seed, "dataset/entangled/random")
		for i := range codes {
			codes[i] = stream.Float64()
		}
		return codes, d, nil
	}
	grid, values := e.grid()
	var levels [3]int
	for i := range grid.Len() {
		grid.At(i, levels[:])
		encoder.encode([3]float64{values[levels[0]], values[levels[1]], values[levels[2]]}, codes[i*d:(i+1)*d])
	}
	if encoder.Name == "entanglement" {
		scaleColumns(codes, d)
	}
	return codes, d, nil
}

// scaleColumns scales every column to [0, 1].
func scaleColumns(codes []float64, d int) {
	for c := range d {
		low, high := math.Inf(1), math.Inf(-1)
		for i := c; i < len(codes); i += d {
			low, high = min(low, codes[i]), max(high, codes[i])
		}
		for i := c; i < len(codes); i += d {
			codes[i] = (codes[i] - low) / (high - low)
		}
	}
}

// grid returns the factors and their values.
func (e *Entangled) grid() (factor.Grid, []float64) {
	values := between(0, 1, e.Levels)
	grid := make(factor.Grid, 3)
	for i, name := range []string{"y1", "y2", "y3"} {
		grid[i] = factor.Factor{Name: name, Size: e.Levels, Kind: factor.Ordinal, Values: values}
	}
	return grid, values
}

// Build computes the codes.
func (e *Entangled) Build(seed uint64) (datasets.Dataset, error) {
	codes, d, err := e.Codes(seed)
	if err != nil {
		return nil, err
	}
	grid, _ := e.grid()
	set := &entangled{gridSet: gridSet{name: "entangled", shape: [3]int{1, 1, d}, grid: grid},
		codes: make([]float32, len(codes))}
	for i, v := range codes {
		set.codes[i] = float32(v)
	}
	return set, nil
}

type entangled struct {
	gridSet
	codes []float32
}

func (e *entangled) Image(i int, dst []float32) {
	d := e.shape[2]
	copy(dst, e.codes[i*d:(i+1)*d])
}

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
	bumpScale     = 3
	maxBumps      = 12   // maximum number of factors
	maxBumpValues = 1024 // maximum length of an image
)

func (b *Bumps) Validate() error {
	switch {
	case b.Factors < 1 || b.Factors > maxBumps:
		return config.Invalid("factors", "%d is out of range; want 1 to %d", b.Factors, maxBumps)
	case b.Levels < 2 || b.Factors*b.Levels > maxBumpValues:
		return config.Invalid("levels", "%d is out of range; want 2 to %d", b.Levels, maxBumpValues/b.Factors)
	case math.Pow(float64(b.Levels), float64(b.Factors)) > 1<<30:
		return config.Invalid("levels", "%d levels of %d factors give too many images; want at most %d images",
			b.Levels, b.Factors, 1<<30)
	}
	return nil
}

// Build returns the data set, which does not depend on the seed.
func (b *Bumps) Build(uint64) (datasets.Dataset, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	n := b.Factors * b.Levels
	d := &bumps{gridSet: gridSet{name: "bumps", shape: [3]int{1, n, 1}}, mixed: make([]float32, b.Factors*b.Levels*n),
		levels: b.Levels}
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

// orthogonal draws an orthogonal matrix by the Gram-Schmidt process, with the same bits on every processor.
func orthogonal(n int, s *rng.Stream) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		row := make([]float64, n)
		for j := range row {
			row[j] = s.Float64() - 0.5
		}
		for range 2 { // the second pass removes rounding errors of the first
			for _, previous := range rows[:i] {
				dot := rowProduct(row, previous)
				for j := range row {
					row[j] -= float64(dot * previous[j])
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

package losses

import (
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// DIP returns the regulariser of DIP-VAE-I,
//
//	offDiagonal sum_{i != j} C_ij^2 + diagonal sum_i (C_ii - 1)^2
//
// for the covariance C (divided by n) of the posterior means [n, D] over the batch. The result is a scalar,
// differentiable everywhere. Its least value is 0, for uncorrelated means with unit variance.
//
// Source: Kumar et al. 2018, equation 6.
func DIP(mean *gorgonia.Node, offDiagonal, diagonal float64) (*gorgonia.Node, error) {
	return covariancePenalty(mean, nil, offDiagonal, diagonal)
}

// DIPCode returns the regulariser of DIP-VAE-II: [DIP] of the covariance of the samples. Its diagonal is the variance
// of the means plus the mean over the batch of exp(logVariance). logVariance has the shape of the means. It is
// differentiable everywhere.
//
// Source: Kumar et al. 2018, equation 7.
func DIPCode(mean, logVariance *gorgonia.Node, offDiagonal, diagonal float64) (*gorgonia.Node, error) {
	if logVariance == nil {
		return nil, missing("log variances")
	}
	return covariancePenalty(mean, logVariance, offDiagonal, diagonal)
}

// DIPLoss is [DIP] or [DIPCode] of a model's posteriors.
type DIPLoss struct {
	Weight      Weight  `yaml:"weight" doc:"factor in the total"`
	OffDiagonal float64 `yaml:"off_diagonal" doc:"weight of squared off-diagonal covariances"`
	Diagonal    float64 `yaml:"diagonal" doc:"weight of squared deviations of variances from 1"`

	second bool // DIP-VAE-II
}

// NewDIP1 returns the default settings of DIP-VAE-I.
func NewDIP1() *DIPLoss { return &DIPLoss{Weight: Constant(1), OffDiagonal: 10, Diagonal: 100} }

// NewDIP2 returns the default settings of DIP-VAE-II.
func NewDIP2() *DIPLoss {
	return &DIPLoss{Weight: Constant(1), OffDiagonal: 10, Diagonal: 10, second: true}
}

// Validate checks the settings.
func (l *DIPLoss) Validate() error {
	for _, f := range []struct {
		name string
		is   float64
	}{{"off_diagonal", l.OffDiagonal}, {"diagonal", l.Diagonal}} {
		if !(f.is >= 0) || math.IsInf(f.is, 0) {
			return config.Invalid(f.name, "want 0 or more, got %v", f.is)
		}
	}
	return nil
}

// Weighting implements [Loss].
func (l *DIPLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: codes are uncorrelated with unit variance.
func (*DIPLoss) Optimum(x *Example) bool {
	uncorrelated(x.Codes, 6, 1)
	fill(x.LogVariance, -100)
	return true
}

// Add implements [Loss].
func (l *DIPLoss) Add(in *Input) (*gorgonia.Node, error) {
	switch {
	case in.Codes == nil:
		return nil, missing("codes")
	case l.second && in.LogVariance == nil:
		return nil, missing("log variances of Gaussian posteriors")
	case l.second:
		return DIPCode(in.Codes, in.LogVariance, l.OffDiagonal, l.Diagonal)
	}
	return DIP(in.Codes, l.OffDiagonal, l.Diagonal)
}

// covariancePenalty is [DIP], or with log variances [DIPCode].
func covariancePenalty(mean, logVariance *gorgonia.Node, offDiagonal, diagonal float64) (*gorgonia.Node, error) {
	in := []*gorgonia.Node{mean}
	if logVariance != nil {
		in = append(in, logVariance)
	}
	return graph.Apply(graph.Spec{
		Name: "dip",
		Key:  graph.Key(offDiagonal, diagonal),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			for _, s := range in {
				if !slices.Equal(s, in[0]) {
					return nil, graph.Wanted("means and log variances of one shape", in)
				}
			}
			_, _, err := graph.Matrix("means", in[0])
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return newDIP[float32](in[0], offDiagonal, diagonal) },
			func(in []tensor.Shape) graph.Body[float64] { return newDIP[float64](in[0], offDiagonal, diagonal) }),
	}, in...)
}

type dip[T graph.Float] struct {
	rows, columns         int
	offDiagonal, diagonal float64

	centred    []float64 // column by column
	slope      []float64 // of the regulariser over C
	in, din    [][]T
	factor     float64
	covariance *numeric.Loop
	gradient   *numeric.Loop
}

func newDIP[T graph.Float](s tensor.Shape, offDiagonal, diagonal float64) *dip[T] {
	f := &dip[T]{rows: s[0], columns: s[1], offDiagonal: offDiagonal, diagonal: diagonal}
	f.centred = make([]float64, s.TotalSize())
	f.slope = make([]float64, s[1]*s[1])
	f.covariance = numeric.NewLoop(s[1], 8, f.covarianceRows)
	f.gradient = numeric.NewLoop(s[0], 64, f.gradientRows)
	return f
}

func (f *dip[T]) Forward(in [][]T, out []T) {
	n := f.rows
	for c := range f.columns {
		column, mean := f.centred[c*n:][:n], 0.0
		for r := range column {
			column[r] = float64(in[0][r*f.columns+c])
			mean += column[r] / float64(n)
		}
		for r := range column {
			column[r] -= mean
		}
	}
	f.in = in
	out[0] = T(f.covariance.Run())
}

// covarianceRows sets the slopes of rows of C, and returns their part of the value.
func (f *dip[T]) covarianceRows(lo, hi int) float64 {
	n, d, sum := f.rows, f.columns, 0.0
	for i := lo; i < hi; i++ {
		a, slope := f.centred[i*n:][:n], f.slope[i*d:][:d]
		for j := range slope {
			c := numeric.Dot(a, f.centred[j*n:][:n]) / float64(n)
			if i != j {
				sum += f.offDiagonal * c * c
				slope[j] = 2 * f.offDiagonal * c
				continue
			}
			if len(f.in) > 1 {
				for r := range n {
					c += math.Exp(float64(f.in[1][r*d+i])) / float64(n)
				}
			}
			sum += f.diagonal * (c - 1) * (c - 1)
			slope[j] = 2 * f.diagonal * (c - 1)
		}
	}
	return sum
}

func (f *dip[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	f.in, f.din, f.factor = in, din, float64(dout[0])/float64(f.rows)
	f.gradient.Run()
}

func (f *dip[T]) gradientRows(lo, hi int) float64 {
	n, d := f.rows, f.columns
	for r := lo; r < hi; r++ {
		if dMean := f.din[0]; dMean != nil {
			for i := range d {
				sum := 0.0
				for j, s := range f.slope[i*d:][:d] {
					sum += s * f.centred[j*n+r]
				}
				dMean[r*d+i] = T(2 * f.factor * sum)
			}
		}
		if len(f.din) > 1 && f.din[1] != nil {
			for i := range d {
				f.din[1][r*d+i] = T(f.factor * f.slope[i*d+i] * math.Exp(float64(f.in[1][r*d+i])))
			}
		}
	}
	return 0
}

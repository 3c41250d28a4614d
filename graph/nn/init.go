package nn

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Init sets the initial values of a parameter with the given shape.
type Init func(r *rng.Stream, shape tensor.Shape, values []float32)

// Zeros sets all values to 0.
func Zeros(_ *rng.Stream, _ tensor.Shape, values []float32) { clear(values) }

// GlorotUniform samples U(-l, l) with l = sqrt(6 / (fan in + fan out)), the default in Keras (Glorot and Bengio 2010,
// equation 16).
func GlorotUniform(r *rng.Stream, shape tensor.Shape, values []float32) {
	in, out := fans(shape)
	uniform(math.Sqrt(6/(in+out)))(r, shape, values)
}

// HeNormal samples N(0, 2 / fan in) (He et al. 2015, equation 10).
func HeNormal(r *rng.Stream, shape tensor.Shape, values []float32) {
	in, _ := fans(shape)
	for i := range values {
		values[i] = float32(r.NormFloat64() * math.Sqrt(2/in))
	}
}

// heUniform samples U(-l, l) with l = sqrt(6 / fan in). The variance equals the variance of [HeNormal].
func heUniform(r *rng.Stream, shape tensor.Shape, values []float32) {
	in, _ := fans(shape)
	uniform(math.Sqrt(6/in))(r, shape, values)
}

// FanInUniform samples U(-l, l) with l = sqrt(1 / fan in), PyTorch's default for weights.
func FanInUniform(r *rng.Stream, shape tensor.Shape, values []float32) {
	in, _ := fans(shape)
	uniform(math.Sqrt(1/in))(r, shape, values)
}

// uniform returns an initialiser that samples U(-limit, limit).
func uniform(limit float64) Init {
	return func(r *rng.Stream, _ tensor.Shape, values []float32) {
		for i := range values {
			values[i] = float32((2*r.Float64() - 1) * limit)
		}
	}
}

// fans returns the number of inputs and outputs of one unit. Weights have shape [in, out] or [k, k, in, out]. For a
// bias [out], both numbers are out.
func fans(s tensor.Shape) (in, out float64) {
	n := len(s)
	if n < 2 {
		return float64(s[0]), float64(s[0])
	}
	field := 1
	for _, d := range s[:n-2] {
		field *= d
	}
	return float64(field * s[n-2]), float64(field * s[n-1])
}

// initNames are the weight initialisers that a config can name.
var initNames = []string{"glorot", "he-normal", "he-uniform", "fan-in"}

func parseInit(name string) (Init, error) {
	if i := slices.Index(initNames, name); i >= 0 {
		return []Init{GlorotUniform, HeNormal, heUniform, FanInUniform}[i], nil
	}
	return nil, fmt.Errorf("unknown initialiser %q%s", name, registry.Suggest(name, initNames))
}

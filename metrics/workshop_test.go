package metrics_test

import (
	"fmt"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// mapped returns an input with a number of columns. Its codes are random affine images of another input's codes.
func mapped(in *Input, columns int, s *rng.Stream) *Input {
	d, out := in.Codes.Cols, *in
	a := make([]float64, (d+1)*columns)
	for i := range a {
		a[i] = s.NormFloat64()
	}
	out.Codes = matrix.Matrix{Rows: in.Codes.Rows, Cols: columns, Data: make([]float64, in.Codes.Rows*columns)}
	for i := range in.Codes.Rows {
		to := out.Codes.Row(i)
		copy(to, a[d*columns:])
		for j, x := range in.Codes.Row(i) {
			for c := range to {
				to[c] += x * a[j*columns+c]
			}
		}
	}
	return &out
}

// Pérez Rey et al. 2020, section 5: perfect codes stay virtually at 0 under a random linear map. The literal equation 8
// lacks this property.
func TestWorkshopLinearMaps(t *testing.T) {
	s := rng.New(11, "maps")
	whitened, literal := &DLSBDWorkshop{Omega: 10, Aggregate: factor.Sum, Whiten: true}, &DLSBDWorkshop{Omega: 10, Aggregate: factor.Sum}
	in := input(perfect, 16, 12)
	near(t, "perfect codes", compute(t, whitened, in).Value, 0, 1e-24)
	var largest float64
	for trial := range 20 {
		for _, columns := range []int{4, 6, 9} {
			image := mapped(in, columns, s)
			near(t, fmt.Sprintf("map %d to %d columns", trial, columns), compute(t, whitened, image).Value, 0, 1e-20)
			largest = max(largest, compute(t, literal, image).Value)
		}
	}
	if !(largest >= 0.1) {
		t.Errorf("without whitening linear maps change the value by %v at most; the docs say that they do", largest)
	}
}

// Equation 18: the mean square of a subgroup's points is 1, so two subgroups have at most 2.
func TestWorkshopBound(t *testing.T) {
	var most, literal float64
	for seed := range 30 {
		s := rng.New(uint64(seed), "codes")
		columns := 3 + seed%6
		shared := s.Float64() // part shared by all columns
		in := input(func(a []float64) []float64 {
			z, common := make([]float64, columns), s.NormFloat64()
			for c := range z {
				z[c] = shared*common + (1-shared)*s.NormFloat64()
			}
			return z
		}, 12, 10)
		r := compute(t, &DLSBDWorkshop{Omega: 10, Aggregate: factor.Sum, Whiten: true}, in)
		for k, v := range r.Part("per_subgroup") {
			if v < 0 || !(v <= 1+1e-12) {
				t.Errorf("seed %d: subgroup %d is %v; want 0 to 1", seed, k, v)
			}
		}
		most = max(most, r.Value)
		literal = max(literal, compute(t, &DLSBDWorkshop{Omega: 10, Aggregate: factor.Sum}, in).Value)
	}
	if !(most <= 2 && most >= 1.8) {
		t.Errorf("the largest value of noise is %v; want at most 2, and near it", most)
	}
	if !(literal >= 3) {
		t.Errorf("the largest value of noise without whitening is %v; the docs say that it exceeds 2", literal)
	}
}

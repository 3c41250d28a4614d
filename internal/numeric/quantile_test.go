package numeric

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestQuantile(t *testing.T) {
	for _, x := range []struct {
		sorted         []float64
		fraction, want float64
	}{
		{[]float64{3}, 0, 3}, {[]float64{3}, 0.7, 3}, {[]float64{3}, 1, 3},
		{[]float64{1, 2, 4}, 0.5, 2}, {[]float64{1, 2, 4}, 0.75, 3}, {[]float64{1, 2, 4}, 1, 4},
		{[]float64{1, 2}, 0.01, 1.01},
		{[]float64{1, 2, math.Inf(1)}, 0.5, 2}, {[]float64{1, 2, math.Inf(1)}, 1, math.Inf(1)},
	} {
		must.Equal(t, Quantile(x.sorted, x.fraction), x.want, x.fraction, x.sorted)
	}
}

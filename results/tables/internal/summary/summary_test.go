package summary

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// The median of an even number of values is the mean of the two middle values.
func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{9, 4, 1, 2}, 3}} {
		must.Equal(t, Median(test.values), test.want, test.values)
	}
}

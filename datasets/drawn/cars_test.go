package drawn_test

import (
	"math"
	"slices"
	"testing"

	. "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// The order by luminance contains the same cars, starting with the darkest.
func TestCarsOrder(t *testing.T) {
	long.NotShort(t)
	const n = 40
	pictures := func(order string) (list [][]float32, light []float64) {
		d := datatest.Build(t, &Cars{Size: 32, Elevations: 1, Azimuths: 1, Objects: n, Order: order})
		for i := range d.Len() {
			picture := make([]float32, 32*32*3)
			d.Image(i, picture)
			sum := 0.0
			for row := 14; row < 20; row++ { // the middle, which every car covers
				for _, v := range picture[3*(32*row+10) : 3*(32*row+22)] {
					sum += float64(v)
				}
			}
			list, light = append(list, picture), append(light, sum)
		}
		return list, light
	}
	plain, lot := pictures("")
	ordered, light := pictures("luminance")
	for k, p := range plain {
		if !slices.ContainsFunc(ordered, func(q []float32) bool { return slices.Equal(p, q) }) {
			t.Errorf("car %d is not among the ordered ones", k)
		}
	}
	// Pictures also show windows, which affect the order of single cars. Therefore, compare the two halves of the
	// order.
	half := func(values []float64) float64 {
		sum := 0.0
		for k, v := range values {
			if k < n/2 {
				sum -= v
			} else {
				sum += v
			}
		}
		return sum
	}
	if !(half(light) >= 2*math.Abs(half(lot))) {
		t.Errorf("the second half is brighter by %v in order, and by %v without", half(light), half(lot))
	}
	for words, bad := range map[string]*Cars{`unknown order "size"; want luminance`: {Size: 32, Elevations: 1, Azimuths: 1, Objects: 2, Order: "size"}} {
		must.Error(t, bad.Validate(), words, bad)
	}
}

package objects

import (
	"math"

	"github.com/unravel-ml/unravel/datasets/internal/render"
)

// revolvedSides is the number of sides of objects that are symmetric about the y axis. At a radius of 30 pixels they
// deviate from the circle by a fiftieth of a pixel.
const revolvedSides = 96

// Cone returns a white cone with its tip along the y axis. It is symmetric about that axis, like [Vase] and [Bottle].
func Cone() []render.Part { return revolved([2]float64{0.55, -0.8}, [2]float64{0, 0.8}) }

// Vase returns a white vase with a foot, a belly, a neck and a hollow in its top.
func Vase() []render.Part {
	profile := [][2]float64{{0.34, -1}, {0.34, -0.94}}
	for i := range 25 {
		t := float64(i) / 24
		sin, _ := render.Sincos(math.Pi * (0.12 + float64(1.2*t)))
		profile = append(profile, [2]float64{0.22 + float64(0.38*max(sin, 0)) + float64(0.12*float64(t*t)), -0.9 + float64(1.8*t)})
	}
	return revolved(append(profile, [2]float64{0.42, 1}, [2]float64{0.34, 1}, [2]float64{0.2, 0.6}, [2]float64{0, 0.5})...)
}

// Bottle returns a white bottle with a neck and a cap.
func Bottle() []render.Part {
	return revolved([2]float64{0.36, -1}, [2]float64{0.4, -0.96}, [2]float64{0.4, 0.2}, [2]float64{0.37, 0.32}, [2]float64{0.29, 0.43}, [2]float64{0.2, 0.52},
		[2]float64{0.14, 0.62}, [2]float64{0.13, 0.7}, [2]float64{0.13, 0.9}, [2]float64{0.17, 0.9}, [2]float64{0.17, 1})
}

func revolved(profile ...[2]float64) []render.Part {
	a := &assembly{}
	a.add(vec{1, 1, 1}, lathe(revolvedSides, profile...))
	return a.parts()
}

package geometry_test

import (
	"fmt"

	"github.com/unravel-ml/unravel/internal/geometry"
)

func ExampleBall_Enclose() {
	var ball geometry.Ball
	err := ball.Enclose([]float64{0, 0, 4, 0, 1, 1, 4, 0}, 2)
	fmt.Println(ball.Centre, ball.Radius, ball.Multipliers, err)
	// Output: [2 0] 2 [0.5 0.5 0 0] <nil>
}

func ExampleMedian_Fit() {
	var median geometry.Median
	err := median.Fit([]float64{0, 0, 0, 0, 0, 0, 3, 4}, 2)
	fmt.Println(median.Centre, median.MeanDistance, err)
	// Output: [0 0] 1.25 <nil>
}

func ExampleRegression_Minimax() {
	x, y := []float64{0, 1, 2}, []float64{0, 2, 2}
	var fit geometry.Regression
	err := fit.Minimax(x, 1, y, 1)
	fmt.Printf("h(x) = %.1f x + %.1f, at most %.1f off (%v)\n", fit.Weights[0], fit.Intercept[0], fit.Errors[0], err)
	// Output: h(x) = 1.0 x + 0.5, at most 0.5 off (<nil>)
}

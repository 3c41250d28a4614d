package losses

import ()

// Example holds numbers for the nodes of an [Input]. Package conformance passes them to a loss, and an [Optimal] loss
// changes them. Arrays are in row-major order. There are 16 images in groups of 4. The factors are shape (categorical,
// 3 levels), size (ordinal, 4 levels) and angle (circular, 4 levels). Level 0 of shape makes the categorical dimension
// of a hierarchy inactive.
type Example struct {
	Images, Logits                     []float64 // [16, 2, 2, 1]
	Codes, Sample, LogVariance, Active []float64 // [16, 6]
	Means, LogSigmas                   []float64 // parameters of a Gaussian posterior, [16, 3]
	// points on a circle, and the same points after transformations, [16, 2]
	Points, Moved []float64
	Options       []float64 // weights of the options of one categorical dimension, [16, 2]
	Weights       []float64 // weights of a layer, [16, 2]

	ActionAngles []float64 // angles of four actions in R^4, [4, 6]
	Predicted    []float64 // codes predicted from actions, [16, 6]
	Actions      []float64 // one-hot actions that lead to the images, [16, 4]; 0 for the first image of each group

	Projections, Predictions, Targets []float64 // for two views, [16, 6]
	Queries, Keys                     []float64 // [8, 6]
	Negatives                         []float64 // [6, 10]

	Energy []float64 // weights W of an energy with the columns f(x) = tanh(x W), [4, 6]

	Groups, Values, Levels []float64 // of the three factors, [16, 3]
	Different              []float64 // for each factor, a row that is known to have another level, or -1, [16, 3]
	Exact                  []float64 // values of the continuous dimensions of a hierarchy, [16, 6]
	Angles                 []float64 // rotation angles of a factor, [16, 1]
	Rotations              []float64 // axes and angles, [16, 4]
}

// Optimal is implemented by losses with the minimum 0.
type Optimal interface {
	// Optimum sets an example to a minimum of the loss with the value 0. It reports false if the loss has no such
	// minimum with its settings.
	Optimum(x *Example) bool
}

// Varied is implemented by losses that need tests with other settings than the defaults.
type Varied interface {
	// Variants returns further settings to test.
	Variants() []Loss
}

// uncorrelated sets the columns of codes [16, columns] to scaled Walsh functions, which are uncorrelated and have mean
// 0 and variance scale^2.
func uncorrelated(codes []float64, columns int, scale float64) {
	for i := range codes {
		row, pattern, sign := i/columns, i%columns+1, scale
		for bits := row & pattern; bits != 0; bits &= bits - 1 {
			sign = -sign
		}
		codes[i] = sign
	}
}

// constantCodes sets all codes to one number.
func (x *Example) constantCodes() {
	fill(x.Codes, 0.5)
	fill(x.Sample, 0.5)
}

// separateCodes moves the codes of different images at least step apart.
func (x *Example) separateCodes(step float64) {
	for i := range x.Codes {
		x.Codes[i] = step * float64(i)
	}
	copy(x.Sample, x.Codes)
}

// fill sets all elements to a number.
func fill(x []float64, v float64) {
	for i := range x {
		x[i] = v
	}
}

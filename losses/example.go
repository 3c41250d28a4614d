package losses

import ()

// Example holds numbers for the nodes of an [Input]: package conformance passes them to a loss, and an [Optimal] loss
// changes them. Arrays are in row-major order. There are 16 images in groups of 4. The factors are shape (categorical,
// 3 levels), size (ordinal, 4 levels) and angle (circular, 4 levels). Level 0 of shape makes the categorical dimension
// of a hierarchy inactive.
type Example struct {
	Images, Logits                     []float64 // [16, 2, 2, 1]
	Codes, Sample, LogVariance, Active []float64 // [16, 6]
	Means, LogSigmas                   []float64 // of a Gaussian posterior, [16, 3]
	Points, Moved                      []float64 // of a circle on which transformations act, [16, 2]
	Options                            []float64 // of one categorical dimension, [16, 2]
	Weights                            []float64 // of a layer, [16, 2]

	ActionAngles []float64 // of four actions in R^4, [4, 6]
	Predicted    []float64 // codes that actions predict, [16, 6]
	Actions      []float64 // that lead to the images, [16, 4]; 0 of the first of each group

	Projections, Predictions, Targets []float64 // of two views, [16, 6]
	Queries, Keys                     []float64 // [8, 6]
	Negatives                         []float64 // [6, 10]

	Energy []float64 // weights of an energy's columns f(x) = tanh(x W) of images, [4, 6]

	Groups, Values, Levels []float64 // of the factors, [16, 3]
	Different              []float64 // rows that are known to differ in a factor; -1: none, [16, 3]
	Exact                  []float64 // values of the continuous dimensions of a hierarchy, [16, 6]
	Angles                 []float64 // by which a factor has turned, [16, 1]
	Rotations              []float64 // axes and angles, [16, 4]
}

// Optimal is implemented by losses with the least value 0.
type Optimal interface {
	// Optimum changes an example to one where the loss is 0, its minimum, and reports
	// whether the loss has such a minimum with its settings.
	Optimum(x *Example) bool
}

// Varied is implemented by losses that are also tested with settings other than the defaults.
type Varied interface {
	// Variants returns further settings to test.
	Variants() []Loss
}

// uncorrelated sets the columns of codes [16, columns] to scaled Walsh functions:
// uncorrelated, of mean 0 and variance scale^2.
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

// separateCodes puts the codes of different images at a distance of the step or more.
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

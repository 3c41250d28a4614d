package main

// The transforms of F(4x4, 2x2) and F(2x2, 4x4) with the points 0, a, -a, b and infinity; internal/kernel has
// their formulas.
const (
	phaseA, phaseB = 1.25, 0.5
	phaseSquare    = phaseA * phaseA
)

// winograd4 writes the transforms of tiles of 4x4 pixels of a phase.
func winograd4(v isa) {
	const a, b, q = phaseA, phaseB, phaseSquare
	tileTransform{name: "inputs25", doc: "transforms 5x5 inputs to 25", in: 5, out: 5, groups: []group{
		{at: []int{0, 4}, result: []sum{{{1, 3}, {-b, 2}, {-q, 1}, {q * b, 0}}, {{1, 4}, {-b, 3}, {-q, 2}, {q * b, 1}}}},
		{at: []int{1, 2}, shared: []sum{{{1, 3}, {-b, 2}}, {{1, 2}, {-b, 1}}}, result: []sum{{{1, 5}, {a, 6}}, {{1, 5}, {-a, 6}}}},
		{at: []int{3}, result: []sum{{{1, 3}, {-q, 1}}}}}}.write(v)

	const zero, plus, minus, half = 1 / (q * b), 1 / (2 * q * (a - b)), -1 / (2 * q * (a + b)), 1 / (b * (b*b - q))
	tileTransform{name: "filters25", doc: "transforms 2x2 taps to 25", in: 2, out: 5, groups: []group{
		{at: []int{0, 4}, result: []sum{{{zero, 0}}, {{1, 1}}}},
		{at: []int{1, 2}, result: []sum{{{plus, 0}, {plus * a, 1}}, {{minus, 0}, {-minus * a, 1}}}},
		{at: []int{3}, result: []sum{{{half, 0}, {half * b, 1}}}}}}.write(v)
	tileTransform{name: "pixels25", doc: "transforms 4x4 pixels to 25", in: 4, out: 5, groups: []group{
		{at: []int{0, 4}, result: []sum{{{zero, 0}}, {{1, 3}}}},
		{at: []int{1, 2}, shared: []sum{{{1, 0}, {q, 2}}, {{1, 1}, {q, 3}}}, result: []sum{{{plus, 4}, {plus * a, 5}}, {{minus, 4}, {-minus * a, 5}}}},
		{at: []int{3}, result: []sum{{{half, 0}, {half * b, 1}, {half * b * b, 2}, {half * b * b * b, 3}}}}}}.write(v)

	sums, differences := []sum{{{1, 1}, {1, 2}}}, []sum{{{1, 1}, {-1, 2}}}
	first := sum{{1, 5}, {1, 0}, {1, 3}}
	tileTransform{name: "outputs25", doc: "transforms 25 products to 4x4 outputs, adds the bias and takes the maximum with floor", in: 5, out: 4, bias: true, groups: []group{
		{shared: sums, at: []int{0, 2}, result: []sum{first, {{q, 5}, {b * b, 3}}}},
		{shared: differences, at: []int{1, 3}, result: []sum{{{a, 5}, {b, 3}}, {{1, 4}, {q * a, 5}, {b * b * b, 3}}}}}}.write(v)
	tileTransform{name: "taps25", doc: "transforms 25 products to 2x2 taps", in: 5, out: 2, groups: []group{
		{shared: sums, at: []int{0}, result: []sum{first}},
		{shared: differences, at: []int{1}, result: []sum{{{1, 4}, {a, 5}, {b, 3}}}}}}.write(v)
}

package factor

import "math"

// Aggregate is a universal aggregator of Zhang and Sugiyama 2024, section 2.2. It reduces non-negative numbers to one
// number, which is 0 if and only if all of them are 0.
type Aggregate uint8

// The aggregates.
const (
	Mean Aggregate = iota
	Max            // the gradient goes to the first maximum
	Sum
	MeanSquare // mean of the squares, without a root
)

var aggregateNames = names{"mean", "max", "sum", "mean-square"}

func (a Aggregate) String() string { return nameOf(a, aggregateNames) }

// ParseAggregate is the inverse of [Aggregate.String]. It returns an error for an unknown name.
func ParseAggregate(name string) (Aggregate, error) {
	return parseName[Aggregate](name, "aggregate", aggregateNames)
}

func (a Aggregate) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

func (a *Aggregate) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAggregate(string(text))
	return err
}

// Known reports whether a is a defined aggregate.
func (a Aggregate) Known() bool { return int(a) < len(aggregateNames) }

// Of returns the aggregate of q, or 0 if q is empty.
func (a Aggregate) Of(q []float64) float64 {
	if len(q) == 0 {
		return 0
	}
	if a == Max {
		return q[firstMaximum(q)]
	}
	sum := 0.0
	for _, v := range q {
		if a == MeanSquare {
			v *= v
		}
		sum += v
	}
	if a == Sum {
		return sum
	}
	return sum / float64(len(q))
}

// Slope sets dq to the gradient of the aggregate with respect to q.
func (a Aggregate) Slope(q, dq []float64) {
	n := float64(len(q))
	for i, v := range q {
		switch a {
		case Mean:
			dq[i] = 1 / n
		case Max:
			dq[i] = 0
		case Sum:
			dq[i] = 1
		case MeanSquare:
			dq[i] = 2 * v / n
		}
	}
	if a == Max && len(q) > 0 {
		dq[firstMaximum(q)] = 1
	}
}

// firstMaximum returns the index of the first NaN or, if there is none, of the first maximum.
func firstMaximum(q []float64) int {
	best := 0
	for i, v := range q {
		if math.IsNaN(v) {
			return i
		}
		if v > q[best] {
			best = i
		}
	}
	return best
}

// Deviation names a measure of dispersion of points p_1, ..., p_n (Zhang and Sugiyama 2024, sections 3.1 and 3.2). It
// is 0 if and only if all points are equal. Distances are Euclidean. Values have the units of the points (Variance:
// squared).
type Deviation uint8

// The deviations.
const (
	Variance Deviation = iota // 1/n sum_i |p_i - mean|^2
	Diameter                  // max_ij |p_i - p_j|
	MPD                       // 1/(2 n^2) sum_ij |p_i - p_j|: half the mean pairwise distance
	Radius                    // min_c max_i |p_i - c|: radius of the smallest enclosing ball
	MAD                       // min_c 1/n sum_i |p_i - c|: mean distance from the geometric median
)

var deviationNames = names{"variance", "diameter", "mpd", "radius", "mad"}

func (d Deviation) String() string { return nameOf(d, deviationNames) }

// Known reports whether d is a defined deviation.
func (d Deviation) Known() bool                  { return int(d) < len(deviationNames) }
func (d Deviation) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d *Deviation) UnmarshalText(text []byte) (err error) {
	*d, err = parseName[Deviation](string(text), "deviation", deviationNames)
	return err
}

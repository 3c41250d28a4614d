package factor

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

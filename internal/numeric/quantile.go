package numeric

// Quantile returns the value below which a fraction of sorted numbers lies, interpolated linearly between neighbours.
func Quantile(sorted []float64, fraction float64) float64 {
	place := fraction * float64(len(sorted)-1)
	i := min(int(place), len(sorted)-1)
	part := place - float64(i)
	if part == 0 {
		return sorted[i]
	}
	return sorted[i] + part*(sorted[i+1]-sorted[i])
}

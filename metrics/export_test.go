package metrics

// AssignColumns is the assignment of columns to factors, for its test.
var AssignColumns = assign

// Concentration is the arithmetic of disentanglement and, of the transposed matrix,
// completeness, for its test.
var (
	Concentration = concentration
	Transposed    = transposed
)

package logic

// Exported for tests with the operations of package losses, which imports package logic.
var (
	Parsed   = parsed
	Compiled = compiled
	Batches  = batches
	Evaluate = evaluate
)

// Summands returns the number of parts of a sentence with named losses.
func (q *Quantity) Summands() int { return len(q.summands) }

// Arrays returns codes, values of factors and labels.
func (b batch) Arrays() (z, y, labels [][]float64) { return b.z, b.y, b.labels }

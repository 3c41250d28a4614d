package logic

// What tests with the operations of package losses, which imports this one, need.
var (
	Parsed   = parsed
	Compiled = compiled
	Batches  = batches
	Evaluate = evaluate
)

// Summands returns how many parts a sentence with named losses has.
func (q *Quantity) Summands() int { return len(q.summands) }

// Arrays returns codes, values of factors and labels.
func (b batch) Arrays() (z, y, labels [][]float64) { return b.z, b.y, b.labels }

package metrics

import (
	"context"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/losses/logic"
)

// batch returns all rows, as the sentence needs them.
func (l *Logic) batch(in *Input, q *logic.Quantity) logic.Batch {
	n, k := in.Codes.Rows, len(in.Factors)
	b := logic.Batch{Codes: rowList(in.Codes.Data, n, in.Codes.Cols)}
	if q.NeedsValues() {
		b.Values = rowList(in.factorRows(l.Units), n, k)
	}
	if q.NeedsValues() || q.NeedsLabels() { // rows with unknown values are outside the domain
		labels := make([]float64, n*k)
		for at, level := range in.Levels {
			labels[at] = float64(level)
		}
		b.Labels = rowList(labels, n, k)
	}
	if q.NeedsMoves() {
		levels := make([][]int, n)
		for i := range levels {
			levels[i] = in.Levels[i*k : (i+1)*k]
		}
		b.Moves, b.Groups = logic.MovesOf(in.Factors, levels)
	}
	return b
}

// rowList divides an array into n rows, which share its memory.
func rowList(data []float64, n, width int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = data[i*width : (i+1)*width]
	}
	return rows
}

// affordable returns a batch, or random rows of the batch that keep the sentence within the allowed number of tuples.
func (l *Logic) affordable(ctx context.Context, in *Input, q *logic.Quantity, b logic.Batch) (logic.Batch, error) {
	n := len(b.Codes)
	most := n
	if l.Samples > 0 {
		most = min(n, l.Samples)
	}
	whole, err := q.Tuples(b)
	if err != nil || most == n && whole <= float64(l.Tuples) {
		return b, err
	}
	if in.Stream == nil {
		return b, fmt.Errorf("the sentence runs over %.2g tuples of %d rows, and there is no stream of random numbers to choose rows; want one, or at most %d tuples and no samples",
			whole, n, l.Tuples)
	}
	order := in.Stream.Perm(n)
	fits := func(m int) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		tuples, err := q.Tuples(chosenRows(b, order[:m]))
		return tuples <= float64(l.Tuples), err
	}
	if ok, err := fits(most); ok || err != nil {
		return chosenRows(b, order[:most]), err
	}
	few := 1
	for most-few > 1 { // few rows fit, most do not: tuples grow with the rows
		middle := (few + most) / 2
		switch ok, err := fits(middle); {
		case err != nil:
			return b, err
		case ok:
			few = middle
		default:
			most = middle
		}
	}
	return chosenRows(b, order[:few]), nil
}

// chosenRows returns some rows of a batch, in the batch's order.
func chosenRows(b logic.Batch, rows []int) logic.Batch {
	rows = slices.Clone(rows)
	slices.Sort(rows)
	b.Codes, b.Values, b.Labels = chosen(b.Codes, rows), chosen(b.Values, rows), chosen(b.Labels, rows)
	b.Moves, b.Groups = chosen(b.Moves, rows), chosen(b.Groups, rows)
	return b
}

package findings

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/metrics/ranking"
)

// tau is Kendall's tau-b between two orders of rows, with its bounds. A single run, short training or unlearned
// images limit a row. If one row of a pair is limited and both rows can explain their difference, the pair may have
// either order.
type tau struct {
	value, low, high float64
	open             int // pairs that may have either order
}

// tauOf compares the orders of two lists.
func tauOf(a, b []side) tau {
	var x, y []float64
	for i := range a {
		x, y = append(x, a[i].value), append(y, b[i].value)
	}
	t := tau{value: ranking.KendallTau(x, y)}
	t.low, t.high = t.value, t.value
	pairs, sum := 0, 0 // pairs without a tie, and concordant less discordant ones
	for i := range a {
		for j := range i {
			order := (a[i].value - a[j].value) * (b[i].value - b[j].value)
			switch {
			case undecided(a[i], a[j]) || undecided(b[i], b[j]):
				t.open++
			case order > 0:
				sum++
			case order < 0:
				sum--
			default:
				continue
			}
			pairs++
		}
	}
	if t.open > 0 && !math.IsNaN(t.value) {
		t.low, t.high = float64(sum-t.open)/float64(pairs), float64(sum+t.open)/float64(pairs)
	}
	return t
}

// undecided reports whether two values may have the other order, because one of them is limited.
func undecided(a, b side) bool {
	return (a.why() != "" || b.why() != "") && compare(a, b, true) == Undecided
}

func (t tau) String() string {
	if t.open == 0 {
		return fmt.Sprintf("%.2f", t.value)
	}
	return fmt.Sprintf("%.2f, %.2f to %.2f with the pairs that may go either way", t.value, t.low, t.high)
}

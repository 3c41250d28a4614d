package geometry

import "math"

// Assign returns a different column for every row of a cost matrix (rows x columns, rows <= columns). The assignment
// minimises the sum of costs. It is the Hungarian algorithm with shortest augmenting paths.
func Assign(cost [][]float64) []int {
	rows, columns := len(cost), len(cost[0])
	u, v := make([]float64, rows+1), make([]float64, columns+1) // dual variables (prices); index 0 is no row or column
	rowOf, before := make([]int, columns+1), make([]int, columns+1)
	slack, done := make([]float64, columns+1), make([]bool, columns+1)
	for row := 1; row <= rows; row++ {
		rowOf[0] = row
		for j := range slack {
			slack[j], done[j] = math.Inf(1), false
		}
		at := 0
		for rowOf[at] != 0 { // grow the tree of shortest paths until it reaches a free column
			done[at] = true
			i, next, least := rowOf[at], 0, math.Inf(1)
			for j := 1; j <= columns; j++ {
				if done[j] {
					continue
				}
				if d := cost[i-1][j-1] - u[i] - v[j]; d < slack[j] {
					slack[j], before[j] = d, at
				}
				if slack[j] < least {
					least, next = slack[j], j
				}
			}
			shiftPrices(least, u, v, slack, rowOf, done)
			at = next
		}
		for at != 0 {
			rowOf[at] = rowOf[before[at]]
			at = before[at]
		}
	}
	chosen := make([]int, rows)
	for j, row := range rowOf[1:] {
		if row != 0 {
			chosen[row-1] = j
		}
	}
	return chosen
}

// shiftPrices changes the prices of the tree's rows and columns by the minimum slack.
func shiftPrices(least float64, u, v, slack []float64, rowOf []int, done []bool) {
	for j := range slack {
		if done[j] {
			u[rowOf[j]] += least
			v[j] -= least
		} else {
			slack[j] -= least
		}
	}
}

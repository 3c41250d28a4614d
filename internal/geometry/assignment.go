package geometry

import "math"

// Assign returns a different column for every row of a cost matrix (rows x columns, rows <= columns). The assignment
// minimises the sum of costs. It is the Hungarian algorithm with shortest augmenting paths.
func Assign(cost [][]float64) []int {
	rows, columns := len(cost), len(cost[0])
	u, v := make([]float64, rows+1), make([]float64, columns+1) // dual variables (prices); index 0 is no row or column
	assigned, previous := make([]int, columns+1), make([]int, columns+1)
	slack, inTree := make([]float64, columns+1), make([]bool, columns+1)
	for row := 1; row <= rows; row++ {
		assigned[0] = row
		for j := range slack {
			slack[j], inTree[j] = math.Inf(1), false
		}
		column := 0
		for assigned[column] != 0 { // grow the tree of shortest paths until it reaches a free column
			inTree[column] = true
			i, next, minSlack := assigned[column], 0, math.Inf(1)
			for j := 1; j <= columns; j++ {
				if inTree[j] {
					continue
				}
				if d := cost[i-1][j-1] - u[i] - v[j]; d < slack[j] {
					slack[j], previous[j] = d, column
				}
				if slack[j] < minSlack {
					minSlack, next = slack[j], j
				}
			}
			shiftPrices(minSlack, u, v, slack, assigned, inTree)
			column = next
		}
		for column != 0 {
			assigned[column] = assigned[previous[column]]
			column = previous[column]
		}
	}
	assignment := make([]int, rows)
	for j, row := range assigned[1:] {
		if row != 0 {
			assignment[row-1] = j
		}
	}
	return assignment
}

// shiftPrices changes the prices of the tree's rows and columns by the minimum slack.
func shiftPrices(minSlack float64, u, v, slack []float64, assigned []int, inTree []bool) {
	for j := range slack {
		if inTree[j] {
			u[assigned[j]] += minSlack
			v[j] -= minSlack
		} else {
			slack[j] -= minSlack
		}
	}
}

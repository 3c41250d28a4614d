package factor

import (
	"fmt"
	"strings"
)

// Grid is a full product of factors. Its items are numbered in row-major order,
// the last factor fastest.
type Grid []Factor

// Len is the number of combinations of levels.
func (g Grid) Len() int {
	n := 1
	for _, f := range g {
		n *= f.Size
	}
	return n
}

// At writes the levels of item i.
func (g Grid) At(i int, dst []int) {
	for k := len(g) - 1; k >= 0; k-- {
		dst[k] = i % g[k].Size
		i /= g[k].Size
	}
}

// Index is the inverse of At.
func (g Grid) Index(levels []int) int {
	i := 0
	for k, f := range g {
		i = i*f.Size + levels[k]
	}
	return i
}

// Describe writes levels for people: "row 3, column 5".
func Describe(factors []Factor, levels []int) string {
	var b strings.Builder
	for k, f := range factors {
		if k > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d", f.Name, levels[k])
	}
	return b.String()
}

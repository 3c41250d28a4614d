package report

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/hierarchy"
	"github.com/unravel-ml/unravel/metrics"
)

// Decoder turns codes, [n, d], into images, [n, Height, Width, Channels].
type Decoder struct {
	Decode                  func(codes []float32) ([]float32, error)
	Height, Width, Channels int
}

// traversalSteps is the number of images in a row of a traversal.
const traversalSteps = 12

// maxTraversals bounds the rows of a figure of traversals.
const maxTraversals = 32

// CodeTraversals draws what a decoder makes of a code while one part of it moves: each circle, given by the first of
// its two columns, turns once; without circles each of the first 32 coordinates goes from -2 to 2.
func CodeTraversals(w io.Writer, code []float64, circles []int, d Decoder) error {
	title, labels, names := "angle on the circle, degrees", make([]string, traversalSteps), []string(nil)
	for i := range circles {
		names = append(names, circleName(i))
	}
	move := func(row []float32, part, step int) {
		sin, cos := math.Sincos(2 * math.Pi * float64(step) / traversalSteps)
		row[circles[part]], row[circles[part]+1] = float32(cos), float32(sin)
		labels[step] = fmt.Sprint(360 * step / traversalSteps)
	}
	if len(circles) == 0 {
		title = "value of the coordinate"
		for j := range min(len(code), maxTraversals) {
			names = append(names, fmt.Sprintf("z%d", j))
		}
		move = func(row []float32, part, step int) {
			row[part] = -2 + 4*float32(step)/(traversalSteps-1)
			labels[step] = fmt.Sprintf("%.2g", row[part])
		}
	}
	var rows []float32
	for part := range names {
		for step := range traversalSteps {
			at := len(rows)
			rows = appendRow(rows, code)
			move(rows[at:], part, step)
		}
	}
	images, err := d.Decode(rows)
	if err != nil {
		return err
	}
	return Traversals(w, "traversals", title, names, labels, images, d.Height, d.Width, d.Channels)
}

func appendRow(dst []float32, row []float64) []float32 {
	for _, v := range row {
		dst = append(dst, float32(v))
	}
	return dst
}

// PathTraversals draws, for every path through the hierarchy that codes take, what a decoder makes of a code near the
// path's median in which one active dimension moves from its 2nd to its 98th percentile on that path
// (Ross and Doshi-Velez 2021, figure A.9). It shows at most 32 rows, the paths with the most codes first, and writes
// nothing where there is no active dimension.
func PathTraversals(w io.Writer, codes metrics.Matrix, h hierarchy.Hierarchy, d Decoder) error {
	options := len(h.Categoricals())
	var rows []float32
	var labels []string
	for _, p := range pathsOf(codes, options) {
		mask := make([]bool, h.Continuous())
		h.Masks(p.choice, mask)
		base := codes.Row(medianRow(codes, p.rows, options))
		for j, active := range mask {
			if !active || len(labels) == maxTraversals {
				continue
			}
			low, high := quantile(codes, p.rows, options+j, 0.02), quantile(codes, p.rows, options+j, 0.98)
			for step := range traversalSteps {
				at := len(rows)
				rows = appendRow(rows, base)
				rows[at+options+j] = float32(low + (high-low)*float64(step)/(traversalSteps-1))
			}
			labels = append(labels, fmt.Sprintf("%v z%d", p.choice, j))
		}
	}
	if len(labels) == 0 {
		return nil
	}
	images, err := d.Decode(rows)
	if err != nil {
		return err
	}
	columns := make([]string, traversalSteps)
	columns[0], columns[traversalSteps-1] = "2 %", "98 %"
	return Traversals(w, "paths", "percentile of the dimension; rows: options [a0 a1 ...] and dimension", labels, columns, images, d.Height, d.Width, d.Channels)
}

// codePath is a combination of options, and the rows of the codes that choose it.
type codePath struct {
	choice []int
	rows   []int
}

// pathsOf groups codes by their options, which stand in the first columns as 1 + option; the
// largest groups first.
func pathsOf(codes metrics.Matrix, options int) []codePath {
	var list []codePath
	at := map[string]int{}
	for i := range codes.Rows {
		choice := make([]int, options)
		key := make([]byte, options)
		for c := range choice {
			choice[c] = int(codes.Row(i)[c]) - 1
			key[c] = byte(choice[c] + 1)
		}
		p, ok := at[string(key)]
		if !ok {
			p = len(list)
			at[string(key)] = p
			list = append(list, codePath{choice: choice})
		}
		list[p].rows = append(list[p].rows, i)
	}
	slices.SortStableFunc(list, func(a, b codePath) int { return len(b.rows) - len(a.rows) })
	return list
}

// medianRow returns the row of a group that is nearest to the group's medians in the columns from first on.
func medianRow(codes metrics.Matrix, rows []int, first int) int {
	medians := make([]float64, codes.Cols)
	for c := first; c < codes.Cols; c++ {
		medians[c] = quantile(codes, rows, c, 0.5)
	}
	best, least := rows[0], -1.0
	for _, r := range rows {
		var sum float64
		for c := first; c < codes.Cols; c++ {
			d := codes.Row(r)[c] - medians[c]
			sum += d * d
		}
		if least < 0 || sum < least {
			best, least = r, sum
		}
	}
	return best
}

// quantile returns the value of a column below which a fraction of the rows lies.
func quantile(codes metrics.Matrix, rows []int, column int, fraction float64) float64 {
	values := make([]float64, len(rows))
	for i, r := range rows {
		values[i] = codes.Row(r)[column]
	}
	slices.Sort(values)
	return values[int(fraction*float64(len(values)-1))]
}

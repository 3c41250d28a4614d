package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/raster"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Limits of a sheet of neighbours.
const (
	maxQueries       = 8
	maxNeighbours    = 8
	maxRetrieved     = 6 // maximum number of factors with a mark
	retrievedPixels  = 72
	minNeighbours    = 1
	retrievedFactors = "squares below: factors with the level of the query (%s); a frame: all of them"
)

// Images provides the pictures of rows of codes.
type Images struct {
	Pixels                  func(rows []int) []float32
	Height, Width, Channels int
}

type neighbour struct {
	row      int
	distance float64
}

func norms(codes matrix.Matrix) []float64 {
	list := make([]float64, codes.Rows)
	for i := range list {
		list[i] = floats.Norm(codes.Row(i), 2)
	}
	return list
}

// neighbours returns the rows nearest to a row by the cosine distance of the codes, 1 - cos, in ascending order. For
// equal distances, the first rows win. Codes of length 0 and codes with NaN or infinite numbers have distance 1 to all
// others.
func neighbours(codes matrix.Matrix, norms []float64, query, count int) []neighbour {
	list := make([]neighbour, 0, codes.Rows)
	q := slices.Clone(codes.Row(query))
	for c := range q {
		q[c] /= norms[query]
	}
	for i := range codes.Rows {
		if i == query {
			continue
		}
		cosine, norm := 0.0, norms[i]
		for c, v := range codes.Row(i) { // quotients, because products of large codes overflow
			cosine += v / norm * q[c]
		}
		if math.IsNaN(cosine) {
			cosine = 0
		}
		list = append(list, neighbour{i, max(0, 1-cosine)})
	}
	slices.SortStableFunc(list, func(a, b neighbour) int { return cmp.Compare(a.distance, b.distance) })
	return list[:min(count, len(list))]
}

// Retrieval shows some images and their nearest neighbours among the codes, by cosine distance. Marks below a neighbour
// show which factors have the same level as in the query. For fewer than two codes, Retrieval writes nothing.
func Retrieval(w io.Writer, title string, in *metrics.Input, images Images) error {
	n := in.Codes.Rows
	if n < 1+minNeighbours {
		return nil
	}
	queries := make([]int, min(n, maxQueries))
	for i := range queries { // multiples of the golden ratio do not align with the factor grid
		queries[i] = int(math.Mod(float64(i+1)*math.Phi, 1) * float64(n))
	}
	count := min(maxNeighbours, n-1)
	var rows []int
	t := &raster.Tiles{Title: title,
		Subtitle:    fmt.Sprintf("nearest of %d codes by cosine distance, which is below each image", n),
		ColumnTitle: "query, then neighbours"}
	marked := variedFactors(in, maxRetrieved, true)
	if len(marked) > 0 {
		var names []string
		for _, k := range marked {
			names = append(names, in.Factors[k].Name)
		}
		t.Subtitle += "\n" + fmt.Sprintf(retrievedFactors, strings.Join(names, ", "))
	}
	allNorms := norms(in.Codes)
	for _, q := range queries {
		rows = append(rows, q)
		captions, marks, framed := []string{"query"}, [][]bool{nil}, []bool{false}
		for _, match := range neighbours(in.Codes, allNorms, q, count) {
			rows, captions = append(rows, match.row), append(captions, fmt.Sprintf("%.3g", match.distance))
			agree := agreement(in, marked, q, match.row)
			marks, framed = append(marks, agree), append(framed, len(agree) > 0 && !slices.Contains(agree, false))
		}
		t.Captions, t.Framed = append(t.Captions, captions), append(t.Framed, framed)
		if len(marked) > 0 {
			t.Marks = append(t.Marks, marks)
		}
	}
	pixels := images.Pixels(rows)
	pictures, err := raster.PicturesOf(images.Height, images.Width, images.Channels, pixels).Of(pixels)
	if err != nil {
		return fmt.Errorf("report: retrieval: %w", err)
	}
	t.Scale, t.Gap = scaleOf(retrievedPixels, pictures), 8
	t.Rows = slices.Collect(slices.Chunk(pictures, count+1))
	return raster.WritePNG(w, t.Draw())
}

// agreement reports for each factor whether two rows have the same known level.
func agreement(in *metrics.Input, factors []int, a, b int) (same []bool) {
	n := len(in.Factors)
	for _, k := range factors {
		level := in.Levels[a*n+k]
		same = append(same, level != factor.Unknown && level == in.Levels[b*n+k])
	}
	return same
}

package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// CodeTraversals draws decoded images while one part of the first known code moves at a time. Each choice cycles
// through its options, and each circle makes one turn. All spheres S^2 rotate together, one turn about each of three
// axes. A sphere of more dimensions goes once around the great circle through each axis. Each other column goes from
// the 1st to the 99th percentile of the known codes. There are at most 32 rows. The Q of the first sphere determines
// the axes of S^2: if the codes follow a pose, they are the axes of the world.
func CodeTraversals(w io.Writer, codes *decode.Codes, spheres []Sphere, d Decoder) error {
	t := traversalsOf(codes, spheres)
	labels, title := t.axisLabels()
	return traversalSheet(w, "Decoded images while one part of the code moves and the rest is fixed",
		title, t.names, labels, t.rows, d)
}

func traversalsOf(codes *decode.Codes, spheres []Sphere) *traversals {
	t := &traversals{code: codes.Known.Row(0), codes: codes}
	parts := codes.Parts()
	for _, p := range parts {
		if p.Chooses() {
			t.cycleOptions(p)
		}
	}
	for _, p := range parts {
		if p.Turns() {
			t.goAround(p, circleName(t.circles))
			t.circles++
		}
	}
	t.rotateSpheres(spheres)
	for _, p := range parts {
		if _, width := p.Columns(); p.Round() && width > 3 {
			t.goAround(p, p.Name)
			t.arcs++
		}
	}
	for _, p := range parts {
		if !p.Round() && !p.Chooses() {
			t.moveColumn(p)
		}
	}
	return t
}

type traversals struct {
	code  []float64
	codes *decode.Codes
	names []string
	rows  []float32

	choices, circles, rotations, arcs, columns int // number of rows of each kind
}

// row adds a row of traversalSteps codes, unless the figure is full.
func (t *traversals) row(name string, at func(step int) []float64) {
	if len(t.names) == maxTraversals {
		return
	}
	t.names = append(t.names, name)
	for step := range traversalSteps {
		t.rows = appendRow(t.rows, at(step))
	}
}

// cycleOptions cycles through the options of a choice. The name of the row has the last option that the row shows.
func (t *traversals) cycleOptions(p decode.Part) {
	r, _ := t.codes.Walk(t.code, p, 0)
	name := fmt.Sprintf("%s: 1 to %d", p.Name, min(len(r.Codes), traversalSteps))
	if len(r.Codes) > traversalSteps {
		name += fmt.Sprint(" of ", len(r.Codes))
	}
	t.row(name, func(step int) []float64 { return r.Codes[step%len(r.Codes)] })
	t.choices++
}

// goAround moves the code around a circle or a great circle.
func (t *traversals) goAround(p decode.Part, name string) {
	r, _ := t.codes.Walk(t.code, p, traversalSteps)
	t.row(name, func(step int) []float64 { return r.Codes[step] })
}

// rotateSpheres rotates all spheres about each axis.
func (t *traversals) rotateSpheres(spheres []Sphere) {
	if len(spheres) == 0 {
		return
	}
	for axis := range 3 {
		var k [3]float64
		k[axis] = 1
		t.row([]string{"about x", "about y", "about z"}[axis], func(step int) []float64 {
			return rotateSpheres(t.code, spheres, rotation.AboutAxis(k, 2*math.Pi*float64(step)/traversalSteps))
		})
		t.rotations++
	}
}

// moveColumn moves a column between its percentiles.
func (t *traversals) moveColumn(p decode.Part) {
	if len(t.names) == maxTraversals { // computing percentiles of all codes takes time
		return
	}
	column, _ := p.Columns()
	values := percentileSteps(t.codes.Known, numeric.UpTo(t.codes.Known.Rows), column)
	t.row(fmt.Sprintf("%s: %.2g to %.2g", p.Name, values[0], values[traversalSteps-1]), func(step int) []float64 {
		code := slices.Clone(t.code)
		code[column] = values[step]
		return code
	})
	t.columns++
}

// axisLabels returns the labels above the columns, and a title that explains them and the exceptions.
func (t *traversals) axisLabels() (labels []string, title string) {
	labels = percentileLabels()
	var others []string
	if t.circles+t.rotations+t.arcs == 0 {
		title = "percentile of the column"
	} else {
		for step := range labels {
			labels[step] = fmt.Sprint(360 * step / traversalSteps)
		}
		title = "angle on the circle, degrees"
		switch {
		case t.rotations > 0:
			title = "angle on the circle, or of the turn of the spheres about an axis, degrees"
		case t.circles == 0:
			title = "angle on the great circle towards an axis, degrees"
		}
		if t.columns > 0 {
			others = append(others, fmt.Sprintf("of a column (z0, ...) its percentiles %d to %d", lowPercentile, highPercentile))
		}
	}
	if t.choices > 0 {
		others = append(others, "of a choice (a0, ...) its options in turn")
	}
	return labels, strings.Join(append([]string{title}, others...), "; ")
}

// Decoder maps codes, [n, d], to images, [n, Height, Width, Channels].
type Decoder struct {
	Decode                  func(codes []float32) ([]float32, error)
	Height, Width, Channels int
}

const traversalSteps = 12 // number of images per row of a traversal

const maxTraversals = 32

// rotateSpheres returns a code with its spheres rotated by Q g Q^T.
func rotateSpheres(code []float64, spheres []Sphere, g [9]float64) []float64 {
	code = slices.Clone(code)
	for _, s := range spheres {
		z := rotation.Apply(&s.Q, rotation.Apply(&g, s.toObject(code)))
		copy(code[s.First:], z[:])
	}
	return code
}

// Percentiles between which a column moves in traversals (Ross and Doshi-Velez 2021, figure A.9).
const lowPercentile, highPercentile = 1, 99

// percentileSteps returns the values of a column at the steps of a traversal, from its low to its high percentile over
// the rows.
func percentileSteps(codes matrix.Matrix, rows []int, column int) [traversalSteps]float64 {
	low, high := quantile(codes, rows, column, lowPercentile/100.), quantile(codes, rows, column, highPercentile/100.)
	var values [traversalSteps]float64
	for step := range values {
		values[step] = low + (high-low)*float64(step)/(traversalSteps-1)
	}
	return values
}

func percentileLabels() []string {
	labels := make([]string, traversalSteps)
	labels[0], labels[traversalSteps-1] = fmt.Sprint(lowPercentile, " %"), fmt.Sprint(highPercentile, " %")
	return labels
}

// SphereMap draws decoded images over latitude and longitude, while the first sphere of a code takes directions all
// over the sphere. In the coordinates of [Sphere], latitude 0 and longitude 0 point to the viewer, latitude 90 points
// up, and longitude 90 to the right. The other spheres rotate with it, by the rotation with the smallest angle. Without
// spheres, SphereMap writes nothing.
func SphereMap(w io.Writer, code []float64, spheres []Sphere, d Decoder) error {
	if len(spheres) == 0 {
		return nil
	}
	var rows []float32
	var latitudes, longitudes []string
	from := spheres[0].toObject(code)
	for latitude := 75; latitude >= -75; latitude -= 30 {
		latitudes = append(latitudes, fmt.Sprint(latitude))
		sinLat, cosLat := math.Sincos(float64(latitude) * math.Pi / 180)
		for longitude := -180; longitude < 180; longitude += 30 {
			if latitude == 75 {
				longitudes = append(longitudes, fmt.Sprint(longitude))
			}
			sin, cos := math.Sincos(float64(longitude) * math.Pi / 180)
			rows = appendRow(rows, rotateSpheres(code, spheres,
				smallestRotation(from, [3]float64{cosLat * sin, sinLat, cosLat * cos})))
		}
	}
	return traversalSheet(w, "Decoded images while the code moves over sphere 1 and the rest is fixed",
		"longitude, degrees; rows: latitude", latitudes, longitudes, rows, d)
}

// smallestRotation returns the rotation with the smallest angle that maps one direction to another.
func smallestRotation(from, to [3]float64) [9]float64 {
	axis := [3]float64{from[1]*to[2] - from[2]*to[1], from[2]*to[0] - from[0]*to[2], from[0]*to[1] - from[1]*to[0]}
	sin := math.Sqrt(axis[0]*axis[0] + axis[1]*axis[1] + axis[2]*axis[2])
	cos := from[0]*to[0] + from[1]*to[1] + from[2]*to[2]
	if sin < 1e-9 { // a half turn or none, about any perpendicular axis
		axis = [3]float64{-from[1], from[0], 0}
		if math.Abs(from[2]) > 0.9 {
			axis = [3]float64{0, -from[2], from[1]}
		}
	}
	return rotation.AboutAxis(axis, math.Atan2(sin, cos))
}

func appendRow(dst []float32, row []float64) []float32 {
	for _, v := range row {
		dst = append(dst, float32(v))
	}
	return dst
}

// PathTraversals draws traversals of every path that codes take through the hierarchy. A traversal starts from a code
// near the median of the path, and moves one active dimension from its 1st to its 99th percentile on that path (Ross
// and Doshi-Velez 2021, figure A.9). It shows at most 32 rows, and starts with the paths with the most codes. Without
// active dimensions, it writes nothing.
func PathTraversals(w io.Writer, codes matrix.Matrix, h hierarchy.Hierarchy, d Decoder) error {
	labels, rows := pathTraversals(codes, h)
	if len(labels) == 0 {
		return nil
	}
	return traversalSheet(w, "Decoded images while one dimension of each path moves and the rest is fixed",
		"percentile of the dimension on its path; rows: options [a0 a1 ...] and dimension",
		labels, percentileLabels(), rows, d)
}

// pathTraversals returns the codes of all traversals. A label has the options as in a code: from 1, and 0 for none.
func pathTraversals(codes matrix.Matrix, h hierarchy.Hierarchy) (labels []string, rows []float32) {
	options := len(h.Categoricals())
	for _, p := range groupByOptions(codes, options) {
		mask := make([]bool, h.Continuous())
		h.Masks(p.choice, mask)
		base := codes.Row(medianRow(codes, p.rows, options))
		for j, active := range mask {
			if !active || len(labels) == maxTraversals {
				continue
			}
			for _, v := range percentileSteps(codes, p.rows, options+j) {
				start := len(rows)
				rows = appendRow(rows, base)
				rows[start+options+j] = float32(v)
			}
			labels = append(labels, fmt.Sprintf("%v z%d", base[:options], j))
		}
	}
	return labels, rows
}

// codePath is a combination of options, with the rows of the codes that have these options.
type codePath struct {
	choice []int
	rows   []int
}

// groupByOptions groups codes by their options, which are in the first columns as 1 + option. The largest groups come
// first.
func groupByOptions(codes matrix.Matrix, options int) []codePath {
	var list []codePath
	index := map[string]int{}
	for i := range codes.Rows {
		choice := make([]int, options)
		for c := range choice {
			choice[c] = int(codes.Row(i)[c]) - 1
		}
		key := fmt.Sprint(choice)
		p, ok := index[key]
		if !ok {
			p = len(list)
			index[key] = p
			list = append(list, codePath{choice: choice})
		}
		list[p].rows = append(list[p].rows, i)
	}
	slices.SortStableFunc(list, func(a, b codePath) int { return len(b.rows) - len(a.rows) })
	return list
}

// medianRow returns the row of a group nearest to the group's medians in the columns from first on.
func medianRow(codes matrix.Matrix, rows []int, first int) int {
	medians := make([]float64, codes.Cols)
	for c := first; c < codes.Cols; c++ {
		medians[c] = quantile(codes, rows, c, 0.5)
	}
	best, smallest := rows[0], -1.0
	for _, r := range rows {
		var sum float64
		for c := first; c < codes.Cols; c++ {
			d := codes.Row(r)[c] - medians[c]
			sum += d * d
		}
		if smallest < 0 || sum < smallest {
			best, smallest = r, sum
		}
	}
	return best
}

// quantile returns the quantile of a column over the rows. It interpolates between values.
func quantile(codes matrix.Matrix, rows []int, column int, fraction float64) float64 {
	values := make([]float64, len(rows))
	for i, r := range rows {
		values[i] = codes.Row(r)[column]
	}
	slices.Sort(values)
	return numeric.Quantile(values, fraction)
}

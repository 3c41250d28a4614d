package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/unravel-ml/unravel/hierarchy"
	"github.com/unravel-ml/unravel/hierarchy/mimosa"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/report"
	"github.com/unravel-ml/unravel/rng"
)

// The limits of the picture of components.
const (
	maxGroupDots      = 6000
	componentColumns  = 3
	maxComponentViews = 12
)

// mimosaSummary is the JSON object of a run of MIMOSA.
type mimosaSummary struct {
	Hierarchy  hierarchy.Hierarchy `json:"hierarchy"`
	Components []componentSummary  `json:"components"`
	Coverage   float64             `json:"coverage"`
	Purity     *float64            `json:"purity,omitempty"`
	HError     *int                `json:"h_error,omitempty"`
	Codes      [2]int              `json:"codes"`          // rows and columns
	Initial    int                 `json:"initial"`        // components before small ones were dropped
	Merging    int                 `json:"before_merging"` // and after that
	Options    map[string]any      `json:"options"`
}

type componentSummary struct {
	Dim     int      `json:"dimension"`
	Size    int      `json:"size"`
	Parent  int      `json:"encloses"` // -1: none
	Lengths float64  `json:"distance"`
	Purity  *float64 `json:"purity,omitempty"`
}

func (x *exploration) summary(o mimosa.Options) mimosaSummary {
	r := x.result
	m := mimosaSummary{
		Hierarchy: r.Hierarchy, Components: []componentSummary{}, Coverage: r.Coverage, Purity: x.purity, HError: x.distance,
		Codes: [2]int{x.codes.Rows, x.codes.Cols}, Initial: r.Initial, Merging: r.Merging, Options: optionValues(o),
	}
	for i, c := range r.Components {
		s := componentSummary{Dim: c.Dim, Size: len(c.Points), Parent: c.Parent, Lengths: c.Lengths}
		if x.purity != nil {
			s.Purity = &x.each[i]
		}
		m.Components = append(m.Components, s)
	}
	return m
}

// optionValues maps the names of options in configs to values.
func optionValues(o mimosa.Options) map[string]any {
	return map[string]any{
		"neighbors": o.Neighbors, "ransac_fraction": o.RansacFraction, "min_variance": o.MinVariance, "min_decay": o.MinDecay,
		"min_cosine": o.MinCosine, "contagion": o.Contagion, "min_initial": o.MinInitial, "min_merged": o.MinMerged,
		"min_common_edges": o.MinCommonEdges, "max_lengths": o.MaxLengths, "equalize": o.Equalize,
	}
}

// labels counts the codes of every option.
func (x *exploration) labels() hierarchy.Labels {
	options := x.result.Hierarchy.Categoricals()
	rows := make([][]int, len(options))
	for j, n := range options {
		rows[j] = make([]int, n)
	}
	for at, option := range x.result.Choices {
		if option >= 0 {
			rows[at%len(options)][option]++
		}
	}
	return hierarchy.Labels{Rows: rows}
}

// writeFiles writes the files of --out into an existing folder.
func (x *exploration) writeFiles(dir string, o mimosa.Options) error {
	r := x.result
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"hierarchy.json", func(w io.Writer) error { return json.NewEncoder(w).Encode(r.Hierarchy) }},
		{"components.npy", func(w io.Writer) error {
			rows := x.allRows(1, func(row int, dst []int32) { dst[0] = int32(r.Labels[row]) })
			return npy.Write(w, []int{len(rows)}, rows)
		}},
		{"assignments.npy", func(w io.Writer) error {
			k := len(r.Hierarchy.Categoricals())
			return npy.Write(w, []int{x.rows(), k}, x.allRows(k, r.Labelled))
		}},
		{"mimosa.json", func(w io.Writer) error { return json.NewEncoder(w).Encode(x.summary(o)) }},
		{"hierarchy.png", func(w io.Writer) error { return report.Hierarchy(w, "Hierarchy", r.Hierarchy, x.labels()) }},
		{"components.png", x.drawComponents},
	} {
		if err := disk.WriteFile(filepath.Join(dir, f.name), f.write, false); err != nil {
			return err
		}
	}
	return nil
}

// rows returns the number of rows of the arrays: one for each code, or for each image of a run.
func (x *exploration) rows() int {
	if x.images == nil {
		return x.codes.Rows
	}
	return x.of
}

// allRows makes an array of k columns with a row for each code, or for each image of a run, -1 where it
// was not explored.
func (x *exploration) allRows(k int, fill func(row int, dst []int32)) []int32 {
	out := make([]int32, x.rows()*k)
	for i := range out {
		out[i] = -1
	}
	for row := range x.codes.Rows {
		at := row
		if x.images != nil {
			at = x.images[row]
		}
		fill(row, out[at*k:(at+1)*k])
	}
	return out
}

// drawComponents draws codes along their principal axes, in the colours of their components
// and of their paths, and every component alone along its own axes.
func (x *exploration) drawComponents(w io.Writer) error {
	rows := rng.New(0, "figure/components").Perm(x.codes.Rows)[:min(x.codes.Rows, maxGroupDots)]
	axes := x.along(rows, allRows(x.codes.Rows))
	components := make([]string, len(x.result.Components))
	for i, c := range x.result.Components {
		components[i] = fmt.Sprintf("%d: dimension %d, %d codes", i, c.Dim, len(c.Points))
	}
	planes := func(name string, of []int) []report.View {
		var list []report.View
		for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
			if pair[1] < len(axes) {
				list = append(list, report.View{Name: name, X: axes[pair[0]], Y: axes[pair[1]], Groups: pick(of, rows)})
			}
		}
		return list
	}
	table := []report.GroupRow{{Names: components, Views: planes("components", x.result.Labels)}}
	colours, names := x.result.Labels, components
	if x.paths != nil {
		colours, names = x.paths, x.names
		table = append(table, report.GroupRow{Names: names, Views: planes("true dimensions", colours)})
	}
	for i, c := range x.result.Components[:min(len(components), maxComponentViews)] {
		if i%componentColumns == 0 {
			table = append(table, report.GroupRow{Names: names})
		}
		some := pick(c.Points, rng.New(0, "figure/components").Perm(len(c.Points))[:min(len(c.Points), maxGroupDots)])
		own := x.along(some, c.Points)
		last := &table[len(table)-1]
		last.Views = append(last.Views, report.View{Name: fmt.Sprintf("component %d alone", i), X: own[0], Y: own[1], Groups: pick(colours, some)})
	}
	return report.Groups(w, x.name+": components", table)
}

// along projects codes onto the first three principal axes of some codes; the result has at least two columns.
func (x *exploration) along(rows, of []int) []report.Column {
	d := x.codes.Cols
	points := make([]float64, 0, len(of)*d)
	for _, i := range of {
		points = append(points, x.codes.Row(i)...)
	}
	p := mimosa.Principal(points, d)
	list := make([]report.Column, max(2, min(d, 3)))
	for a := range list {
		list[a] = column(fmt.Sprint("axis ", a+1), rows, func(i int) float64 {
			if a >= d {
				return 0
			}
			sum := 0.0
			for c, v := range x.codes.Row(i) {
				sum += (v - p.Mean[c]) * p.Axes[a*d+c]
			}
			return sum
		})
	}
	return list
}

func allRows(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// pick returns the values of the given rows.
func pick(values, rows []int) []int {
	list := make([]int, len(rows))
	for n, i := range rows {
		list[n] = values[i]
	}
	return list
}

package cli

import (
	"encoding/json"
	"io"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/models/hierarchy/mimosa"
)

// mimosaSummary is the JSON object of a run of MIMOSA.
type mimosaSummary struct {
	Hierarchy  hierarchy.Hierarchy `json:"hierarchy"`
	Components []componentSummary  `json:"components"`
	Coverage   float64             `json:"coverage"`
	Purity     *float64            `json:"purity,omitempty"`
	HError     *int                `json:"h_error,omitempty"`
	Codes      [2]int              `json:"codes"`          // rows and columns
	Initial    int                 `json:"initial"`        // number of components before small ones were dropped
	Merging    int                 `json:"before_merging"` // number of components after that
	Bits       bitsSummary         `json:"description_length"`
	Options    map[string]any      `json:"options"`
}

// bitsSummary is the description length of the codes.
type bitsSummary struct {
	PerCode float64 `json:"bits_per_code"`
	Flat    float64 `json:"flat_bits_per_code"`
	Options float64 `json:"options_bits"`   // bits of all codes
	Values  float64 `json:"values_bits"`    // likewise
	Outside float64 `json:"outside_bits"`   // the same for codes without a component
	Tree    float64 `json:"hierarchy_bits"` // once
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
	d := r.Describe(x.codes.Cols)
	m.Bits = bitsSummary{PerCode: d.PerCode(), Flat: d.FlatPerCode(), Options: d.Options, Values: d.Values, Outside: d.Outside, Tree: d.Tree}
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
		{"parts.npy", func(w io.Writer) error {
			parts := r.PartOf()
			rows := x.allRows(1, func(row int, dst []int32) { dst[0] = int32(parts[row]) })
			return npy.Write(w, []int{len(rows)}, rows)
		}},
		{"assignments.npy", func(w io.Writer) error {
			k := len(r.Hierarchy.Categoricals())
			return npy.Write(w, []int{x.rows(), k}, x.allRows(k, r.Labelled))
		}},
		{"mimosa.json", func(w io.Writer) error { return json.NewEncoder(w).Encode(x.summary(o)) }},
		{"hierarchy.png", func(w io.Writer) error {
			return report.Hierarchy(w, "Hierarchy that MIMOSA found in "+x.name, r.Hierarchy, x.labels())
		}},
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

// allRows makes an array of k columns, with a row for each code or each image of a run. Unexplored rows hold -1.
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

// drawComponents draws the components found in the codes.
func (x *exploration) drawComponents(w io.Writer) error {
	r := x.result
	dims := func(list []mimosa.Component) (dims []int) {
		for _, c := range list {
			dims = append(dims, c.Dim)
		}
		return dims
	}
	return report.Components(w, "Components that MIMOSA found in "+x.name+", along principal axes", report.Manifolds{
		Codes: x.codes, Components: report.NumberedGroups(r.Labels, dims(r.Components)),
		Parts: report.NumberedGroups(report.BySize(r.PartOf(), dims(r.Parts))), Truth: report.Grouping{Labels: x.paths, Names: x.names},
	})
}

package coding

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/models/hierarchy/mimosa"
	"github.com/unravel-ml/unravel/train"
)

// Mimosa is `unravel mimosa (--run DIR | --codes FILE) [option=value ...]`.
type Mimosa struct {
	Options []string `arg:"" optional:"" help:"Options, such as min_merged=500 (see unravel list algorithms mimosa)."`
	Dir     string   `name:"run" xor:"source" placeholder:"DIR" help:"Folder of a run, to encode its data set with its model."`
	Codes   string   `xor:"source" placeholder:"FILE" help:"File of codes, with a row for each image: .npy, .npz, .h5, .mat or .csv." detail:"In a file of several arrays, FILE.npz:NAME selects the array NAME. Without a name, the file must have a single array, or an array called codes."`
	Factors string   `placeholder:"FILE" help:"File of the true dimensions of the codes, as whole numbers in one or more columns." detail:"Rows with equal numbers have the same dimensions. The formats are the same as for --codes; in a file of several arrays, the array is called factors."`
	Truth   string   `placeholder:"FILE" help:"File of the true hierarchy of the codes (.json)."`
	JSON    bool     `name:"json" help:"Print one JSON object on standard output."`
	Out     string   `placeholder:"DIR" writes:"folder" help:"Folder to write: hierarchy, components, parts and assignments of the codes, with pictures." detail:"The folder has hierarchy.json, mimosa.json, hierarchy.png and components.png. components.npy has the component of each code, or -1 for none; parts.npy has the same before merging. assignments.npy has a column for each categorical dimension: 1 + the option of each code. 0 means that the code lacks the dimension, and -1 that the code is not assigned. For a run, assignments.npy has a row for each image."`
}

func (c *Mimosa) Run(ctx context.Context, s *ui.Streams) error {
	options, err := mimosaOptions(c.Options)
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	x, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	if c.Out != "" { // find mistakes in --out before learning
		if err := disk.MakeDir(c.Out); err != nil {
			return err
		}
	}
	start, last := time.Now(), ""
	x.result, err = mimosa.Run(ctx, x.codes.Data, x.codes.Cols, options, func(stage string, _, _ int) {
		if stage != last {
			last = stage
			fmt.Fprintf(s.Log, "%6.1fs  %s\n", time.Since(start).Seconds(), stage)
		}
	})
	if ctx.Err() != nil {
		return fmt.Errorf("mimosa: %w", train.ErrStopped)
	}
	if err != nil {
		return err
	}
	if err := x.measure(ctx); err != nil {
		return err
	}
	if r := x.result; len(r.Components) == 0 {
		fmt.Fprintf(s.Log, "no component is left: of %d, %d were large enough to merge; try smaller min_merged or min_initial, or more codes\n", r.Initial, r.Merging)
	}
	if c.Out != "" {
		if err := x.writeFiles(c.Out, options); err != nil {
			return err
		}
		fmt.Fprintf(s.Log, "hierarchy, components, assignments and pictures in %s\n", c.Out)
	}
	if c.JSON {
		return ui.WriteJSON(s.Out, x.summary(options))
	}
	return x.print(s.Out)
}

func mimosaOptions(changes []string) (mimosa.Options, error) {
	settings := struct {
		Mimosa mimosa.Options `yaml:"mimosa"`
	}{mimosa.Defaults()}
	overrides := make([]string, len(changes))
	for i, o := range changes {
		if !strings.Contains(o, "=") {
			return settings.Mimosa, ui.Usagef("%q is not an option; want name=value", o)
		}
		overrides[i] = "mimosa." + o
	}
	if err := ui.Once(overrides); err != nil {
		return settings.Mimosa, err
	}
	err := config.Load("options", []byte("mimosa: {}"), &settings, overrides...)
	return settings.Mimosa, err
}

func (c *Mimosa) check() error {
	switch {
	case c.Dir == "" && c.Codes == "":
		return ui.Usagef("there are no codes; want --run DIR or --codes FILE")
	case c.Dir != "" && (c.Factors != "" || c.Truth != ""):
		return ui.Usagef("--factors and --truth belong to --codes: a run has its own factors and hierarchy")
	}
	return nil
}

type exploration struct {
	name   string
	codes  matrix.Matrix
	images []int    // for a run: the image of each code; nil: codes from a file
	rows   int      // of the written arrays: the images of a run's data set, or the codes of a file
	paths  []int    // by code: number of its true path, given by its active dimensions; nil: unknown
	names  []string // names of the paths
	truth  hierarchy.Hierarchy
	result *mimosa.Result

	purity   *float64 // nil: unknown
	each     []float64
	distance *int
}

func (c *Mimosa) open(ctx context.Context, s *ui.Streams) (*exploration, error) {
	if c.Dir != "" {
		return openExploredRun(ctx, c.Dir, s)
	}
	x := &exploration{name: filepath.Base(c.Codes)}
	if c.Factors != "" {
		if err := inputs.SameRows(c.Codes, c.Factors); err != nil {
			return nil, err
		}
	}
	t, err := inputs.ReadCodes(c.Codes, nil)
	if err != nil {
		return nil, err
	}
	if c.Factors != "" {
		f, err := inputs.ReadFactors(c.Factors, nil)
		if err != nil {
			return nil, err
		}
		if err := f.Finite(); err != nil {
			return nil, fmt.Errorf("factors: %s: %w", c.Factors, err)
		}
		f.DropCounter()
		if err := table.Settle(t, f); err != nil {
			return nil, err
		}
		t.Notes = append(t.Notes, f.Notes...)
		if f.Rows != t.Rows {
			return nil, inputs.OtherRows(c.Codes, t.Rows, t.Cols, c.Factors, f.Rows, f.Cols)
		}
		if slices.ContainsFunc(f.Ints, func(ints []int64) bool { return ints == nil }) || len(f.Ints) == 0 {
			return nil, fmt.Errorf("%s: factors are not whole numbers; want integer factors that say which dimensions a code has", c.Factors)
		}
		x.paths, x.names = numberRows(f.Ints, f.Rows)
	}
	for _, note := range t.Notes {
		fmt.Fprintln(s.Log, note)
	}
	x.codes, x.rows = matrix.Matrix{Rows: t.Rows, Cols: t.Cols, Data: t.Data}, t.Rows
	if c.Truth != "" {
		if x.truth, err = hierarchy.Read(c.Truth); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func openExploredRun(ctx context.Context, dir string, s *ui.Streams) (*exploration, error) {
	e, err := inputs.WeightFlags{}.Open(ctx, dir, s)
	if err != nil {
		return nil, err
	}
	x := &exploration{name: e.Config.Name, images: e.TrainingImages(), rows: e.Data.Len()}
	codes, err := e.Encode(ctx, x.images)
	if err != nil {
		return nil, err
	}
	x.codes = metrics.NewMatrix(len(x.images), e.Coder.Width(), codes)
	if heldOut := x.rows - len(x.images); heldOut > 0 {
		fmt.Fprintf(s.Log, "%d held-out images are not explored\n", heldOut)
	}
	h, ok := e.Data.(datasets.Hierarchical)
	if !ok {
		return x, nil
	}
	var choices [][]int
	x.paths, choices = datasets.PathsOf(h, x.images)
	for _, choice := range choices {
		x.names = append(x.names, datasets.PathName(h, choice))
	}
	x.truth = h.Hierarchy()
	return x, nil
}

// numberRows numbers the distinct rows of a table in the order of first occurrence.
func numberRows(columns [][]int64, rows int) (number []int, names []string) {
	known := map[string]int{}
	for i := range rows {
		row := make([]int64, len(columns))
		for c := range row {
			row[c] = columns[c][i]
		}
		name := strings.Trim(fmt.Sprint(row), "[]")
		index, ok := known[name]
		if !ok {
			index = len(names)
			known[name], names = index, append(names, name)
		}
		number = append(number, index)
	}
	return number, names
}

// measure compares the learned hierarchy and components with the true ones.
func (x *exploration) measure(ctx context.Context) error {
	if x.truth != nil {
		x.distance = new(hierarchy.Distance(x.result.Hierarchy, x.truth))
	}
	if x.paths == nil || len(x.result.Components) == 0 {
		return nil
	}
	in := &metrics.Input{
		Codes: x.codes, Levels: make([]int, x.codes.Rows), Factors: []factor.Factor{{Name: "none", Size: 1}},
		Components: x.result.Labels, Paths: x.paths,
	}
	r, err := (&metrics.Purity{}).Compute(ctx, in)
	if err != nil {
		return err
	}
	x.purity, x.each = &r.Value, r.Part("per_component")
	return nil
}

func (x *exploration) print(w io.Writer) error {
	r := x.result
	fmt.Fprint(w, r.Hierarchy.Text(x.labels()))
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprint(t, "component\tdimension\tcodes\tencloses\tdistance")
	if x.purity != nil {
		fmt.Fprint(t, "\tpurity")
	}
	fmt.Fprintln(t)
	for i, c := range r.Components {
		parent, lengths := "-", "-"
		if c.Parent >= 0 {
			parent, lengths = fmt.Sprint(c.Parent), fmt.Sprintf("%.2f", c.Lengths)
		}
		fmt.Fprintf(t, "%d\t%d\t%d\t%s\t%s", i, c.Dim, len(c.Points), parent, lengths)
		if x.purity != nil {
			fmt.Fprintf(t, "\t%.4f", x.each[i])
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\ncoverage  %.4f\n", r.Coverage)
	if x.purity != nil {
		fmt.Fprintf(w, "purity    %.4f\n", *x.purity)
	}
	if x.distance != nil {
		fmt.Fprintf(w, "H-error   %d\n", *x.distance)
	}
	d := r.Describe(x.codes.Cols)
	fmt.Fprintf(w, "bits      %.1f a code, as flat vectors %.1f; the hierarchy %.0f\n",
		d.PerCode(), d.FlatPerCode(), d.Tree)
	return nil
}

// MimosaSummary is the JSON object of a run of MIMOSA.
type MimosaSummary struct {
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

type bitsSummary struct {
	PerCode float64 `json:"bits_per_code"`
	Flat    float64 `json:"flat_bits_per_code"`
	Options float64 `json:"options_bits"`   // total bits of all codes
	Values  float64 `json:"values_bits"`    // total bits of all codes
	Outside float64 `json:"outside_bits"`   // total bits of the codes without a component
	Tree    float64 `json:"hierarchy_bits"` // counted once
}

type componentSummary struct {
	Dim     int      `json:"dimension"`
	Size    int      `json:"size"`
	Parent  int      `json:"encloses"` // -1: none
	Lengths float64  `json:"distance"`
	Purity  *float64 `json:"purity,omitempty"`
}

func (x *exploration) summary(o mimosa.Options) MimosaSummary {
	r := x.result
	m := MimosaSummary{
		Hierarchy: r.Hierarchy, Components: []componentSummary{}, Coverage: r.Coverage, Purity: x.purity, HError: x.distance,
		Codes: [2]int{x.codes.Rows, x.codes.Cols}, Initial: r.Initial, Merging: r.Merging, Options: optionValues(o),
	}
	d := r.Describe(x.codes.Cols)
	m.Bits = bitsSummary{PerCode: d.PerCode(), Flat: d.FlatPerCode(), Options: d.Options, Values: d.Values,
		Outside: d.Outside, Tree: d.Tree}
	for i, c := range r.Components {
		s := componentSummary{Dim: c.Dim, Size: len(c.Points), Parent: c.Parent, Lengths: c.Lengths}
		if x.purity != nil {
			s.Purity = &x.each[i]
		}
		m.Components = append(m.Components, s)
	}
	return m
}

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
	for i, option := range x.result.Choices {
		if option >= 0 {
			rows[i%len(options)][option]++
		}
	}
	return hierarchy.Labels{Rows: rows}
}

func (x *exploration) writeFiles(dir string, o mimosa.Options) error {
	r := x.result
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"hierarchy.json", func(w io.Writer) error { return ui.WriteJSON(w, r.Hierarchy) }},
		{"components.npy", x.writeNumbers(r.Labels)},
		{"parts.npy", x.writeNumbers(r.PartOf())},
		{"assignments.npy", func(w io.Writer) error {
			k := len(r.Hierarchy.Categoricals())
			return npy.Write(w, []int{x.rows, k}, x.allRows(k, r.Labelled))
		}},
		{"mimosa.json", func(w io.Writer) error { return ui.WriteJSON(w, x.summary(o)) }},
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

// writeNumbers returns a function that writes one number per row, from the numbers of the codes.
func (x *exploration) writeNumbers(numbers []int) func(io.Writer) error {
	return func(w io.Writer) error {
		return npy.Write(w, []int{x.rows}, x.allRows(1, func(row int, dst []int32) { dst[0] = int32(numbers[row]) }))
	}
}

// allRows returns an array of k columns, with a row for each code or each image of a run. Rows without a code are -1.
func (x *exploration) allRows(k int, fill func(row int, dst []int32)) []int32 {
	out := slices.Repeat([]int32{-1}, x.rows*k)
	for row := range x.codes.Rows {
		i := row
		if x.images != nil {
			i = x.images[row]
		}
		fill(row, out[i*k:(i+1)*k])
	}
	return out
}

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
		Parts: report.NumberedGroups(report.BySize(r.PartOf(), dims(r.Parts))),
		Truth: report.Grouping{Labels: x.paths, Names: x.names},
	})
}

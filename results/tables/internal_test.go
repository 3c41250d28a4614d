package tables

import (
	"fmt"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results/tables/internal/reference"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// A range includes its lower end and excludes its upper end. If only one of two columns is better when higher, tau
// compares the orders from good to bad.
func TestOverColumns(t *testing.T) {
	distance := must.Get(metrics.Named("dlsbd"))(t)
	gap := must.Get(metrics.Named("mig"))(t)
	on := view{&Table{Name: "quoting", Columns: []Column{{Label: "D", Metric: distance}, {Label: "G", Metric: gap}}}, &DataSet{}}
	quoted := &Table{Name: "x", Scales: Scales{{Name: QuickScale, Seeds: 1}}}
	r := &Result{Name: "x", Table: quoted}
	for i, d := range []float64{0, 0.25, 0.5} {
		g := 1 - d
		r.Rows = append(r.Rows, ResultRow{Label: string(rune('a' + i)),
			Cells: []Cell{{Column: "D", Ours: &d, Runs: []float64{d}}, {Column: "G", Ours: &g, Runs: []float64{g}}}})
	}
	on.cache = new(tableCache)
	on.cache.tables.Put(otherTable{name: "x"}, quoted)
	o := &otherTables{options: Options{Scale: QuickScale}, results: map[*Table]*Result{quoted: r}}
	over := Over{Tables: []string{"x"}, Column: "D", Of: ofRuns}
	for _, test := range []struct {
		source quoting
		column int
		want   []float64
	}{
		{&binned{Over: over, From: 0.25, To: 0.5}, 1, []float64{0.75}},
		{&binned{Over: over, From: 0, To: 0.5}, 1, []float64{1, 0.75}},
		{&ranked{Over: over}, 0, []float64{1}},
		{&ranked{Over: over}, 1, []float64{1}},
	} {
		v, err := test.source.quote(t.Context(), o, on, on.Columns[test.column])
		if err != nil || !slices.Equal(v.quoted, test.want) {
			t.Errorf("%+v, column %d: %v, %v; want %v", test.source, test.column, v.quoted, err, test.want)
		}
	}
}

// Digests lists the hashes of the settings of the table's runs at all scales. The ledger finds runs by these hashes.
func (t *Table) Digests() ([]string, error) {
	var list []string
	for _, scale := range t.Scales.Names() {
		_, outlines, err := t.plan(scale, true)
		if err != nil {
			return nil, err
		}
		for _, o := range outlines {
			list = append(list, o.Hash)
		}
	}
	return list, nil
}

// Scales share the decoded configs of a table, and a run of two scales has the same hash in both. Digests depend on the
// settings at each scale, and not on the order in which scales are planned.
func TestDigestsOfScales(t *testing.T) {
	table := must.Get(Open("dialects"))(t)
	table.Scales[0].Set = sweep.Settings{{Key: "train.epochs", Value: "3"}, {Key: "train.batch", Value: "64"}}
	table.Scales[1].Set = sweep.Settings{{Key: "train.batch", Value: "64"}, {Key: "train.epochs", Value: "3"}}
	table.Scales[1].Seeds = table.Scales[0].Seeds
	plan := func(scale string) (*Planner, []sweep.Run) {
		p, runs, err := table.plan(scale, false)
		must.OK(t, err)
		return p, runs
	}
	quick, runs := plan(QuickScale)
	full, _ := plan(FullScale)
	_, outlines, err := table.plan(QuickScale, true)
	must.OK(t, err)
	for i, r := range runs {
		a, b := quick.planned[r.Hash].digest, full.planned[r.Hash].digest
		if a == "" || b == "" || a == b || a != outlines[i].Hash {
			t.Errorf("%s: the digests are %q and %q; want two, the first %q", r.Name, a, b, outlines[i].Hash)
		}
	}
}

// Print sets the printed values to the content of a reference file.
func (t *Table) Print(text string) (err error) {
	t.reference, err = reference.Parse("r.csv", []byte(text))
	return err
}

// Reference returns the printed values.
func (t *Table) Reference() *reference.File { return t.reference }

// Metrics take the sub-codes and components of a data set. The metrics of the column stay as they are.
func TestMeasuring(t *testing.T) {
	variance, gap := &metrics.SubCodeDeviation{Codes: factor.SubCodes{"a": {0}}}, &metrics.MIG{}
	distance, none := &metrics.DLSBD{}, &metrics.SAP{}
	gap.Components = 10
	list := []metrics.Choice{{Value: variance}, {Value: distance}, {Value: gap}, {Value: none}}
	for _, c := range []struct {
		set  DataSet
		want string
	}{
		{DataSet{}, "map[a:[0]] map[] 10 0"},
		{DataSet{Codes: factor.SubCodes{"b": {1}}}, "map[b:[1]] map[b:[1]] 10 0"},
		{DataSet{Components: 1}, "map[a:[0]] map[] 1 0"},
		{DataSet{Codes: factor.SubCodes{"b": {1}, "c": {2}}, Components: 20}, "map[b:[1] c:[2]] map[b:[1] c:[2]] 20 0"},
	} {
		got := c.set.adaptMetrics(list)
		text := fmt.Sprint(got[0].Value.(*metrics.SubCodeDeviation).Codes, got[1].Value.(*metrics.DLSBD).Codes,
			got[2].Value.(*metrics.MIG).Components, got[3].Value.(*metrics.SAP).Components)
		if text != c.want || variance.Codes["a"] == nil || distance.Codes != nil || gap.Components != 10 {
			t.Errorf("%+v: %s, want %s", c.set, text, c.want)
		}
	}
}

// A remark on runs that have not converged covers the numbers of all of them, for each kind of reason.
func TestUnconverged(t *testing.T) {
	leave := func(percent string) *train.Fit {
		return &train.Fit{Why: "reconstructions leave " + percent + " % of the variance of the images"}
	}
	black := &train.Fit{Why: "the decoder is black: the mean square of its pixels is 3e-05 of the images'", Square: 1}
	wrong := &train.Fit{Why: "the assignment error is 0.25"}
	fits := []*train.Fit{leave("86"), {Converged: true}, leave("1586"), black, nil, leave("64"), wrong}
	want := []string{
		"1 of 7 runs not converged: the decoder is black: the mean square of its pixels is 3e-05 of the images'",
		"3 of 7 runs not converged: reconstructions leave 64 to 1586 % of the variance of the images",
		"1 of 7 runs not converged: the assignment error is 0.25",
	}
	must.EqualSlices(t, unconvergedNotes(cellValues{fits: fits}), want)
	must.EqualSlices(t, unconvergedNotes(cellValues{fits: []*train.Fit{leave("70"), leave("70")}}),
		[]string{"2 of 2 runs not converged: " + leave("70").Why}, "equal reasons")
}

package tables_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/show"
	. "github.com/unravel-ml/unravel/results/tables"
)

// A table has the scales quick and full, and may have others between them.
func TestScales(t *testing.T) {
	table, err := writeTable(t, trainedTable, "  full: {seeds: 3}", `  long: {seeds: 1, set: {train.epochs: 9}, dataset: small, label: others, draws: 7}
  full: {seeds: 3}
  medium: {}`)
	must.OK(t, err)
	if got := table.Scales.Names(); !slices.Equal(got, []string{"quick", "long", "medium", "full"}) {
		t.Fatalf("scales %q", got)
	}
	for name, want := range map[string]int{"quick": 2 * 2, "": 2 * 2, "long": 2, "medium": 5 * 2, "full": 3 * 3} {
		runs, err := table.Runs(name)
		if err != nil || len(runs) != want {
			t.Errorf("%s: %d runs, %v, want %d", name, len(runs), err, want)
		}
		r, err := table.Compute(t.Context(), Options{Scale: name})
		if err != nil || name != "" && r.Scale != name || name == "" && r.Scale != QuickScale {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for name, label := range map[string]string{"long": "others", "full": "them"} {
		r, err := table.Compute(t.Context(), Options{Scale: name})
		if err != nil || !strings.Contains(written(t, r, show.Markdown), "\n| "+label+" | 1.0 ") {
			t.Errorf("%s: %v\n%s", name, err, written(t, r, show.Markdown))
		}
	}
	runs, err := table.Runs("long")
	if err != nil || runs[0].Config.Train.Epochs != 9 || runs[0].Config.Train.Batch != 32 || !strings.Contains(runs[0].Name, "_long_") {
		t.Errorf("%+v, %v", runs[0].Config.Train, err)
	}
	for _, name := range []string{"huge", "Quick", "quick "} {
		const want = "; its scales are quick, long, medium, full"
		must.ErrorOf(table.Runs(name))(t, want, name)
		must.ErrorOf(table.Compute(t.Context(), Options{Scale: name}))(t, want, name)
	}
	must.ErrorOf(table.Scales.Find("mediun"))(t, `did you mean "medium"?`)
}

func TestScaleMistakes(t *testing.T) {
	const full = "  full: {seeds: 3}"
	for with, want := range map[string]string{
		full + "\n  Long: {}":                                 `scales.Long: "Long" is not the name of a scale`,
		full + "\n  1: {}":                                    `"1" is not the name of a scale`,
		full + "\n  long: {seeds: 0}":                         "scales.long.seeds: 0 is out of range",
		full + "\n  long: {seed: 1}":                          `did you mean "seeds"?`,
		full + "\n  long: {dataset: huge}":                    `ref.csv has no data set "huge"`,
		full + "\n  long: {draws: 2}":                         "scales.long.dataset: label and draws belong to a data set",
		full + "\n  long: {label: me}":                        "scales.long.dataset: label and draws belong to a data set",
		full + "\n  long: {dataset: big, draws: -1}":          "scales.long.draws: -1 is out of range",
		full + "\n  long: 3":                                  "scales.long: ",
		full + "\n  long: {set: {train.epoch: 3}}":            `did you mean "epochs"?`,
		full + "\ndecimals: 3\n# no scales follow\n" + "x: 1": `unknown key`,
	} {
		table, err := writeTable(t, trainedTable, full, with)
		if err == nil {
			_, err = table.Runs("long")
		}
		must.Error(t, err, want, with)
	}
	table := strings.NewReplacer("scales:\n  quick: {seeds: 2, dataset: small, set: {train.epochs: 2}, remark: It is quick.}\n"+full, "scales: [quick]")
	must.ErrorOf(writeTable(t, table.Replace(trainedTable)))(t, "want a mapping")
}

// Columns have one metric with different options, parts by label, and the runs' sample of images.
func TestColumnsOfRuns(t *testing.T) {
	table, err := writeTable(t, trainedTable, "metric: mig, part: mig_0", "metric: {med: {k: 1}}, part: weights, of: z9",
		"fit: reconstruction", "metric: med", "by_scale: {quick: {train.batch: 16}}", "by_scale: {quick: {metrics.sample: 3}}")
	must.OK(t, err)
	dir := t.TempDir()
	runs := must.Get(table.Runs(QuickScale))(t)
	makeRuns(t, table, dir, false, 1) // dlsbd cannot measure a sample
	if c := runs[0].Config.Metrics; len(c.Final) != 3 || c.Final[1].Name != "med" || c.Final[2].Name != "med" ||
		c.Sample != 0 || runs[1].Config.Metrics.Sample != 3 {
		t.Errorf("%+v", c)
	}
	r := computeFrom(t, table, dir)
	if c := r.Cell("a", "R"); c.Ours == nil {
		t.Errorf("%+v", c)
	}
	if c := r.Cell("a", "P"); c.Status != Missing || !strings.HasPrefix(c.Reason, `metric med: its part "weights" has no "z9"; `) {
		t.Errorf("%+v", c)
	}
	table.Columns[2].Of = "z0"
	if c := computeFrom(t, table, dir).Cell("a", "P"); c.Ours == nil || !(*c.Ours >= 0 && *c.Ours <= 1) {
		t.Errorf("%+v", c)
	}
}

// Two tables share runs if each also measures the other's metrics.
func TestShared(t *testing.T) {
	const columns = "columns:\n  - {label: D, metric: dlsbd}\n  - {label: 2D, metric: dlsbd, transform: 2x}\n  - {label: P, metric: mig, part: mig_0}\n"
	first, err := writeTable(t, trainedTable, columns, "runs: both\nalso: [{med: {k: 1}}]\n"+
		strings.Replace(columns, "mig, part: mig_0", "mig", 1))
	must.OK(t, err)
	second, err := writeTable(t, trainedTable, columns,
		"runs: both\nalso: [dlsbd, mig]\ncolumns:\n  - {label: D, metric: {med: {k: 1}}}\n  - {label: 2D, metric: mig}\n  - {label: P, metric: mig, transform: 2x}\n")
	must.OK(t, err)
	if first.Folder != "both" || second.Folder != "both" {
		t.Errorf("folders %q and %q", first.Folder, second.Folder)
	}
	a := must.Get(first.Runs(QuickScale))(t)
	b, err := second.Runs(QuickScale)
	if err != nil || len(a) != len(b) {
		t.Fatal(len(a), len(b), err)
	}
	for i := range a {
		if a[i].Hash != b[i].Hash || a[i].Name != b[i].Name {
			t.Errorf("%s and %s differ", a[i].Name, b[i].Name)
		}
	}
	dir := t.TempDir()
	makeRuns(t, first, dir, false, 0)
	x, y := computeFrom(t, first, dir), computeFrom(t, second, dir)
	if mig := *x.Cell("a", "P").Ours; *y.Cell("a", "2D").Ours != mig || *y.Cell("a", "P").Ours != 2*mig ||
		*x.Cell("a", "2D").Ours != 2**x.Cell("a", "D").Ours {
		t.Errorf("%+v\n%+v", x.Rows[0], y.Rows[0])
	}
	if c := y.Cell("a", "D"); c.Ours == nil || *c.Ours == *x.Cell("a", "D").Ours {
		t.Errorf("%+v", c)
	}
	for _, name := range []string{"../x", "a/b", ".", "-a"} {
		if _, err := writeTable(t, trainedTable, columns, "runs: "+name+"\n"+columns); err == nil ||
			!strings.Contains(err.Error(), "runs: ") || !strings.Contains(err.Error(), "is not a folder's name") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A printed mean over more runs counts more.
func TestScaleDraws(t *testing.T) {
	for draws, want := range map[int]Status{0: Near, 1: Near, 100000: Differs} {
		x := table(t, seeded{random: true}, &reading{}, "T,D,r,c,9.0,,\nT,E,r,c,3.5,2.0,")
		x.Scales[0].Dataset, x.Scales[0].Draws = "E", draws // ours is 1.5, with a deviation of 1.29
		if c := compute(t, x, false).Cell("r", "c"); c.Status != want || *c.Theirs != 3.5 {
			t.Errorf("%d draws: %+v, want %s", draws, c, want)
		}
	}
}

// Rows name the scales that compute them. The settings of a scale override all others.
func TestByScale(t *testing.T) {
	table, err := writeTable(t, trainedTable, "  full: {seeds: 3}", "  medium: {seeds: 1, set: {train.batch: 4}}\n  full: {seeds: 3}",
		"by_scale: {quick: {train.batch: 16}}", "by_scale: {medium: {train.batch: 8}, full: {train.epochs: 9}}",
		"label: long, scales: [full]", "label: long, scales: [medium, full]")
	must.OK(t, err)
	for scale, want := range map[string]struct{ runs, batch, epochs int }{QuickScale: {4, 32, 2}, "medium": {3, 8, 7}, FullScale: {9, 32, 9}} {
		runs, err := table.Runs(scale)
		if err != nil || len(runs) != want.runs || runs[1].Config.Train.Batch != want.batch || runs[1].Config.Train.Epochs != want.epochs {
			t.Errorf("%s: %d runs, %+v, %v; want %+v", scale, len(runs), runs[1].Config.Train, err, want)
		}
		r, err := table.Compute(t.Context(), Options{Scale: scale})
		if left := r.Cell("long", "R").Reason == "only at the scales medium, full"; err != nil || left != (scale == QuickScale) {
			t.Errorf("%s: %+v, %v", scale, r.Cell("long", "R"), err)
		}
	}
}

// Data sets name the scales that show them.
func TestDataSetsByScale(t *testing.T) {
	table, err := openSeveral(t, severalCSV, "label: large,", "label: large, scales: [full], by_scale: {full: {train.batch: 7}},")
	must.OK(t, err)
	for scale, want := range map[string]bool{QuickScale: false, FullScale: true} {
		runs, err := table.Runs(scale)
		if err != nil || strings.Contains(names(runs), "large") != want {
			t.Errorf("%s: %s, %v", scale, names(runs), err)
		}
		if batch := runs[1].Config.Train.Batch; (batch == 7) != want { // a on the large data set, or b on the small one
			t.Errorf("%s: batch %d", scale, batch)
		}
	}
}

func TestByScaleMistakes(t *testing.T) {
	for with, want := range map[string]string{
		"scales: [ful]":        `rows.4.scales.0: there is no scale "ful"; did you mean "full"?; the table's scales are quick, full`,
		"scales: [full, full]": `rows.4.scales.1: "full" is named twice`,
	} {
		must.ErrorOf(writeTable(t, trainedTable, "label: long, scales: [full]", "label: long, "+with))(t, want, with)
	}
	_, err := writeTable(t, trainedTable, "by_scale: {quick: {train.batch: 16}}", "by_scale: {medium: {train.batch: 16}}")
	must.Error(t, err, `rows.1.from.runs.by_scale.medium: there is no scale "medium"`)
	for with, want := range map[string]string{
		"scales: [medium],":                     `datasets.1.scales.0: there is no scale "medium"`,
		"by_scale: {medium: {train.batch: 1}},": `datasets.1.by_scale.medium: there is no scale "medium"`,
	} {
		must.ErrorOf(openSeveral(t, severalCSV, "label: large,", "label: large, "+with))(t, want, with)
	}
	one := []string{"  - {label: large, values: {width: 3, kind: tiny}, set: {dataset.square.side: 4}}\n",
		"", "  - {label: later, values: {width: 4, kind: tiny}, scales: [full]}\n", ""}
	if _, err := openSeveral(t, severalCSV, one...); err != nil {
		t.Error(err)
	}
	must.ErrorOf(openSeveral(t, severalCSV, append(one, "label: small,", "label: small, scales: [full],")...))(t,
		"datasets: none of them is at the scale quick")
	must.ErrorOf(openSeveral(t, severalCSV, "label: large,", "label: large, scales: [full],", "label: small,",
		"label: small, scales: [full],"))(t, "datasets: none of them is at the scale quick; want at least one")
}

package tables_test

import (
	"strings"
	"testing"

	. "github.com/unravel-ml/unravel/results/tables"
)

// Rows name the scales that compute them, and settings of one scale override all others.
func TestByScale(t *testing.T) {
	table, err := writeTable(t, trainedTable, "  full: {seeds: 3}", "  medium: {seeds: 1, set: {train.batch: 4}}\n  full: {seeds: 3}",
		"quick: {train.batch: 16}", "by_scale: {medium: {train.batch: 8}, full: {train.epochs: 9}}",
		"label: long, full: true", "label: long, scales: [medium, full]")
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	for scale, want := range map[string]bool{QuickScale: false, FullScale: true} {
		runs, err := table.Runs(scale)
		if err != nil || strings.Contains(names(runs), "large") != want {
			t.Errorf("%s: %s, %v", scale, names(runs), err)
		}
		if batch := runs[1].Config.Train.Batch; (batch == 7) != want { // a on large, or b on small
			t.Errorf("%s: batch %d", scale, batch)
		}
	}
}

func TestByScaleMistakes(t *testing.T) {
	for with, want := range map[string]string{
		"full: true, scales: [quick]": "rows.4.scales: full and scales exclude each other",
		"scales: [ful]":               `rows.4.scales.0: there is no scale "ful"; did you mean "full"?; the table's scales are quick, full`,
		"scales: [full, full]":        `rows.4.scales.1: "full" is named twice`,
	} {
		_, err := writeTable(t, trainedTable, "label: long, full: true", "label: long, "+with)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", with, err, want)
		}
	}
	_, err := writeTable(t, trainedTable, "quick: {train.batch: 16}", "by_scale: {medium: {train.batch: 16}}")
	if err == nil || !strings.Contains(err.Error(), `rows.1.from.runs.by_scale.medium: there is no scale "medium"`) {
		t.Error(err)
	}
	for with, want := range map[string]string{
		"scales: [medium],":                     `datasets.1.scales.0: there is no scale "medium"`,
		"by_scale: {medium: {train.batch: 1}},": `datasets.1.by_scale.medium: there is no scale "medium"`,
	} {
		if _, err := openSeveral(t, severalCSV, "label: large,", "label: large, "+with); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", with, err, want)
		}
	}
	if _, err := openSeveral(t, severalCSV, "label: large,", "label: large, full: true,", "label: small,", "label: small, full: true,"); err == nil ||
		!strings.Contains(err.Error(), "datasets: none of them is at the scale quick; want one that is") {
		t.Error(err)
	}
}

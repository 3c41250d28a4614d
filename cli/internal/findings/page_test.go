package findings

import (
	"testing"

	"github.com/unravel-ml/unravel/results/tables"
)

// A missing run gets the mean time of its row, or of the table. Runs counted before are skipped.
func TestEffort(t *testing.T) {
	list := []tables.Planned{{Key: "f/1", Kind: "VAE", Seconds: 100}, {Key: "f/2", Kind: "VAE", Seconds: 200}, {Key: "f/3", Kind: "VAE"}, {Key: "f/4", Kind: "AE"}, {Key: "f/5", Kind: "AE"}, {Key: "f/6", Kind: "BYOL", Seconds: 900}}
	counted := map[string]bool{"f/2": true, "f/5": true, "f/6": true}
	if e := effortOf(list, counted); e != (effort{Runs: 3, Held: 1, spent: 100, remaining: 550}) || e.Missing() != "0.2" || len(counted) != 6 {
		t.Errorf("%+v %s", e, e.Missing())
	}
	list = append(list, tables.Planned{Key: "f/7", Kind: "VAE", Seconds: 4000, Wall: true}, tables.Planned{Key: "f/8", Kind: "BYOL", Seconds: 500, Wall: true}, tables.Planned{Key: "f/9", Kind: "CC", Seconds: 50, Wall: true}, tables.Planned{Key: "f/10", Kind: "CC"})
	if e := effortOf(list, map[string]bool{"f/4": true, "f/5": true}); e != (effort{Runs: 8, Held: 6, spent: 2300, remaining: 200}) {
		t.Errorf("with wall times: %+v", e)
	}
	if e := effortOf(list[3:5], map[string]bool{}); e != (effort{Runs: 2, unknown: 2}) || e.Missing() != "not known" {
		t.Errorf("%+v", e)
	}
}

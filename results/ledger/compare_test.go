package ledger

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/train/rundir"
)

// Compare finds every difference, and parameters come first. Metrics may differ slightly on another instruction set.
func TestCompare(t *testing.T) {
	machine := &rundir.Machine{Arch: "amd64", Kernels: "avx512"}
	other := &rundir.Machine{Arch: "amd64", Kernels: "avx2"}
	for _, test := range []struct {
		change func(r *Run)
		exact  bool
		want   string // the first difference; empty: none
	}{
		{func(*Run) {}, true, ""},
		{func(r *Run) { r.Seconds, r.Version, r.Name = 99, "later", "b" }, true, ""},
		{func(r *Run) { r.Parameters = strings.Repeat("0", 64); r.Metrics[0].Value = 0 }, true, "parameters: the hash is dddddddddddd recorded, 000000000000 now"},
		{func(r *Run) { r.Codes = strings.Repeat("0", 64) }, true, "codes: "},
		{func(r *Run) { r.Steps = 4 }, true, "steps: 3 recorded, 4 now"},
		{func(r *Run) { r.Metrics[0].Value = 0.3 }, true, "metric mig: 0.30000000000000004 recorded, 0.3 now"},
		{func(r *Run) { r.Metrics[0].Parts[0].Values[0] = 0 }, true, "metric mig, per_factor: 1e-300 recorded, 0 now"},
		{func(r *Run) { r.Metrics[0].Parts[0].Values = nil }, true, `metric mig: its part "per_factor" has 1 numbers recorded, 0 now`},
		{func(r *Run) { r.Metrics = nil }, true, "metric mig: it is not measured now"},
		{func(r *Run) { r.Fit.Reconstruction = 0.2 }, true, "fit: "},
		{func(r *Run) { r.Fit.Square, r.Fit.Decoded = 0.4, 0.3 }, true, ""},
		{func(r *Run) { r.Fit.Square, r.Fit.Converged, r.Fit.Why = 0.4, false, "the decoder is black" }, true, ""},
		{func(r *Run) { r.Fit.Square, r.Fit.Reconstruction = 0.4, 0.2 }, true, "fit: "},
		{func(r *Run) { r.Stored["top-2.json"] = json.RawMessage(`{"run":"y"}`) }, true, "top-2.json is another one now"},
		{func(r *Run) { r.Stored["top-2.json"] = json.RawMessage(`{ "run": "x" }`) }, true, ""},
		{func(r *Run) { r.Stored = nil }, true, ""},
		{func(r *Run) { r.Error = "NaN" }, true, `error: "" recorded, "NaN" now`},
		{func(r *Run) { r.Machine, r.Codes, r.Metrics[0].Value = other, "", 0.39 }, false, ""},
		{func(r *Run) { r.Machine, r.Metrics[0].Value = other, 0.41 }, false, "metric mig: 0.30000000000000004 recorded, 0.41 now"},
		{func(r *Run) { r.Machine = nil }, false, ""},
	} {
		want, got := oneFile().Runs[0], oneFile().Runs[0]
		want.Machine, got.Machine = machine, machine
		test.change(&got)
		c := Compare(&want, &got)
		if c.Same() != (test.want == "") || !c.Same() && !strings.HasPrefix(c.Differences[0], test.want) || c.Exact != test.exact {
			t.Errorf("%+v; want %q", c, test.want)
		}
		if got.Stored == nil && (len(c.Left) != 1 || c.Analyses != 0) {
			t.Errorf("%+v: want the analysis left out", c)
		}
		if test.want == "" && test.exact && got.Stored != nil && c.Analyses != 1 {
			t.Errorf("%+v: want one analysis compared", c)
		}
	}
}

// In older records, 1 - entropy may be a rounding error below 0. Metrics now end at 0.
func TestCompareBelowZero(t *testing.T) {
	for _, c := range []struct {
		recorded, now float64
		same          bool
	}{{-2.220446049250313e-16, 0, true}, {-2e-15, 0, false}, {-2.220446049250313e-16, 1e-300, false},
		{2.220446049250313e-16, 0, false}, {0, -2.220446049250313e-16, false}} {
		want, got := oneFile().Runs[0], oneFile().Runs[0]
		want.Machine = &rundir.Machine{Arch: "amd64", Kernels: "avx512"}
		got.Machine = want.Machine
		want.Metrics[0].Value, got.Metrics[0].Value = c.recorded, c.now
		if compared := Compare(&want, &got); compared.Same() != c.same {
			t.Errorf("%v recorded, %v now: %v", c.recorded, c.now, compared.Differences)
		}
	}
}

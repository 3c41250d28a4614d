package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/metrics"
)

// Tolerance is the maximum accepted difference of a metric between two instruction sets. For values above 1, it is
// relative. Instruction sets add numbers in different orders. Training amplifies these rounding differences, at worst
// as much as a different seed would.
const Tolerance = 0.1

// Comparison describes how well a repeated run agrees with its record.
type Comparison struct {
	Exact       bool     `json:"exact"`                 // repeated on the recorded instruction set, and compared bit for bit
	Metrics     int      `json:"metrics"`               // number of compared metric values
	Most        float64  `json:"most"`                  // maximum difference of a metric, relative for values above 1
	Analyses    int      `json:"analyses,omitempty"`    // number of compared stored analyses
	Left        []string `json:"left_out,omitempty"`    // names of analyses that could not be compared
	Differences []string `json:"differences,omitempty"` // all differences, in order
}

// Same reports whether all compared values agree.
func (c *Comparison) Same() bool { return len(c.Differences) == 0 }

// Compare compares a repeated run with its record. On the recorded instruction set, parameters, codes, metrics, fit and
// analyses must agree bit for bit. On another instruction set, metrics must agree within [Tolerance].
func Compare(want, got *Run) Comparison {
	c := Comparison{Exact: want.Machine != nil && got.Machine != nil && want.Machine.Kernels == got.Machine.Kernels &&
		want.Machine.Arch == got.Machine.Arch}
	if want.Error != "" || got.Error != "" {
		c.addIf(want.Error != got.Error, "error: %q recorded, %q now", want.Error, got.Error)
		return c
	}
	if c.Exact {
		c.bits("parameters", want.Parameters, got.Parameters)
		c.bits("codes", want.Codes, got.Codes)
		c.addIf(want.Steps != got.Steps, "steps: %d recorded, %d now", want.Steps, got.Steps)
	}
	c.metrics(want.Metrics, got.Metrics)
	if !c.Exact {
		c.Left = append(c.Left, slices.Sorted(maps.Keys(want.Stored))...)
		return c
	}
	if want.Fit != nil {
		now := got.Fit
		if now != nil && now.Square > 0 && want.Fit.Square == 0 { // recorded before fits had Square
			now = now.WithoutSquares()
		}
		a, errA := json.Marshal(want.Fit)
		b, errB := json.Marshal(now)
		c.addIf(errA != nil || errB != nil || !bytes.Equal(a, b), "fit: %s recorded, %s now", a, b)
	}
	for _, file := range slices.Sorted(maps.Keys(want.Stored)) {
		if got.Stored[file] == nil {
			c.Left = append(c.Left, file)
			continue
		}
		c.Analyses++
		c.addIf(!bytes.Equal(compact(want.Stored[file]), compact(got.Stored[file])), "%s is another one now", file)
	}
	return c
}

func compact(text json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}

func (c *Comparison) addIf(differs bool, format string, args ...any) {
	if differs {
		c.Differences = append(c.Differences, fmt.Sprintf(format, args...))
	}
}

// bits compares two hashes if a hash is recorded.
func (c *Comparison) bits(what, want, got string) {
	const digits = 12
	if want == "" {
		c.Left = append(c.Left, what)
		return
	}
	c.addIf(want != got, "%s: the hash is %.*s recorded, %.*s now", what, digits, want, digits, got)
}

func (c *Comparison) metrics(want, got []metrics.Result) {
	for i, w := range want {
		if i >= len(got) || got[i].Name != w.Name || len(got[i].Parts) < len(w.Parts) {
			c.addIf(true, "metric %s: it is not measured now", w.Name)
			continue
		}
		c.number(w.Name, w.Value, got[i].Value)
		for j, p := range w.Parts {
			if len(got[i].Parts[j].Values) != len(p.Values) {
				c.addIf(true, "metric %s: its part %q has %d numbers recorded, %d now",
					w.Name, p.Name, len(p.Values), len(got[i].Parts[j].Values))
				continue
			}
			for k, v := range p.Values {
				if c.Exact { // with another instruction set, the parts may use other columns
					c.number(w.Name+", "+p.Name, v, got[i].Parts[j].Values[k])
				}
			}
		}
	}
}

// roundingBelowZero is the rounding error of 1 - entropy below 0 in older records of dci and med.
const roundingBelowZero = -1e-15

func (c *Comparison) number(what string, want, got float64) {
	c.Metrics++
	if got == 0 && want > roundingBelowZero && want < 0 {
		want = 0
	}
	difference := math.Abs(want-got) / max(1, math.Abs(want))
	c.Most = max(c.Most, difference)
	limit := 0.0
	if !c.Exact {
		limit = Tolerance
	}
	c.addIf(!(difference <= limit), "metric %s: %v recorded, %v now", what, want, got)
}

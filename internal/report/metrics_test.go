package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/interval"
)

func TestMetrics(t *testing.T) {
	results := []metrics.Result{
		{Name: "dlsbd", Value: 0.00123456, Better: metrics.LowerIsBetter, Parts: []metrics.Part{
			{Name: "per_subgroup", Labels: []string{"row", "column"}, Values: []float64{0.001, 2}},
			{Name: "long", Values: make([]float64, 20)},
		}, Notes: []string{"a remark"}},
		{Name: "mig", Value: 1},
	}
	var b bytes.Buffer
	must.OK(t, Metrics(&b, results))
	for _, want := range []string{"0.001235", "(lower is better)", "row 0.001, column 2", "and 8 more", "a remark", "(higher is better)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	text, err := json.Marshal(results[0])
	if err != nil || !strings.Contains(string(text), `"better":"lower"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// Intervals name their repeats, and the estimate if they exclude the value. Chance levels name fewer rows.
func TestIntervalsAndChance(t *testing.T) {
	for _, c := range []struct {
		way   interval.Way
		value float64
		want  string
	}{
		{interval.Draws, 1, "1 to 3 (95 %), estimate 2, of 40 draws"},
		{interval.Rows, 3, "1 to 3 (95 %), estimate 2, of 40 halves of the rows"},
		{interval.Draws, 0.5, "of the mean 2: 1 to 3 (95 %), of 40 draws; 0.5 is one draw"},
		{interval.Rows, 3.5, "of the corrected value 2: 1 to 3 (95 %), of 40 halves of the rows; 3.5 is biased by the number of rows"},
	} {
		r := metrics.Result{Value: c.value, Interval: &interval.Interval{Percent: 95, Low: 1, High: 3, Estimate: 2, Way: c.way, Repeats: 40}}
		must.Equal(t, intervalLine(&r), c.want)
	}
	for _, c := range []struct {
		rows    int
		differs bool
		want    string
	}{
		{9, true, "0.5 with the rows shuffled (± 0.25, of 8 shuffles)"},
		{8, true, "0.5 with the rows shuffled (± 0.25, of 8 shuffles of 8 rows)"},
		{9, false, "0.5 with the rows shuffled (± 0.25, of 8 shuffles); the value is no better than chance"},
	} {
		r := metrics.Result{Basis: metrics.Basis{Rows: 9},
			Chance: &metrics.Chance{Mean: 0.5, Deviation: 0.25, Shuffles: 8, Rows: c.rows, Differs: c.differs}}
		must.Equal(t, chanceLine(&r), c.want)
	}
}

package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/metrics"
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
	if err := Metrics(&b, results); err != nil {
		t.Fatal(err)
	}
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

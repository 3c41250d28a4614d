package metrics_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/factor"
	. "github.com/unravel-ml/unravel/metrics"
)

func TestPrint(t *testing.T) {
	results := []Result{
		{Name: "dlsbd", Value: 0.00123456, Better: LowerIsBetter, Parts: []Part{
			{Name: "per_subgroup", Labels: []string{"row", "column"}, Values: []float64{0.001, 2}},
			{Name: "long", Values: make([]float64, 20)},
		}, Notes: []string{"a remark"}},
		{Name: "mig", Value: 1},
	}
	var b bytes.Buffer
	if err := Print(&b, results); err != nil {
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

func TestConfig(t *testing.T) {
	var got struct {
		Metrics []Choice `yaml:"metrics"`
	}
	text := "metrics: [dlsbd, {dlsbd-workshop: {whiten: true, omega: 5}}]\n"
	n, err := config.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Decode(&got); err != nil {
		t.Fatal(err)
	}
	d, w := got.Metrics[0].Value.(*DLSBD), got.Metrics[1].Value.(*DLSBDWorkshop)
	if d.Omega != 10 || d.Aggregate != factor.Mean || !w.Whiten || w.Omega != 5 || w.Aggregate != factor.Sum {
		t.Errorf("%+v %+v", d, w)
	}
	again, err := config.Encode(got)
	if err != nil || !strings.Contains(string(again), "omega: 5") {
		t.Errorf("%s, %v", again, err)
	}
	for _, bad := range []string{"metrics: [dlsb]", "metrics: [{dlsbd: {omega: 0}}]", "metrics: [{dlsbd: {aggregate: median}}]", "metrics: [{dlsbd: {omega: 1.5}}]"} {
		n, err := config.Parse("test.yaml", []byte(bad))
		if err == nil {
			err = n.Decode(&got)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "test.yaml:1:") {
			t.Errorf("%s: error %v", bad, err)
		}
	}
}

func TestDirectionText(t *testing.T) {
	for _, d := range []Direction{HigherIsBetter, LowerIsBetter} {
		text, err := d.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		again := Direction(7)
		if err := again.UnmarshalText(text); err != nil || again != d {
			t.Errorf("%s: %v, %v", text, again, err)
		}
	}
	var d Direction
	if err := d.UnmarshalText([]byte("up")); err == nil {
		t.Error("no error")
	}
}

package metrics_test

import (
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
)

func TestConfig(t *testing.T) {
	var got struct {
		Metrics []Choice `yaml:"metrics"`
	}
	text := "metrics: [dlsbd, {dlsbd-workshop: {whiten: true, omega: 5}}]\n"
	n := must.Get(config.Parse("test.yaml", []byte(text)))(t)
	must.OK(t, n.Decode(&got))
	d, w := got.Metrics[0].Value.(*DLSBD), got.Metrics[1].Value.(*DLSBDWorkshop)
	if d.Omega != 10 || d.Aggregate != factor.Mean || !w.Whiten || w.Omega != 5 || w.Aggregate != factor.Sum {
		t.Errorf("%+v %+v", d, w)
	}
	again, err := config.Encode(got)
	if err != nil || !strings.Contains(string(again), "omega: 5") {
		t.Errorf("%s, %v", again, err)
	}
	for _, bad := range []string{"metrics: [dlsb]", "metrics: [{dlsbd: {omega: 0}}]",
		"metrics: [{dlsbd: {aggregate: median}}]", "metrics: [{dlsbd: {omega: 1.5}}]"} {
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
		text := must.Get(d.MarshalText())(t)
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

package monitor

import (
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
)

func TestStop(t *testing.T) {
	reach := 0.5
	for _, c := range []struct {
		name   string
		stop   Stop
		better metrics.Direction
		values []float64
		ends   int // number of evaluations; 0: never
		why    string
	}{
		{"reached, lower", Stop{Reach: &reach}, metrics.LowerIsBetter, []float64{0.9, 0.7, 0.5}, 3, "m is 0.5, and 0.5 was to be reached"},
		{"not reached, lower", Stop{Reach: &reach}, metrics.LowerIsBetter, []float64{0.9, 0.51, 0.6}, 0, ""},
		{"reached, higher", Stop{Reach: &reach}, metrics.HigherIsBetter, []float64{0.1, 0.6}, 2, "m is 0.6, and 0.5 was to be reached"},
		{"not reached, higher", Stop{Reach: &reach}, metrics.HigherIsBetter, []float64{0.1, 0.49}, 0, ""},
		{"patience, lower", Stop{Patience: 2}, metrics.LowerIsBetter, []float64{3, 2, 2, 1.9, 5, 1.9}, 6, "m has not improved on 1.9 in 2 evaluations"},
		{"patience, higher", Stop{Patience: 2}, metrics.HigherIsBetter, []float64{1, 2, 1, 3, 2, 4}, 0, ""},
		{"small steps, lower", Stop{Patience: 2, MinDelta: 0.5}, metrics.LowerIsBetter, []float64{3, 2.6, 2.6}, 3, "m has not improved on 3 in 2 evaluations"},
		{"large steps, lower", Stop{Patience: 2, MinDelta: 0.5}, metrics.LowerIsBetter, []float64{3, 2.6, 2.4, 2, 1.8}, 0, ""},
		{"small steps, higher", Stop{Patience: 1, MinDelta: 0.5}, metrics.HigherIsBetter, []float64{1, 1.6, 2}, 3, "m has not improved on 1.6 in 1 evaluations"},
		{"both", Stop{Reach: &reach, Patience: 1}, metrics.HigherIsBetter, []float64{0.1, 0.1, 0.7}, 2, "m has not improved on 0.1 in 1 evaluations"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.stop.Name, c.stop.Better, c.stop.Seen = "m", c.better, &Seen{}
			must.Equal(t, c.stop.Enough(), "", "stops before any evaluation")
			ends, why := 0, ""
			for i, v := range c.values {
				c.stop.observe(metrics.Result{Name: "m", Better: c.better, Value: v})
				if why = c.stop.Enough(); why != "" {
					ends = i + 1
					break
				}
			}
			if ends != c.ends || !strings.HasSuffix(why, c.why) {
				t.Errorf("stops after %d evaluations: %q, want %d: %q", ends, why, c.ends, c.why)
			}
		})
	}
}

package train

import (
	"context"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/engine"
)

// BenchmarkMeasure times the fast metrics relative to the training between two measurements, at the default interval.
func BenchmarkMeasure(b *testing.B) {
	for _, name := range []string{"entangled/both", "lsbd-vae/square-small", "lsbd-vae/square", "sprites/vae"} {
		b.Run(name, func(b *testing.B) {
			e, t := loopOfConfig(b, name, "metrics.during=fast", "train.epochs=1000000")
			defer t.Close()
			w := must.Get(newMonitor(e, t.EpochImages()))(b)
			ctx := context.Background()
			var training, measuring time.Duration
			for b.Loop() {
				begin := time.Now()
				for range w.Every {
					must.OK(b, t.RunEpoch(ctx))
				}
				middle := time.Now()
				must.Get(w.Measure(ctx))(b)
				training, measuring = training+middle.Sub(begin), measuring+time.Since(middle)
			}
			b.ReportMetric(float64(w.Every), "epochs")
			b.ReportMetric(float64(measuring.Microseconds())/float64(b.N)/1e3, "ms/measure")
			b.ReportMetric(100*measuring.Seconds()/training.Seconds(), "%")
		})
	}
}

// loopOfConfig builds the experiment and the loop of an embedded config.
func loopOfConfig(b *testing.B, name string, overrides ...string) (*Experiment, *engine.Loop) {
	b.Helper()
	source := must.Get(configs.Read(name))(b)
	c := must.Get(Load(name, source, overrides...))(b)
	e := must.Get(NewExperiment(c))(b)
	t := must.Get(e.Loop())(b)
	return e, t
}

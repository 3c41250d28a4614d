package train

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// BenchmarkCOFHAE times a step on 256 chopsticks. The step trains the autoencoder and the discriminator with one Adam
// each. The discriminator has three layers of 1000 units on 512 codes.
//
//	go test ./train -run '^$' -bench COFHAE
func BenchmarkCOFHAE(b *testing.B) {
	for _, c := range []struct{ name, override string }{
		{"cofhae", "seed=0"},
		{"autoencoder alone", "losses=[{reconstruction: {sigma: 0.07}}, assignment]"},
		{"discriminator of 6 layers", "losses.2.conditional-tc.discriminator.hidden=[1000, 1000, 1000, 1000, 1000, 1000]"},
	} {
		for _, n := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/threads=%d", c.name, n), func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
				b.ReportAllocs()
				benchmarkSteps(b, "cofhae/chopsticks", c.override, "dataset.chopsticks.samples=10000")
			})
		}
	}
}

// BenchmarkSmall times steps of very small models, as in sweeps with several runs of one thread.
//
//	go test ./train -run '^$' -bench Small
func BenchmarkSmall(b *testing.B) {
	for _, name := range []string{"lsbd-vae/square-small", "entangled/both", "ae/chopsticks"} {
		for _, n := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/threads=%d", name, n), func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
				benchmarkSteps(b, name, "train.epoch_steps=20")
			})
		}
	}
}

// benchmarkSteps times steps of a run of a config, with its batches.
func benchmarkSteps(b *testing.B, name string, overrides ...string) {
	_, t := loopOfConfig(b, name, append([]string{"train.epoch_steps=1", "train.epochs=1000000000"}, overrides...)...)
	defer t.Close()
	ctx := context.Background()
	step := func() {
		must.OK(b, t.RunEpoch(ctx))
	}
	for range 3 {
		step()
	}
	b.ResetTimer()
	for b.Loop() {
		step()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*t.EpochSteps())/1e3, "ms/step")
}

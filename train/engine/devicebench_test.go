//go:build gpu

package engine

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// Tasks of tools/peer/steps.py and resnet18.py.
const (
	benchVAE = `
dataset: {square: {size: 64, side: 16}}
model: {vae: {encoder: conv64, latent: 10}}
losses: [{reconstruction: {likelihood: bernoulli}}, kl]
train: {epochs: 1000000, batch: 64}
`
	benchLSBD = `
dataset: {square: {size: 64, side: 16}}
supervision: {pairs: {count: 2048}}
model: {lsbd-vae: {encoder: conv64, latent: [{sphere: {dim: 1, log_t: [-10, -9]}}, {sphere: {dim: 1, log_t: [-10, -9]}}]}}
losses: [{reconstruction: {likelihood: gaussian}}, kl, {lsbd: {weight: 100}}]
train: {epochs: 1000000, batch: 100}
`
	benchCOFHAE = `
dataset: {chopsticks: {variant: both, depth: 2, samples: 10000}}
supervision: {labels: {fraction: 1}}
model: {cofhae: {hierarchy: truth, tau: 1, encoder: {mlp: {hidden: [256, 256], activation: softplus}}}}
losses: [{reconstruction: {sigma: 0.0707106781186547}}, {assignment: {weight: 1000}}, {conditional-tc: {weight: 1, discriminator: {hidden: [1000, 1000, 1000, 1000, 1000, 1000]}}}]
train: {epochs: 1000000, batch: 256}
`
	benchBYOL = `
dataset: {sprites: {channels: 3}}
views: {pipeline: negative-free, count: 2}
model: byol
losses: [cosine-regression]
train: {epochs: 1000000, batch: 64, optimizer: {adam: {lr: 0.0003}}}
`
	benchResNet = `
dataset: {sprites: {channels: 3}}
model: {encoder: {latent: 10, encoder: resnet18}}
losses: [{dip-i: {weight: 0.001}}]
train: {epochs: 1000000, batch: 64}
`
)

// BenchmarkDeviceStep times a training step on the first GPU and on the CPU: step has the same batch in each step, and
// epoch also draws the batches. Both copy the images to the GPU.
//
//	go test -tags gpu ./train/engine -run '^$' -bench DeviceStep
//	python3 tools/peer/steps.py --model vae --batch 64 --device cuda
func BenchmarkDeviceStep(b *testing.B) {
	for _, c := range []struct {
		name      string
		task      string
		overrides []string
	}{
		{"vae/batch=64", benchVAE, nil},
		{"vae/batch=256", benchVAE, []string{"train.batch=256"}},
		{"lsbd-vae/pairs=50", benchLSBD, nil},
		{"cofhae/batch=256", benchCOFHAE, nil},
		{"byol/batch=64", benchBYOL, nil},
		{"resnet18/batch=64", benchResNet, nil},
	} {
		for _, threads := range []int{0, 1, 2, 4, 8, 16} { // 0: the GPU
			if threads > runtime.NumCPU() {
				continue
			}
			device, name := CPU, fmt.Sprintf("%s/threads=%d", c.name, threads)
			if threads == 0 {
				device, name, threads = GPU, c.name+"/gpu", runtime.NumCPU()
			}
			b.Run(name+"/step", func(b *testing.B) {
				l := benchmarkLoop(b, c.task, c.overrides, device, threads)
				must.OK(b, l.feed.startEpoch())
				batch, images, _, err := l.feed.next()
				must.OK(b, err)
				for b.Loop() {
					must.OK(b, l.trainStep(context.Background(), batch, images, benchSteps))
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/step")
			})
			b.Run(name+"/epoch", func(b *testing.B) {
				l := benchmarkLoop(b, c.task, c.overrides, device, threads)
				for b.Loop() {
					must.OK(b, l.RunEpoch(context.Background()))
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(benchSteps*b.N), "ms/step")
			})
		}
	}
}

const benchSteps = 10

// benchmarkLoop returns a loop with epochs of benchSteps steps, after its first epoch, which allocates memory.
func benchmarkLoop(b *testing.B, source string, overrides []string, device Device, threads int) *Loop {
	if device == GPU {
		needsGPU(b)
	}
	before := runtime.GOMAXPROCS(threads)
	b.Cleanup(func() { runtime.GOMAXPROCS(before) })
	task, settings := taskOf(b, source, overrides...)
	settings.Device, settings.EpochSteps = device, benchSteps
	l, err := New(task, settings)
	if err == nil {
		b.Cleanup(l.Close)
		err = l.RunEpoch(context.Background())
	}
	must.OK(b, err)
	return l
}

package engine

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/latent"
)

// conv64Flops is the number of floating-point operations in the forward pass of the conv64 encoder and decoder on one
// 64x64 image: two for every multiplication by a weight.
func conv64Flops(channels, codes, heads int) float64 {
	encoder := 32*32*16*channels*32 + 16*16*16*32*32 + 8*8*16*32*64 + 4*4*16*64*64 + 1024*256 + 256*heads
	decoder := codes*256 + 256*1024 + 4*4*16*64*64 + 8*8*16*64*32 + 16*16*16*32*32 + 32*32*16*32*channels
	return 2 * float64(encoder+decoder)
}

// stepFlops is the number of floating-point operations in a forward and backward pass of a batch: three forward passes
// without the gradient in the first layer's input.
func stepFlops(batch, channels, codes, heads int) float64 {
	return float64(batch) * (3*conv64Flops(channels, codes, heads) - 2*float64(32*32*16*channels*32))
}

// BenchmarkTrainStep times forward, backward and Adam on given images, with new noise.
//
//	go test ./train/engine -run '^$' -bench TrainStep
func BenchmarkTrainStep(b *testing.B) {
	reconstruction, kl, lsbd := mustLoss(b, "reconstruction"), mustLoss(b, "kl"), mustLoss(b, "lsbd")
	bernoulli := losses.NewReconstruction()
	bernoulli.Likelihood = "bernoulli"
	binary := reconstruction
	binary.Value = bernoulli
	for _, channels := range []int{1, 3} {
		for _, batch := range []int{64, 128, 256} {
			atThreads(b, fmt.Sprintf("vae/channels=%d/batch=%d", channels, batch), func(b *testing.B) {
				benchmarkStep(b, models.NewVAE(), channels, models.Objective{Name: "unsupervised"}, []losses.Choice{binary, kl},
					batch, 1, stepFlops(batch, channels, 10, 20))
			})
		}
	}
	// Compare, alternating runs, with: python3 tools/peer/adagvae.py --threads 1
	atThreads(b, "ada-gvae/pairs=64", func(b *testing.B) {
		benchmarkStep(b, models.NewAdaGVAE(), 1, models.Objective{Name: "pairs", Labelled: true}, []losses.Choice{binary, kl},
			128, 2, stepFlops(128, 1, 10, 20))
	})
	atThreads(b, "lsbd-vae/pairs=50", func(b *testing.B) {
		s := models.NewLSBDVAE()
		s.Latent = latent.Of(&latent.Sphere{Dim: 1, LogT: [2]float64{-10, -9}, Steps: 10},
			&latent.Sphere{Dim: 1, LogT: [2]float64{-10, -9}, Steps: 10})
		benchmarkStep(b, s, 1, models.Objective{Name: "supervised", Labelled: true},
			[]losses.Choice{reconstruction, kl, lsbd}, 100, 2, stepFlops(100, 1, 4, 6))
	})
}

func mustLoss(b *testing.B, name string) losses.Choice {
	return must.Get(losses.Named(name))(b)
}

func benchmarkStep(b *testing.B, s models.Settings, channels int, o models.Objective, list []losses.Choice,
	images, group int, flops float64) {
	m := must.Get(s.New(benchData(channels), 1))(b)
	p := must.Get((&plan{model: m, split: &supervision.Split{}, losses: list}).compile(o, images, group))(b)
	stream := rng.New(1, "bench")
	pixels := make([]float32, images*64*64*channels)
	for i := range pixels {
		pixels[i] = stream.Float32()
	}
	batch := supervision.Batch{Labelled: o.Labelled, Indices: make([]int, images), Transformations: make([]float32, images*2)}
	stream.Normals(batch.Transformations)
	adam := must.Get(Optimizers.Lookup("adam"))(b)
	optimizer := adam.New().New(parametersOf(m.Params(), p.names))
	step := func() {
		p.fill(pixels, nil, batch, 2, 0, stream)
		must.OK(b, p.run())
		optimizer.Norm(p.gradients)
		optimizer.Update(p.gradients, 1, 1)
	}
	step() // the first step allocates buffers
	memory.HugePages()
	b.ResetTimer()
	for b.Loop() {
		step()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1e3, "ms/step")
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// BenchmarkTwoViews times a step of models of two views: batch 64 of 64x64x3 images, D = 1000. The step includes
// forward, backward, Adam, targets and queues, on given views.
//
//	go test ./train/engine -run '^$' -bench TwoViews
func BenchmarkTwoViews(b *testing.B) {
	barlow, moco := models.NewBarlowTwins(), models.NewMoCo2()
	barlow.Hidden = 2048
	for _, c := range []struct {
		name     string
		settings models.Settings
		loss     string
	}{
		{"byol", models.NewBYOL(), "cosine-regression"},
		{"simsiam", models.NewSimSiam(), "cosine-regression"},
		{"barlow-twins/hidden=2048", barlow, "cross-correlation"},
		{"moco-v2", moco, "info-nce"},
	} {
		atThreads(b, c.name, func(b *testing.B) { benchmarkViews(b, c.settings, mustLoss(b, c.loss)) })
	}
}

func benchmarkViews(b *testing.B, s models.Settings, loss losses.Choice) {
	m := must.Get(s.New(benchData(3), 1))(b)
	const n = 64
	p, err := (&plan{model: m, split: &supervision.Split{}, views: twoOf(), losses: []losses.Choice{loss}}).compile(m.Objectives()[0], n, 1)
	must.OK(b, err)
	stream := rng.New(1, "bench")
	views := [][]float32{make([]float32, n*64*64*3), make([]float32, n*64*64*3)}
	for _, v := range views {
		for i := range v {
			v[i] = stream.Float32()
		}
	}
	adam := must.Get(Optimizers.Lookup("adam"))(b)
	settings := adam.New().(*Adam)
	settings.LR = 3e-4
	optimizer := settings.New(parametersOf(m.Params(), p.names))
	step := func() {
		p.fill(nil, views, supervision.Batch{Indices: make([]int, n)}, 0, 0, stream)
		must.OK(b, p.run())
		optimizer.Norm(p.gradients)
		optimizer.Update(p.gradients, 1, 1)
		p.move(0, false)
	}
	step() // the first step allocates buffers
	memory.HugePages()
	b.ResetTimer()
	for b.Loop() {
		step()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1e3, "ms/step")
}

// twoOf returns two views that equal the images.
func twoOf() *augment.Views { return &augment.Views{Count: 2} }

// atThreads runs a benchmark at one and two threads.
func atThreads(b *testing.B, name string, f func(b *testing.B)) {
	for _, n := range []int{1, 2} {
		b.Run(fmt.Sprintf("%s/threads=%d", name, n), func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
			b.ReportAllocs()
			f(b)
		})
	}
}

// benchData describes images with two circular factors.
func benchData(channels int) models.Data {
	circle := func(name string) factor.Factor {
		return factor.Factor{Name: name, Size: 64, Kind: factor.Circular}
	}
	return models.Data{Height: 64, Width: 64, Channels: channels, Factors: []factor.Factor{circle("row"), circle("column")}}
}

// BenchmarkEncode times the encoder with its location head on batches of 256.
func BenchmarkEncode(b *testing.B) {
	for _, channels := range []int{1, 3} {
		atThreads(b, fmt.Sprintf("channels=%d/batch=256", channels), func(b *testing.B) {
			m := must.Get(models.NewVAE().New(benchData(channels), 1))(b)
			g := nn.NewGraph(m.Params())
			in := must.Get(g.Input("images", 256, 64, 64, channels))(b)
			out := must.Get(m.Encode(g, in))(b)
			machine := must.Get(machine.New(out.Graph(), out))(b)
			run := func() {
				must.OK(b, machine.RunAll())
			}
			run()
			b.ResetTimer()
			for b.Loop() {
				run()
			}
			b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
}

// BenchmarkOptimizers times updates of four million parameters in eight matrices with the defaults of each optimiser,
// in nanoseconds per million parameters. copy is a plain copy of as many numbers. testdata/torch_optimizers.py times
// PyTorch.
//
//	go test ./train/engine -run '^$' -bench Optimizers -cpu 1
func BenchmarkOptimizers(b *testing.B) {
	const tensors, rows, columns = 8, 512, 1024
	stream := rng.New(1, "bench")
	numbers := func() (list [][]float32) {
		for range tensors {
			x := make([]float32, rows*columns)
			stream.Normals(x)
			list = append(list, x)
		}
		return list
	}
	values, gradients := numbers(), numbers()
	var parameters []Parameter
	for i, x := range values {
		parameters = append(parameters, Parameter{Name: fmt.Sprint(i), Value: x, Shape: []int{rows, columns}})
	}
	time := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			f()
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(tensors*rows*columns/1e6), "ns/Mparam")
		})
	}
	copies := numbers()
	time("copy", func() {
		for i, x := range gradients {
			copy(copies[i], x)
		}
	})
	for _, e := range Optimizers.Entries {
		o := e.New().New(parameters)
		time(e.Name, func() { o.Update(gradients, 1e-3, 1) })
	}
	centred := NewRMSProp()
	centred.Centred = true
	o := centred.New(parameters)
	time("rmsprop-centred", func() { o.Update(gradients, 1e-3, 1) })
}

package nn_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/parallel/scaling"
)

// BenchmarkResNet18Step times a training step (forward, backward, Adam) of the encoder resnet18 on 64 images of
// 64x64x3, like tools/peer/resnet18.py in PyTorch. Use -cpu 1 for one thread and -cpu 2 for two. (With -cpu 1,2, the
// first run would use all threads.)
func BenchmarkResNet18Step(b *testing.B) {
	const batch = 64
	g := nn.NewGraph(nn.NewParams(1))
	g.Training = true
	x, err := g.Input("images", batch, 64, 64, 3)
	must.OK(b, err)
	features, err := nn.NewResNet18().Encode(g, x, "encoder")
	must.OK(b, err)
	loss, err := meanSquare(features)
	must.OK(b, err)
	_, weights := g.Learnables()
	grads, err := gorgonia.Grad(loss, weights...)
	must.OK(b, err)
	m, err := machine.New(x.Graph(), append(grads, loss)...)
	must.OK(b, err)
	r := rand.New(rand.NewPCG(1, 1))
	images := nn.Data(x)
	for i := range images {
		images[i] = r.Float32()
	}
	adam, model := machine.NewAdam(), gorgonia.NodesToValueGrads(weights)
	step := func() {
		must.OK(b, errors.Join(m.RunAll(), adam.Step(model)))
	}
	step() // allocates memory
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
	scaling.Report(b, step)
	b.ReportMetric(m.Bytes()/(1<<20), "MiB")
	b.ReportMetric(batch*float64(b.N)/b.Elapsed().Seconds(), "images/s")
}

func meanSquare(x *gorgonia.Node) (*gorgonia.Node, error) {
	square, err := gorgonia.Square(x)
	if err != nil {
		return nil, err
	}
	return gorgonia.Mean(square)
}

package nn_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
)

// BenchmarkResNet18Step times a training step (forward, backward, Adam) of the encoder resnet18 on 64 images of
// 64x64x3, like tools/peer/resnet18.py in PyTorch. Use -cpu 1 for one thread and -cpu 2 for two. (With -cpu 1,2, the
// first run would use all threads.)
func BenchmarkResNet18Step(b *testing.B) {
	const batch = 64
	g := nn.NewGraph(nn.NewParams(1))
	g.Training = true
	x := must.Get(g.Input("images", batch, 64, 64, 3))(b)
	features := must.Get(nn.NewResNet18().Encode(g, x, "encoder"))(b)
	loss := must.Get(meanSquare(features))(b)
	_, weights := g.Learnables()
	grads := must.Get(gorgonia.Grad(loss, weights...))(b)
	m := must.Get(machine.New(x.Graph(), append(grads, loss)...))(b)
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

package kernel

import (
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
)

func BenchmarkFunctions(b *testing.B) {
	x := kerneltest.Random(rand.New(rand.NewPCG(1, 1)), 1<<14)
	y := make([]float32, len(x))
	for _, f := range []struct {
		name string
		f    func(dst, x []float32)
	}{{"exp", Exp}, {"log", Log}, {"tanh", Tanh}, {"sigmoid", Sigmoid}, {"softplus", Softplus}} {
		b.Run(f.name, func(b *testing.B) {
			for b.Loop() {
				f.f(y, x)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/element")
		})
	}
}

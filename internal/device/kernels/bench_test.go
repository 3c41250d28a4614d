//go:build gpu

package kernels_test

import (
	"testing"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
)

// benchmark runs a tape repeatedly, and reports the rate for a number of multiplications.
func benchmark(b *testing.B, products float64, record func(t *vulkan.Tape, room func(n int) vulkan.Buffer)) {
	b.Helper()
	d := open(b)
	tape := d.NewTape()
	defer tape.Close()
	record(tape, func(n int) vulkan.Buffer { return upload(b, d, normals(1, n)) })
	play(b, tape)
	for b.Loop() {
		if err := tape.Run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(2e-9*products*float64(b.N)/b.Elapsed().Seconds(), "GFLOP/s")
}

func BenchmarkDense(b *testing.B) {
	const m, k, n = 512, 1000, 1000
	benchmark(b, m*k*n, func(t *vulkan.Tape, room func(n int) vulkan.Buffer) {
		kernels.Dense(t, room(m*k), room(k*n), room(n), room(m*n), kernel.ReLUActivation, m, k, n)
	})
}

func BenchmarkConv(b *testing.B) {
	s := kernel.ConvShape{Batch: 64, InH: 32, InW: 32, InC: 32, OutH: 16, OutW: 16, OutC: 64, Kernel: 4, Stride: 2, PadH: 1, PadW: 1}
	x, y, w := s.Batch*s.InH*s.InW*s.InC, s.Batch*s.OutH*s.OutW*s.OutC, s.Kernel*s.Kernel*s.InC*s.OutC
	products := float64(y) * float64(s.Kernel*s.Kernel*s.InC)
	none := vulkan.Buffer{}
	for name, record := range map[string]func(t *vulkan.Tape, room func(n int) vulkan.Buffer){
		"value": func(t *vulkan.Tape, room func(n int) vulkan.Buffer) {
			kernels.Conv(t, room(x), room(w), room(s.OutC), room(y), s, kernel.ReLUActivation)
		},
		"gradient by the images": func(t *vulkan.Tape, room func(n int) vulkan.Buffer) {
			kernels.ConvGradient(t, room(x), room(w), room(y), room(y), room(x), none, none, s, kernel.LinearActivation)
		},
		"gradient by the weights": func(t *vulkan.Tape, room func(n int) vulkan.Buffer) {
			kernels.ConvGradient(t, room(x), room(w), room(y), room(y), none, room(w), none, s, kernel.LinearActivation)
		},
	} {
		b.Run(name, func(b *testing.B) { benchmark(b, products, record) })
	}
}

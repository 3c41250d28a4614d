//go:build gpu

package kernels_test

import (
	"testing"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/must"
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
		must.OK(b, tape.Run())
	}
	if products > 0 {
		b.ReportMetric(2e-9*products*float64(b.N)/b.Elapsed().Seconds(), "GFLOP/s")
	}
}

// BenchmarkCosts times the parts of the model of a step in docs/gpu.md.
func BenchmarkCosts(b *testing.B) {
	const repeats = 1000
	run := func(name string, times int, metric string, record func(t *vulkan.Tape, room func(n int) vulkan.Buffer)) {
		b.Run(name, func(b *testing.B) {
			benchmark(b, 0, record)
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(times*b.N), metric)
		})
	}
	run("submission", 1, "us", func(t *vulkan.Tape, room func(n int) vulkan.Buffer) {
		kernels.Scale(t, 2, room(64), room(64), 64)
	})
	run("launches", repeats, "us/launch", func(t *vulkan.Tape, room func(n int) vulkan.Buffer) {
		for range repeats {
			kernels.Scale(t, 2, room(64), room(64), 64)
		}
	})
	run("launches and barriers", repeats, "us/launch", func(t *vulkan.Tape, room func(n int) vulkan.Buffer) {
		x, y := room(64), room(64)
		for range repeats {
			kernels.Scale(t, 1, x, y, 64)
			x, y = y, x
		}
	})
	const big = 1 << 24
	run("copy of 64 MiB on the device", 10, "us", func(t *vulkan.Tape, room func(n int) vulkan.Buffer) {
		x, y := room(big), room(big)
		for range 10 {
			kernels.Copy(t, x, y, big)
			x, y = y, x
		}
	})
}

// BenchmarkCopies times copies between the host's memory and the device's.
func BenchmarkCopies(b *testing.B) {
	d := open(b)
	const n = 1 << 22
	x := must.Get(d.AllocHost(4 * n))(b)
	defer d.Free(x)
	y := upload(b, d, make([]float32, n))
	numbers := make([]float32, n)
	rate := func(b *testing.B) { b.ReportMetric(4e-9*n*float64(b.N)/b.Elapsed().Seconds(), "GB/s") }
	for name, pair := range map[string][2]vulkan.Buffer{"up": {y, x}, "down": {x, y}} {
		b.Run(name, func(b *testing.B) {
			tape := d.NewTape()
			defer tape.Close()
			tape.Copy(pair[0], pair[1])
			play(b, tape)
			for b.Loop() {
				must.OK(b, tape.Run())
			}
			rate(b)
		})
	}
	b.Run("host", func(b *testing.B) {
		for b.Loop() {
			copy(x.Floats(), numbers)
		}
		rate(b)
	})
}

// BenchmarkRows times operations that read much and compute little, on the sizes of a VAE's first layer.
func BenchmarkRows(b *testing.B) {
	const rows, width, repeats = 64 * 32 * 32, 32, 20
	for name, record := range map[string]func(t *vulkan.Tape, x, y, z vulkan.Buffer){
		"sums of columns": func(t *vulkan.Tape, x, y, z vulkan.Buffer) {
			kernels.DenseGradient(t, x, y, x, x, vulkan.Buffer{}, vulkan.Buffer{}, z, kernel.LinearActivation, rows, width, width)
		},
		"gradient of relu": func(t *vulkan.Tape, x, y, z vulkan.Buffer) {
			kernels.ActivateGradient(t, x, y, z, kernel.ReLUActivation, rows*width)
		},
		"bernoulli": func(t *vulkan.Tape, x, y, z vulkan.Buffer) {
			kernels.BernoulliReconstruction(t, x, y, z, 1, 64*64*64)
		},
		"norm": func(t *vulkan.Tape, x, y, z vulkan.Buffer) {
			kernels.SquaredNorm(t, []vulkan.Buffer{x, y}, []int{rows, rows}, z)
		},
	} {
		b.Run(name, func(b *testing.B) {
			benchmark(b, 0, func(t *vulkan.Tape, room func(n int) vulkan.Buffer) {
				x, y, z := room(rows*width), room(rows*width), room(rows*width)
				for range repeats {
					record(t, x, y, z)
					t.EndOperation()
				}
			})
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(repeats*b.N), "us")
		})
	}
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

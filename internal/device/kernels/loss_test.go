//go:build gpu

package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/latent"
)

func TestGaussianReconstruction(t *testing.T) {
	var list []check
	for _, s := range []struct {
		rows, pixels int
		spread       float64
		o            losses.Gaussian
	}{
		{1, 1, 1, losses.Gaussian{}},
		{3, 1000, 4, losses.Gaussian{}},
		{2, 70, 100, losses.Gaussian{Sigma: 2, Constant: true}},
		{5, 77, 3, losses.Gaussian{Sigma: 0.5, Linear: true}},
		{64, 5000, 1, losses.Gaussian{}}, // a thread adds up more than one pixel
	} {
		n, sigma := s.rows*s.pixels, s.o.Sigma
		if sigma == 0 {
			sigma = 1 / math.Sqrt2
		}
		scale, constant := 1/(2*sigma*sigma*float64(s.rows)), 0.0
		if s.o.Constant {
			constant = float64(s.pixels) * (math.Log(sigma) + 0.5*math.Log(2*math.Pi))
		}
		list = append(list, check{
			name:   fmt.Sprint(s),
			inputs: []input{in(s.rows, s.pixels), in(s.rows, s.pixels).wide(s.spread)},
			build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				return losses.GaussianReconstruction(in[0], in[1], s.o)
			},
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.GaussianReconstruction(t, in[0], in[1], out, scale, constant, s.o.Linear, n)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.GaussianReconstructionGradient(t, in[0], in[1], dout, din[0], din[1], scale, s.o.Linear, n)
			},
		})
	}
	runAll(t, list)
}

func TestBernoulliReconstruction(t *testing.T) {
	var list []check
	for _, s := range []struct {
		rows, pixels int
		spread       float64
	}{{1, 1, 1}, {3, 1000, 4}, {2, 70, 1e4}, {64, 5000, 10}} {
		n := s.rows * s.pixels
		list = append(list, check{
			name:   fmt.Sprint(s),
			inputs: []input{in(s.rows, s.pixels).of(0, 1, 0.25, 0.5, 1), in(s.rows, s.pixels).wide(s.spread)},
			build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				return losses.BernoulliReconstruction(in[0], in[1])
			},
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.BernoulliReconstruction(t, in[0], in[1], out, 1/float64(s.rows), n)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.BernoulliReconstructionGradient(t, in[0], in[1], dout, din[0], din[1], 1/float64(s.rows), n)
			},
		})
	}
	runAll(t, list)
}

func TestKLGaussian(t *testing.T) {
	var list []check
	for _, s := range []struct {
		rows, columns int
		spread        float64
	}{{1, 1, 1}, {64, 10, 2}, {7, 129, 20}, {64, 10, 0.1}} {
		for factor, build := range map[float64]func(mu, scale *gorgonia.Node) (*gorgonia.Node,
			error){2: losses.KLGaussian, 1: losses.KLGaussianLogVariance} {
			n := s.rows * s.columns
			list = append(list, check{
				name:   fmt.Sprint(factor, s),
				inputs: []input{in(s.rows, s.columns).wide(s.spread), in(s.rows, s.columns).wide(s.spread)},
				build:  func(in []*gorgonia.Node) (*gorgonia.Node, error) { return build(in[0], in[1]) },
				forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.KLGaussian(t, in[0], in[1], out, factor, s.rows, n)
				},
				backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.KLGaussianGradient(t, in[0], in[1], dout, din[0], din[1], factor, s.rows, n)
				},
			})
		}
	}
	runAll(t, list)
}

func TestGaussianSample(t *testing.T) {
	var list []check
	for _, s := range []struct{ rows, columns int }{{1, 1}, {64, 10}, {129, 33}} {
		n := s.rows * s.columns
		list = append(list, check{
			name:   fmt.Sprint(s),
			inputs: []input{in(s.rows, s.columns), in(s.rows, s.columns).wide(3), in(s.rows, s.columns).wide(2).constant()},
			build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				return latent.GaussianSample(in[0], in[1], in[2])
			},
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.GaussianSample(t, in[0], in[1], in[2], out, n)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.GaussianSampleGradient(t, in[1], in[2], dout, din[0], din[1], n)
			},
		})
	}
	runAll(t, list)
}

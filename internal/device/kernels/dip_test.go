//go:build gpu

package kernels_test

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/losses"
)

func TestDIP(t *testing.T) {
	var list []check
	for _, s := range []struct {
		rows, d int
		codes   []float64
		spread  float64
	}{
		{64, 10, nil, 1}, {1, 1, nil, 1}, {1, 3, nil, 2}, {7, 1, nil, 1}, {700, 65, nil, 1}, {33, 4, nil, 100},
		{8, 3, []float64{2}, 1},                  // constant codes
		{8, 3, []float64{1000, -5, 0.125}, 1},    // constant columns far from 0
		{8, 2, []float64{500, 500.25, 501}, 1},   // differences are exact
		{12, 2, []float64{1e4, 1e-4, -1e4}, 0.1}, // large and small
	} {
		for _, latent := range []bool{false, true} {
			inputs := []input{in(s.rows, s.d).of(s.codes...).wide(s.spread)}
			if latent {
				inputs = append(inputs, in(s.rows, s.d).wide(3))
			}
			list = append(list, check{
				name:   fmt.Sprint(s, latent),
				inputs: inputs,
				build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
					if latent {
						return losses.DIPCode(in[0], in[1], 10, 5)
					}
					return losses.DIP(in[0], 10, 5)
				},
				forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.DIP(t, in[0], append(in, vulkan.Buffer{})[1], out, 10, 5, s.rows, s.d)
				},
				backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					none := vulkan.Buffer{}
					kernels.DIPGradient(t, in[0], append(in, none)[1], dout, din[0], append(din, none)[1], 10, 5, s.rows, s.d)
				},
			})
		}
	}
	runAll(t, list)
}

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

func TestPublicLSBD(t *testing.T) {
	var list []check
	for _, s := range []struct {
		rows, columns, m int
		z, y             []float64
	}{
		{64, 4, 2, nil, nil}, {1, 1, 1, nil, nil}, {5, 130, 5, nil, nil},
		{6, 2, 3, []float64{0.5, -0.25}, []float64{0.5, -0.25}}, // distances of 0
		{4, 2, 2, []float64{1, 0}, []float64{1, 0, -1, 0}},      // products of 1 and -1
	} {
		cosine, distance := 2*float64(s.m)/float64(s.rows), 3*float64(s.m)/float64(s.rows)
		list = append(list, check{
			name:   fmt.Sprint(s),
			inputs: []input{in(s.rows, s.columns).of(s.z...), in(s.rows, s.columns).of(s.y...)},
			build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				return losses.PublicLSBD(in[0], in[1], s.m, 1, 3)
			},
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.PublicLSBD(t, in[0], in[1], out, cosine, distance, s.rows, s.columns)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.PublicLSBDGradient(t, in[0], in[1], dout, din[0], din[1], cosine, distance, s.rows, s.columns)
			},
		})
	}
	runAll(t, list)
}

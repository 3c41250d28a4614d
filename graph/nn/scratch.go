package nn

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
)

// Scratch estimates the bytes that the operations which out depends on take beside their results and gradients: weights that
// are laid out for the kernels, sums of their gradients by groups of images, and rows that are laid out anew.
func Scratch(out *gorgonia.Node) float64 {
	sub := out.Graph().ExactSubgraphRoots(out)
	var own, shared float64
	for _, n := range sub.AllNodes() {
		operation, attributes, ok := graph.Operation(n)
		if !ok {
			continue
		}
		var in []tensor.Shape
		for c := sub.From(n.ID()); c != nil && c.Next(); {
			in = append(in, c.Node().(*gorgonia.Node).Shape())
		}
		switch operation {
		case "convolution", "transposed convolution":
			stride, _ := attributes["stride"].(int)
			numbers, pooled := convScratch(in[0][0], in[1], stride)
			if pooled {
				shared = max(shared, numbers) // layers use it one after the other
			} else {
				own += numbers
			}
		case "dense":
			rows, weights := float64(in[0][0]), float64(in[1].TotalSize())
			own += 2*weights + rows*float64(in[1][0]+2*in[1][1])
		}
	}
	const size = 4 // bytes
	return size * (own + shared)
}

// convScratch estimates the numbers of a convolution with weights [k, k, in, out] on a batch, and whether layers share them.
func convScratch(batch int, w tensor.Shape, stride int) (numbers float64, pooled bool) {
	const groups, layouts = 8, 2 // sums over the batch; layouts forward and backward
	size, sums := float64(w.TotalSize()), float64(min(batch, groups))
	switch {
	case w[0] == 3 && stride == 1: // Winograd's F(4x4, 3x3): 36 products of a filter for 9
		return 4 * size * sums, true
	case w[0] == 4 && stride == 2 && w[2]%16 == 0 && w[3]%16 == 0: // F(2x2, 2x2): 36 for 16
		return 9.0 / 4 * size * (sums + layouts), false
	}
	return size * (sums + layouts), false
}

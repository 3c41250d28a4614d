package nn

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
)

// Scratch estimates the scratch memory of out and the operations before it, in bytes, without results and gradients. It
// counts weights and rows in kernel layout, and sums of weight gradients over groups of images.
func Scratch(out *gorgonia.Node) float64 {
	sub := out.Graph().ExactSubgraphRoots(out)
	var own, shared float64
	for _, n := range sub.AllNodes() {
		operation, attributes, ok := graph.Operation(n)
		if !ok {
			continue
		}
		var in []tensor.Shape
		for _, o := range operandsOf(sub, n) {
			in = append(in, o.Shape())
		}
		switch operation {
		case "convolution", "transposed convolution":
			stride, _ := attributes["stride"].(int)
			layouts, pooled := convScratch(in[0][0], in[1], stride)
			own += layouts
			shared = max(shared, pooled) // layers share this memory, because they run one after another
		case "dense":
			rows := float64(in[0][0])
			own += rows * float64(in[1][1])                                         // the gradient before the activation
			shared = max(shared, float64(in[1].TotalSize())+rows*float64(in[1][0])) // transposed weights, separate rows
		}
	}
	const size = 4 // bytes
	return size * (own + shared)
}

// convScratch estimates the scratch elements of a convolution with weights [k, k, in, out] on a batch. layouts counts
// the weights in kernel layout. pooled counts the memory that layers share.
func convScratch(batch int, w tensor.Shape, stride int) (layouts, pooled float64) {
	const maxSums, minGroups = 5 << 20, 8 // elements of all sums over groups of the batch; number of groups
	size := float64(w.TotalSize())
	sums := min(float64(batch)*size, max(maxSums, minGroups*size))
	switch {
	case w[0] == 3 && stride == 1: // Winograd's F(4x4, 3x3): 36 elements per filter of 9
		return 0, max(4*size, sums)
	case w[0] == 4 && stride == 2 && w[2]%16 == 0 && w[3]%16 == 0: // F(4x4, 2x2): 25 for 4 of 16, forward, backward and transposed
		return (2*25.0/4 + 1) * size, sums
	}
	return 2 * size, sums
}

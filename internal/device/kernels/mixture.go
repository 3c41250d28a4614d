package kernels

import (
	"slices"

	"github.com/unravel-ml/unravel/graph/vulkan"
)

// Mixtures describes losses.TotalCorrelation of codes [Rows, Columns] by a minibatch.
type Mixtures struct {
	Rows, Columns int
	Blocks        [][]int // none: single columns
	Estimator     int     // 0 minibatch, 1 weighted, 2 stratified
	Size          int     // number of images in the data set
}

// TotalCorrelation records losses.TotalCorrelation, losses.BlockCorrelation, or with a mask
// losses.ConditionalTotalCorrelation.
func TotalCorrelation(t *vulkan.Tape, z, mean, logVariance, mask, out vulkan.Buffer, m Mixtures) {
	m.densities(t, z, mean, logVariance, mask, out)
}

// TotalCorrelationGradient records the gradients of [TotalCorrelation] by codes, means and log variances. It recomputes
// the densities.
func TotalCorrelationGradient(t *vulkan.Tape, z, mean, logVariance, mask, dout vulkan.Buffer, d [3]vulkan.Buffer,
	m Mixtures) {
	args, state, parts, places := m.densities(t, z, mean, logVariance, mask, t.Scratch(1))
	for f, d := range d {
		if !d.IsZero() {
			rowwise(t, "mixturegradient", m.Rows, sizes(m.Rows, m.Columns, parts, flag(!mask.IsZero()), places, f),
				append(args, vulkan.Read(state), vulkan.Read(dout), vulkan.Write(d))...)
		}
	}
}

// densities records the value. It returns the inputs and the state of mixture.comp, the number of parts, and the index
// in the table at which the parts of the columns begin.
func (m Mixtures) densities(t *vulkan.Tape, z, mean, logVariance, mask, out vulkan.Buffer) (args []vulkan.Argument,
	state vulkan.Buffer, parts, places int) {
	table, parts, places := m.table()
	n := m.Rows * m.Columns
	precision := t.Scratch(n)
	Scale(t, -1, logVariance, precision, n)
	Exp(t, precision, precision, n)
	args = []vulkan.Argument{vulkan.Read(z), vulkan.Read(mean), vulkan.Read(logVariance), vulkan.Read(precision),
		vulkan.Read(either(mask, z)), vulkan.Read(t.Constant(table))}
	args = slices.Clip(args)
	state = t.Scratch(4 * parts * m.Rows)
	terms := t.Scratch(parts * m.Rows)
	constants := append(sizes(m.Rows, m.Columns, parts, flag(!mask.IsZero()), m.Estimator), float(float64(m.Size)))
	rowwise(t, "mixture", parts*m.Rows, constants, append(args, vulkan.Write(state), vulkan.Write(terms))...)
	Sum(t, terms, out, 1/float64(m.Rows), parts*m.Rows)
	return args, state, parts, places
}

// table returns the parts and their columns in the layout of mixture.glsl.
func (m Mixtures) table() (table []float32, parts, places int) {
	blocks := m.Blocks
	if blocks == nil {
		for c := range m.Columns {
			blocks = append(blocks, []int{c})
		}
	}
	parts = 1 + len(blocks)
	table, blockOf := make([]float32, 2*parts), make([]float32, m.Columns)
	for i, b := range blocks {
		table[2*i+2], table[2*i+3] = float32(len(table)), float32(len(b))
		for _, c := range b {
			table, blockOf[c] = append(table, float32(c)), float32(i+1)
		}
	}
	table[0], table[1] = float32(2*parts), float32(len(table)-2*parts) // of all blocks
	return append(table, blockOf...), parts, len(table)
}

package kernels

import "github.com/unravel-ml/unravel/graph/vulkan"

// Groups describes losses.Modularity of codes [Rows, Columns] and labels [Rows, Factors].
type Groups struct {
	Rows, Columns, Factors int
	Deviation              int // a factor.Deviation: variance, diameter or mpd
	Aggregate              int // a factor.Aggregate
	Unbiased               bool
	Blocks                 []GroupBlock
}

// GroupBlock is a factor.Block.
type GroupBlock struct {
	Factor  int
	Columns []int
}

// Modularity records the sum over blocks of the aggregate of the deviations of groups.
func Modularity(t *vulkan.Tape, z, labels, out vulkan.Buffer, g Groups) {
	g.deviations(t, z, labels, out)
}

// ModularityGradient records the gradient of [Modularity] by the codes. It recomputes the deviations.
func ModularityGradient(t *vulkan.Tape, z, labels, dout, dz vulkan.Buffer, g Groups) {
	table, members, values := g.deviations(t, z, labels, t.Scratch(1))
	inside := len(g.table()) - len(g.Blocks)*g.Columns
	rowwise(t, "deviationgradient", g.Rows, sizes(g.Rows, len(g.Blocks), g.Columns, g.Deviation, inside),
		vulkan.Read(z), vulkan.Read(table), vulkan.Read(members), vulkan.Read(values), vulkan.Read(dout), vulkan.Write(dz))
}

// deviations records the value. It returns the table and the results of groups.comp and deviation.comp.
func (g Groups) deviations(t *vulkan.Tape, z, labels, out vulkan.Buffer) (table, members, values vulkan.Buffer) {
	n, blocks := g.Rows, len(g.Blocks)
	table, members, values = t.Constant(g.table()), t.Scratch(2*n*blocks), t.Scratch(4*n*blocks)
	terms := t.Scratch(2 * n * blocks)
	each(t, "groups", n*blocks, sizes(n, blocks, g.Factors), vulkan.Read(labels), vulkan.Read(table),
		vulkan.Write(members))
	for f := range 2 {
		rowwise(t, "deviation", n*blocks, sizes(n, blocks, g.Columns, g.Deviation, flag(g.Unbiased), f),
			vulkan.Read(z), vulkan.Read(table), vulkan.Read(members), vulkan.Update(terms), vulkan.Update(values))
	}
	constants := sizes(n, blocks, g.Factors, g.Aggregate, flag(g.Unbiased), 1+flag(g.Unbiased))
	t.Dispatch(kernel("aggregate"), 1, 1, 1, constants,
		vulkan.Read(labels), vulkan.Read(table), vulkan.Read(members), vulkan.Update(values), vulkan.Write(out))
	return table, members, values
}

// table returns the blocks in the layout of groups.comp and deviationgradient.comp.
func (g Groups) table() []float32 {
	x := make([]float32, 3*len(g.Blocks))
	inside := make([]float32, len(g.Blocks)*g.Columns)
	for i, b := range g.Blocks {
		x[3*i], x[3*i+1], x[3*i+2] = float32(b.Factor), float32(len(x)), float32(len(b.Columns))
		for _, c := range b.Columns {
			x = append(x, float32(c))
			inside[i*g.Columns+c] = 1
		}
	}
	return append(x, inside...)
}

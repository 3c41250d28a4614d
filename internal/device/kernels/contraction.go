package kernels

import "github.com/unravel-ml/unravel/graph/vulkan"

// Hinges describes losses.Contraction of codes [Rows, Width] and labels [Rows, Factors].
type Hinges struct {
	Rows, Width, Factors int
	Aggregate            int             // a factor.Aggregate
	Columns              []int           // columns of the codes
	Distances            []LabelDistance // distances of the labels, by factor
	Add                  bool            // add the distances of factors; otherwise use their norm
	Pairs                int             // number of partners of a row; 0: all rows
}

// Two of the aggregates of package factor.
const (
	aggregateMax        = 1
	aggregateMeanSquare = 3
)

// LabelDistance is the distance of two labels of a factor.
type LabelDistance struct {
	Factor, Kind int // 0 absolute, 1 discrete, 2 circular
	Period       float64
}

// Contraction records the aggregate of max(d_Y - d_Z, 0) over pairs of rows. With groups, only rows with known factors
// count.
func Contraction(t *vulkan.Tape, z, labels, groups, out vulkan.Buffer, h Hinges) {
	h.values(t, z, labels, groups, out)
}

// ContractionGradient records the gradient of [Contraction] with respect to the codes. It recomputes the hinges.
func ContractionGradient(t *vulkan.Tape, z, labels, groups, dout, dz vulkan.Buffer, h Hinges) {
	table, chosen, state := h.values(t, z, labels, groups, t.Scratch(1))
	rowwise(t, "contractiongradient", h.Rows, h.constants(), vulkan.Read(z), vulkan.Read(labels),
		vulkan.Read(table), vulkan.Read(chosen), vulkan.Read(state), vulkan.Read(dout), vulkan.Write(dz))
}

func (h Hinges) constants() []uint32 {
	return sizes(h.Rows, h.Width, h.Factors, len(h.Columns), len(h.Distances), flag(h.Add), h.Pairs,
		flag(h.Aggregate == aggregateMeanSquare), flag(h.Aggregate == aggregateMax))
}

// values records the value, and returns what contractiongradient.comp reads.
func (h Hinges) values(t *vulkan.Tape, z, labels, groups, out vulkan.Buffer) (table, chosen, state vulkan.Buffer) {
	var list []float32
	inside := make([]float32, h.Width)
	for _, c := range h.Columns {
		list, inside[c] = append(list, float32(c)), 1
	}
	for _, d := range h.Distances {
		list = append(list, float32(d.Factor), float32(d.Kind), float32(d.Period))
	}
	table, state = t.Constant(append(list, inside...)), t.Scratch(3)
	listed := 0
	if !groups.IsZero() {
		listed = len(h.Distances)
	}
	chosen = chooseColumn(t, either(groups, labels), table, h.Rows, h.Factors, listed, len(h.Columns))
	terms := t.Scratch(2 * h.Rows)
	rowwise(t, "contraction", h.Rows, h.constants(), vulkan.Read(z), vulkan.Read(labels), vulkan.Read(table),
		vulkan.Read(chosen), vulkan.Write(terms))
	t.Dispatch(kernel("contracted"), 1, 1, 1, sizes(h.Rows, h.Pairs, h.Aggregate), vulkan.Read(chosen),
		vulkan.Read(terms), vulkan.Write(state), vulkan.Write(out))
	return table, chosen, state
}

// chooseColumn records the known rows of labels [rows, factors]: see choose.comp. Without listed factors, all rows are
// known.
func chooseColumn(t *vulkan.Tape, labels, table vulkan.Buffer, rows, factors, listed, offset int) vulkan.Buffer {
	chosen := t.Scratch(1 + 2*rows)
	each(t, "choose", rows, sizes(rows, factors, listed, offset), vulkan.Read(labels), vulkan.Read(table),
		vulkan.Write(chosen))
	return chosen
}

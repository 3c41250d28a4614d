package kernels

import (
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Similarity describes one of the two arrays [rows, Width] of losses.HSIC.
type Similarity struct {
	Kind      int // 0 Gaussian, 1 equal, 2 circular
	Width     int
	Columns   []int
	Bandwidth float64 // 0: the median distance
}

const (
	gaussianSimilarity = iota
	equalSimilarity
	circularSimilarity
)

func (s Similarity) coordinates() int {
	if s.Kind == circularSimilarity {
		return 2 * len(s.Columns)
	}
	return len(s.Columns)
}

// HSIC records losses.HSIC of n rows of x and y. With groups, only rows with a group >= 0 count.
func HSIC(t *vulkan.Tape, x, y, groups, out vulkan.Buffer, sides [2]Similarity, n int) {
	recordHSIC(t, [2]vulkan.Buffer{x, y}, groups, out, sides, n)
}

// HSICGradient records the gradients of [HSIC] with respect to x and y for Gaussian similarities. It recomputes the
// similarities.
func HSICGradient(t *vulkan.Tape, x, y, groups, dout vulkan.Buffer, d [2]vulkan.Buffer, sides [2]Similarity, n int) {
	h := recordHSIC(t, [2]vulkan.Buffer{x, y}, groups, t.Scratch(1), sides, n)
	for i, s := range sides {
		if d[i].IsZero() || s.Kind != gaussianSimilarity {
			continue
		}
		along := h.state
		if s.Bandwidth == 0 {
			h.rows(t, 3+i)
			along = t.Scratch(1)
			Sum(t, h.terms, along, 1, n)
		}
		places := make([]float32, s.Width)
		for place, c := range s.Columns {
			places[c] = float32(place + 1)
		}
		rowwise(t, "hsicgradient", n, append(h.constants, sizes(i, s.Width)...), vulkan.Read(h.points[0]),
			vulkan.Read(h.points[1]), vulkan.Read(h.chosen), vulkan.Read(h.state), vulkan.Read(h.sums),
			vulkan.Read(t.Constant(places)), vulkan.Read(along), vulkan.Read(dout), vulkan.Write(d[i]))
	}
}

// similarities has the buffers of hsic.comp, and its constants except f.
type similarities struct {
	n                          int
	points                     [2]vulkan.Buffer
	chosen, state, sums, terms vulkan.Buffer
	constants                  []uint32
}

func recordHSIC(t *vulkan.Tape, arrays [2]vulkan.Buffer, groups, out vulkan.Buffer, sides [2]Similarity,
	n int) similarities {
	h := similarities{n: n, state: t.Scratch(8), sums: t.Scratch(2 * n), terms: t.Scratch(n)}
	listed := 0
	if !groups.IsZero() {
		listed = 1
	}
	h.chosen = chooseColumn(t, either(groups, arrays[0]), t.Constant([]float32{0}), n, 1, listed, 0)
	equals := 0
	for i, s := range sides {
		h.points[i] = t.Scratch(n * s.coordinates())
		each(t, "hsicpoints", n*len(s.Columns), sizes(s.Width, len(s.Columns), flag(s.Kind == circularSimilarity)),
			vulkan.Read(arrays[i]), vulkan.Read(t.Constant(numeric.Convert[float32](s.Columns))), vulkan.Read(h.chosen),
			vulkan.Write(h.points[i]))
		bandwidth, squares := s.Bandwidth, h.sums
		switch {
		case s.Kind == equalSimilarity:
			equals |= 1 << i
			bandwidth = 1
		case bandwidth == 0:
			distances := max(n, min(n*(n-1), 362*361))
			squares = t.Scratch(distances)
			each(t, "hsicdistances", distances, sizes(s.coordinates()), vulkan.Read(h.points[i]), vulkan.Read(h.chosen),
				vulkan.Write(squares))
		}
		t.Dispatch(kernel("hsicmedian"), 1, 1, 1, append(sizes(4*i), float(bandwidth)), vulkan.Read(squares),
			vulkan.Read(h.chosen), vulkan.Update(h.state))
	}
	h.constants = sizes(n, sides[0].coordinates(), sides[1].coordinates(), equals)
	for f := range 3 {
		h.rows(t, f)
	}
	Sum(t, h.terms, out, 1, n)
	return h
}

func (h similarities) rows(t *vulkan.Tape, f int) {
	groups := min(h.n, mostGroups)
	if f == 1 {
		groups = 1
	}
	t.Dispatch(kernel("hsic"), groups, 1, 1, append(h.constants, sizes(f)...), vulkan.Read(h.points[0]),
		vulkan.Read(h.points[1]), vulkan.Read(h.chosen), vulkan.Update(h.state), vulkan.Update(h.sums),
		vulkan.Update(h.terms))
}

package report

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

func TestComponents(t *testing.T) {
	long.NotShort(t)
	m := Manifolds{Codes: matrix.Matrix{Rows: 90, Cols: 3}}
	for i := range 90 {
		m.Codes.Data = append(m.Codes.Data, float64(i%9), float64(i%3*i), 0)
		m.Components.Labels = append(m.Components.Labels, i%3-1)
	}
	m.Components = NumberedGroups(m.Components.Labels, []int{1, 2})
	must.EqualSlices(t, m.Components.Names, []string{"0: dimension 1, 30 codes", "1: dimension 2, 30 codes"}, "names")
	show(t, "components", func(w io.Writer) error { return Components(w, "components", m) })
	m.Truth, m.Parts = Grouping{make([]int, 90), []string{"all"}}, NumberedGroups(BySize(m.Components.Labels, nil))
	show(t, "components, parts and truth", func(w io.Writer) error { return Components(w, "components", m) })
	ink := map[int]int{} // dark pixels of the title, by number of components
	for _, count := range []int{12, 13} {
		labels := make([]int, 90)
		for i := range labels {
			labels[i] = i % count
		}
		m.Components = NumberedGroups(labels, nil)
		img := show(t, fmt.Sprintf("components %d", count), func(w io.Writer) error { return Components(w, "components", m) })
		for i := range 30 * img.Bounds().Dx() {
			if r, _, _, _ := img.At(i/30, i%30).RGBA(); r < 1<<15 {
				ink[count]++
			}
		}
	}
	if ink[13] < 2*ink[12] {
		t.Errorf("the title has %d dark pixels, and without a component left out %d", ink[13], ink[12])
	}
	m.Components = NumberedGroups(slices.Repeat([]int{-1}, 90), nil)
	m.Codes.Cols, m.Codes.Data = 1, m.Codes.Data[:90]
	show(t, "no component, of codes of one column", func(w io.Writer) error { return Components(w, "components", m) })
}

// Groups are renumbered from the largest to the smallest. Ties keep their order, and empty groups are dropped.
func TestBySize(t *testing.T) {
	labels, dims := BySize([]int{3, -1, 1, 1, 4, 3, 1, 0}, []int{10, 11, 12, 13})
	if !slices.Equal(labels, []int{1, -1, 0, 0, 3, 1, 0, 2}) || !slices.Equal(dims, []int{11, 13, 10}) {
		t.Errorf("%v, %v", labels, dims)
	}
	must.EqualSlices(t, NumberedGroups(labels, dims).Names,
		[]string{"0: dimension 11, 3 codes", "1: dimension 13, 2 codes", "2: dimension 10, 1 code", "3: 1 code"})
	if labels, dims := BySize([]int{-1, -1}, nil); !slices.Equal(labels, []int{-1, -1}) || dims != nil ||
		NumberedGroups(labels, nil).Names != nil {
		t.Errorf("without groups: %v, %v", labels, dims)
	}
}

package simd

// Panels splits n columns into panels of a width of 32 or 16. If at most 16 columns are left, the last panel has width
// 16.
type Panels struct{ n, Width, Count, Padded int }

// NewPanels splits columns into panels of 32.
func NewPanels(n int) Panels { return NewPanelsOf(n, 32) }

// NewPanelsOf splits n columns into panels of a width of 16 or 32.
func NewPanelsOf(n, width int) Panels {
	padded := (n + 15) / 16 * 16
	return Panels{n: n, Width: width, Count: (padded + width - 1) / width, Padded: padded}
}

// At returns the first column of panel i, its width, and its number of columns within n.
func (p Panels) At(i int) (first, width, columns int) {
	first = p.Width * i
	width = min(p.Width, p.Padded-first)
	return first, width, min(width, p.n-first)
}

// RowTable lists the offsets of n rows of a given length.
func RowTable(n, length int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i * length
	}
	return rows
}

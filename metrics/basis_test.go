package metrics

import "testing"

// A basis has the number of groups with rows, the size of the smallest group, and the number of groups of one row.
func TestBasisCounts(t *testing.T) {
	var b Basis
	for _, c := range []struct {
		groups                   []int
		count, smallest, singles int
	}{{[]int{0}, 0, 0, 0}, {[]int{3, 0, 2}, 2, 2, 0}, {[]int{5, 1, 1}, 5, 1, 2}, {[]int{2}, 6, 1, 2}} {
		if b.countGroups(c.groups); b.Groups != c.count || b.Smallest != c.smallest || b.Single != c.singles {
			t.Errorf("with %v: %d groups, the smallest of %d rows, %d of one; want %+v", c.groups, b.Groups, b.Smallest, b.Single, c)
		}
	}
}

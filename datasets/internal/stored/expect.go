package stored

import ()

// expecter is a data set with its images on disk. Expect reads count images ahead, starting at the first, in the
// background.
type expecter interface{ Expect(first, count int) }

// Expect reads images ahead if the data set is on disk, neighbours together.
func Expect(d any, indices []int) {
	on, ok := d.(expecter)
	if !ok {
		return
	}
	for at := 0; at < len(indices); {
		end := at + 1
		for end < len(indices) && indices[end] == indices[end-1]+1 {
			end++
		}
		on.Expect(indices[at], end-at)
		at = end
	}
}

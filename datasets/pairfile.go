package datasets

import (
	"fmt"

	"github.com/unravel-ml/unravel/internal/table"
)

// readPairs reads the indices of two images in each row of a file.
func readPairs(path string, d Dataset) ([]int, error) {
	rows, cols, err := table.Size(path, "pairs")
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	const want = "want at most %d rows of two, the images of a pair"
	if rows >= 0 && cols != 2 && cols != 3 || rows > maxWalked/2 { // check the shape before reading
		return nil, fmt.Errorf("file: %s has %d rows of %d numbers; "+want, path, rows, cols, maxWalked/2)
	}
	t, err := table.Read(path, "pairs")
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	if t.Cols == 3 { // an index of the pairs
		t.DropCounter()
	}
	if t.Cols != 2 || t.Rows > maxWalked/2 {
		return nil, fmt.Errorf("file: %s has %d rows of %d numbers; "+want, path, t.Rows, t.Cols, maxWalked/2)
	}
	pairs := make([]int, len(t.Data))
	for at, v := range t.Data {
		if !(v >= 0 && v < float64(d.Len())) || v != float64(int(v)) {
			return nil, fmt.Errorf("file: %s: %s is %v; want an image of dataset %s, 0 to %d", path, t.Place(at/2, at%2), v, d.Name(), d.Len()-1)
		}
		pairs[at] = int(v)
	}
	return pairs, nil
}

package disk

import (
	"fmt"

	"github.com/unravel-ml/unravel/internal/memory"
)

// CheckFree returns an error if the disk of a folder has not so many bytes free. Where that is unknown it returns none.
func CheckFree(dir string, bytes int64) error {
	have, ok := free(dir)
	if !ok || bytes < 0 || uint64(bytes) <= have {
		return nil
	}
	return fmt.Errorf("%s: the disk has %s free; want %s", dir, memory.Text(float64(have)), memory.Text(float64(bytes)))
}

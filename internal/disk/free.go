package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/memory"
)

// CheckFree returns an error if the disk of dir has less than the given number of bytes free. dir need not exist. If
// the free space is unknown, CheckFree returns nil.
func CheckFree(dir string, bytes int64) error {
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dir = filepath.Dir(dir)
	}
	have, ok := free(dir)
	if !ok || bytes < 0 || uint64(bytes) <= have {
		return nil
	}
	return fmt.Errorf("%s: the disk has %s free; want %s", dir, memory.Text(float64(have)), memory.Text(float64(bytes)))
}

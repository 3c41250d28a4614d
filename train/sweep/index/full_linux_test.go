package index

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// On a full disk, runs are listed without a saved list.
func TestIndexOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("nothing can be mounted here:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	makeRuns(t, dir, "0", "1")
	fill := filepath.Join(dir, "fill")
	for _, free := range []int64{0, 8 << 10, 40 << 10} {
		for _, name := range []string{File, fill} {
			must.OK(t, os.RemoveAll(filepath.Join(dir, filepath.Base(name))))
		}
		_ = os.WriteFile(fill, make([]byte, 4<<20), 0o600) // fill the available space
		if info, err := os.Stat(fill); err != nil || os.Truncate(fill, max(0, info.Size()-free)) != nil {
			t.Fatal(err)
		}
		if runs := list(t, dir); len(runs) != 2 {
			t.Errorf("%d bytes free: %v", free, runs)
		}
	}
}

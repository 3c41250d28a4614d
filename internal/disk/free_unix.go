//go:build darwin || dragonfly || freebsd || linux

package disk

import "golang.org/x/sys/unix"

// free returns the number of bytes that a user can write to the disk of a folder.
func free(dir string) (uint64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return uint64(max(0, int64(s.Bavail))) * uint64(s.Bsize), true // negative if only root can write more
}

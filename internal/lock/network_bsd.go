//go:build darwin || freebsd

package lock

import "golang.org/x/sys/unix"

// network reports whether a folder is on a file system that several machines may share.
func network(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Flags&unix.MNT_LOCAL == 0
}

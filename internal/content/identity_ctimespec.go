//go:build darwin || freebsd || netbsd

package content

import "syscall"

// changed returns the time of the last change of an inode.
func changed(s *syscall.Stat_t) syscall.Timespec { return s.Ctimespec }

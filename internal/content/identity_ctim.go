//go:build dragonfly || linux || openbsd

package content

import "syscall"

// changed returns the last change time (ctime) of an inode.
func changed(s *syscall.Stat_t) syscall.Timespec { return s.Ctim }

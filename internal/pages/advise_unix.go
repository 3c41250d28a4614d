//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package pages

import "golang.org/x/sys/unix"

func random(b []byte) { _ = unix.Madvise(b, unix.MADV_RANDOM) } // refused advice changes nothing

func expect(b []byte) { _ = unix.Madvise(b, unix.MADV_WILLNEED) }

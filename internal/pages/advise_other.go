//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package pages

func random([]byte) {}

func expect([]byte) {}

package ui

import (
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestSpan(t *testing.T) {
	for seconds, want := range map[float64]string{-1: "0 s", 0: "0 s", 0.0123456: "12.3ms", 1.2345: "1.23s", 4.14: "4.14s",
		9.996: "10s", 2e-9: "2ns", 59.96: "1m0s", 61.4: "1m1s", 7322: "2h2m2s"} {
		must.Equal(t, Span(seconds), want, seconds, "seconds")
	}
}

func TestSome(t *testing.T) {
	list := strings.Fields("a b c d e")
	for n, want := range map[int][2]string{
		0: {"", ""},
		1: {"a", "a"},
		2: {"a, b", "a\nb"},
		3: {"a, b and 1 more", "a\nb\nc"},
		4: {"a, b and 2 more", "a\nb\nc\nand 1 more"},
		5: {"a, b and 3 more", "a\nb\nc\nand 2 more"},
	} {
		must.Equal(t, [2]string{Some(list[:n], 2), SomeLines(list[:n])}, want, n, "texts")
	}
}

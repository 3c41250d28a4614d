package ui

import "testing"

func TestSpan(t *testing.T) {
	for seconds, want := range map[float64]string{-1: "0 s", 0: "0 s", 0.0123456: "12.3ms", 1.2345: "1.23s", 59.96: "1m0s", 61.4: "1m1s", 7322: "2h2m2s"} {
		if got := Span(seconds); got != want {
			t.Errorf("%v seconds: %s, want %s", seconds, got, want)
		}
	}
}

package main

import (
	"strings"
	"testing"
)

// Noise and a slow start are not growth, but a steady increase of any quantity is.
func TestJudge(t *testing.T) {
	sampled := func(change func(i int, s *sample)) (list []sample) {
		for i := range 40 {
			s := sample{Heap: 30 << 20, Goroutines: 12, Files: 9}
			change(i, &s)
			list = append(list, s)
		}
		return list
	}
	for want, samples := range map[string][]sample{
		"":                     sampled(func(i int, s *sample) { s.Heap += uint64(i%7) << 20; s.Files += i % 3; s.Goroutines += i % 2 }),
		"live bytes grow from": sampled(func(i int, s *sample) { s.Heap += uint64(i) << 19 }),
		"goroutines grow from": sampled(func(i int, s *sample) { s.Goroutines += i / 3 }),
		"open files grow from": sampled(func(i int, s *sample) { s.Files += i / 3 }),
		"1 lines are too few":  {{}},
	} {
		err := judge(samples)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := judge(sampled(func(i int, s *sample) { s.Heap -= uint64(max(0, 4-i)) << 22 })); err != nil {
		t.Errorf("a slow start: %v", err)
	}
}

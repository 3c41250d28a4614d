package rng

import (
	"fmt"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestStreams(t *testing.T) {
	a, b := New(1, "noise"), New(1, "noise")
	other, seed := New(1, "batch"), New(2, "noise")
	same, equal := 0, 0
	for range 100 {
		x := a.Uint64()
		if x != b.Uint64() {
			t.Fatal("two streams of one seed and name differ")
		}
		if x == other.Uint64() {
			same++
		}
		if x == seed.Uint64() {
			equal++
		}
	}
	if same > 0 || equal > 0 {
		t.Errorf("streams of other names and seeds agree in %d and %d of 100 numbers", same, equal)
	}
}

func TestState(t *testing.T) {
	s := New(7, "noise")
	dst := make([]float32, 33) // the state may be taken anywhere
	s.Normals(dst)
	state := must.Get(s.MarshalBinary())(t)
	want := make([]float32, 100)
	s.Normals(want)
	fresh := New(0, "")
	must.OK(t, fresh.UnmarshalBinary(state))
	got := make([]float32, 100)
	fresh.Normals(got)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("number %d after restoring is %v, want %v", i, got[i], want[i])
		}
	}
	if err := fresh.UnmarshalBinary([]byte("short")); err == nil {
		t.Error("a damaged state was accepted")
	}
}

func TestNormals(t *testing.T) {
	x := make([]float32, 200000)
	New(3, "moments").Normals(x)
	var mean, square, fourth float64
	for _, v := range x {
		f := float64(v)
		mean += f
		square += f * f
		fourth += f * f * f * f
	}
	n := float64(len(x))
	for _, c := range []struct {
		name            string
		got, want, near float64
	}{{"mean", mean / n, 0, 0.01}, {"variance", square / n, 1, 0.015}, {"fourth moment", fourth / n, 3, 0.1}} {
		if !(math.Abs(c.got-c.want) <= c.near) {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
}

func ExampleNew() {
	a, b := New(42, "noise"), New(42, "noise")
	fmt.Println(a.IntN(1000) == b.IntN(1000))
	// Output: true
}

// Different seeds and numbers give different streams, also for adjacent numbers.
func TestRestart(t *testing.T) {
	s := New(1, "any")
	seen := map[uint64]string{}
	draw := func(seed uint64, numbers ...uint64) uint64 {
		s.Float64() // earlier draws do not matter
		s.Restart(seed, numbers...)
		return s.Uint64()
	}
	for _, numbers := range [][]uint64{nil, {0}, {0, 0}, {1}, {1, 0}, {0, 1}, {2, 3}, {3, 2}, {1, 2, 3}, {3, 2, 1}} {
		for seed := range uint64(3) {
			v, key := draw(seed, numbers...), fmt.Sprint(seed, numbers)
			if other, ok := seen[v]; ok {
				t.Errorf("%s and %s give the same stream", key, other)
			}
			if seen[v] = key; draw(seed, numbers...) != v {
				t.Errorf("%s gives two streams", key)
			}
		}
	}
	const n = 20000
	var sum, lag, last float64
	for i := range uint64(n) {
		s.Restart(7, i/64, i%64)
		x := s.Float64() - 0.5
		sum, lag, last = sum+x, lag+x*last, x
	}
	if !(math.Abs(sum/n) <= 0.01) || !(math.Abs(lag/n) <= 0.003) { // five standard deviations
		t.Errorf("first numbers of neighbours: mean %v, covariance %v", sum/n, lag/n)
	}
	must.Equal(t, testing.AllocsPerRun(100, func() { s.Restart(1, 2, 3) }), 0, "allocations")
}

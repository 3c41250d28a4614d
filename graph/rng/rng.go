// Package rng provides named, reproducible streams of random numbers.
//
// Every use of random numbers in a run (initial weights, batch order, noise, ...) has its own stream, so one use does
// not affect another. A stream is a PCG generator (math/rand/v2), seeded with the run's seed and the stream's name. A
// checkpoint stores and restores the complete state, 20 bytes.
package rng

import (
	"hash/fnv"
	"math/rand/v2"
)

// Stream is a seeded generator. The embedded Rand draws from it and keeps no state, so MarshalBinary captures
// everything.
type Stream struct {
	*rand.Rand
	pcg *rand.PCG
}

// New returns the stream with a name and a seed. Streams with different names are independent for all practical
// purposes.
func New(seed uint64, name string) *Stream {
	h := fnv.New64a()
	h.Write([]byte(name))
	pcg := rand.NewPCG(seed, h.Sum64())
	return &Stream{Rand: rand.New(pcg), pcg: pcg}
}

// Restart makes s the stream of a seed and a list of numbers, such as a step and an image's row in the batch. It does
// not allocate. Lists with different numbers, order or length give different streams.
func (s *Stream) Restart(seed uint64, numbers ...uint64) {
	*s.pcg = Numbered(seed, numbers...)
}

// Numbered returns the generator for a seed and a list of numbers, as in [Stream.Restart]. Its draws do not allocate.
func Numbered(seed uint64, numbers ...uint64) rand.PCG {
	a, b := scramble(seed), scramble(^seed)
	for _, n := range numbers {
		a, b = scramble(a^n), scramble(b+scramble(n))
	}
	var p rand.PCG
	p.Seed(a, b)
	return p
}

// scramble is a bijection that maps adjacent numbers to distant numbers: a step of SplitMix64 (Steele et al. 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Normals fills dst with independent standard normal numbers.
func (s *Stream) Normals(dst []float32) {
	for i := range dst {
		dst[i] = float32(s.NormFloat64())
	}
}

// MarshalBinary returns the state of the stream.
func (s *Stream) MarshalBinary() ([]byte, error) { return s.pcg.MarshalBinary() }

// UnmarshalBinary restores a state that MarshalBinary returned.
func (s *Stream) UnmarshalBinary(state []byte) error { return s.pcg.UnmarshalBinary(state) }

package hdf5

import (
	"bytes"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// LZF consists of runs of literals and of copies. A run of 1 to 32 literals follows its length minus 1. A copy has its
// length minus 2 in three bits (7: plus the next byte), then the high five bits and the low byte of its distance minus
// 1.
func TestLZF(t *testing.T) {
	far := []byte{}
	for range 9 {
		far = append(append(far, 31), "0123456789abcdefghijklmnopqrstuv"...)
	}
	long := strings.Repeat("0123456789abcdefghijklmnopqrstuv", 9)
	for _, c := range []struct {
		name, in, want string
		room           int
		err            string
	}{
		{"nothing", "", "", 0, ""},
		{"one byte", "\x00a", "a", 1, ""},
		{"a run", "\x02abc", "abc", 3, ""},
		{"a run of 32", string(far[:33]), long[:32], 32, ""},
		{"a copy", "\x02abc\x20\x02", "abcabc", 6, ""},
		{"a copy of itself", "\x02abc\x40\x02", "abcabca", 7, ""},
		{"a long copy", "\x02abc\xe0\x01\x00", "abc" + strings.Repeat("c", 10), 13, ""},
		{"a copy from afar", string(far) + "\x21\x05", long + long[26:29], 291, ""}, // 288 - (256 + 5 + 1)
		{"no room for a run", "\x02abc", "", 2, "a run is too long"},
		{"a run past the end", "\x03abc", "", 9, "a run is too long"},
		{"no room for a copy", "\x00a\x20\x00", "", 3, "a copy from outside"},
		{"a copy of all", "\x00a\x20\x00", "aaaa", 4, ""},
		{"a copy from before", "\x00a\x20\x01", "", 9, "a copy from outside"},
		{"no distance", "\x00a\x20", "", 9, errTruncated.Error()},
		{"no length", "\x00a\xe0", "", 9, errTruncated.Error()},
		{"no distance of a long copy", "\x00a\xe0\x01", "", 99, errTruncated.Error()},
	} {
		out, err := lzf(make([]byte, c.room), []byte(c.in))
		if c.err == "" && (err != nil || string(out) != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %q, %v; want %q, %s", c.name, out, err, c.want, c.err)
		}
	}
}

// The checksum has the sum of words and the sum of these sums, modulo 65535 with 65535 instead of 0. Words are
// big-endian, and an odd last byte is followed by 0.
func TestFletcher32(t *testing.T) {
	modulus := big.NewInt(65535)
	for _, n := range []int{0, 1, 2, 3, 5, 718, 719, 720, 721, 722, 4001} {
		for _, step := range []byte{0, 1, 7, 255} {
			b := make([]byte, n)
			var first, second big.Int
			for i := range b {
				if b[i] = step * byte(i+1); step == 255 {
					b[i] = 255 // maximum sums
				}
			}
			for i := 0; i < n; i += 2 {
				w := int64(b[i]) << 8
				if i+1 < n {
					w += int64(b[i+1])
				}
				second.Add(&second, first.Add(&first, big.NewInt(w)))
			}
			reduced := func(sum *big.Int) uint32 {
				if rest := new(big.Int).Mod(sum, modulus); rest.Sign() > 0 || sum.Sign() == 0 {
					return uint32(rest.Uint64())
				}
				return 65535
			}
			must.Equal(t, fletcher32(b), reduced(&second)<<16|reduced(&first), n, "bytes, step", step)
		}
	}
}

// A filter without an element size uses the size of the array's elements. Chunks of a wrong size give errors.
func TestUndo(t *testing.T) {
	w := &worker{}
	for _, c := range []struct {
		name, in, want string
		f              filter
		room           int
		err            string
	}{
		{"pairs", "abcABC", "aAbBcC", filter{id: shuffleFilter}, 6, ""},
		{"pairs and a byte", "abABx", "aAbBx", filter{id: shuffleFilter}, 5, ""},
		{"triples", "abABxy", "aAxbBy", filter{id: shuffleFilter, values: []uint32{3}}, 6, ""},
		{"bytes", "abcABC", "abcABC", filter{id: shuffleFilter, values: []uint32{1}}, 0, ""},
		{"no room", "abcABC", "", filter{id: shuffleFilter}, 5, "shuffle: 6 bytes; want 5 at most"},
		{"checksum", "ab\x62\x61\x62\x61", "ab", filter{id: fletcherFilter}, 2, ""},
		{"no bytes but a checksum", "\x00\x00\x00\x00", "", filter{id: fletcherFilter}, 0, ""},
		{"another checksum", "ab\x61\x62\x62\x61", "", filter{id: fletcherFilter}, 2, "the fletcher32 checksum is wrong"},
		{"a short checksum", "abc", "", filter{id: fletcherFilter}, 2, errTruncated.Error()},
		{"lzf", "\x02abc", "abc", filter{id: lzfFilter}, 3, ""},
	} {
		out, err := w.invert(c.f, make([]byte, c.room), []byte(c.in), 2)
		if c.err == "" && (err != nil || !bytes.Equal(out, []byte(c.want))) ||
			c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %q, %v; want %q, %s", c.name, out, err, c.want, c.err)
		}
	}
	if _, err := w.invert(filter{id: shuffleFilter}, nil, []byte("ab"), 2); errors.Is(err, errTruncated) || err == nil {
		t.Errorf("no room at all: %v", err)
	}
}

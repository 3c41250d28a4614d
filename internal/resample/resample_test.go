package resample

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"os"
	"strconv"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// made returns pixels with the formula of testdata/generate.py: noise, or black and white.
func made(n, seed int, steps bool) []uint8 {
	p := make([]uint8, n)
	for i := range p {
		h := uint32(uint64(i)*2654435761 + uint64(seed))
		h ^= h >> 15
		h *= 2246822519
		p[i] = uint8(h >> 24)
		if steps {
			p[i] = uint8(int8(p[i]) >> 7)
		}
	}
	return p
}

// TestPillow compares with hashes of Pillow's images, all with one Resizer.
func TestPillow(t *testing.T) {
	f := must.Get(os.Open("testdata/pillow.csv"))(t)
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	must.OK(t, err)
	var r Resizer
	for _, line := range lines[1:] {
		filter, ok := Parse(line[1])
		if !ok {
			t.Fatalf("filter %q", line[1])
		}
		var n [9]int
		for i := range n {
			if n[i], err = strconv.Atoi(line[2+i]); err != nil {
				t.Fatal(err)
			}
		}
		srcH, srcW, dstH, dstW, channels := n[0], n[1], n[2], n[3], n[4]
		src := made(srcH*srcW*channels, n[5], n[6] == 1)
		dst := make([]uint8, max(dstH*dstW, srcH*srcW)*channels)
		if line[0] == "resize" {
			r.Resize(dst, src, srcH, srcW, dstH, dstW, channels, filter)
		} else {
			dstH, dstW = r.Thumbnail(dst, src, srcH, srcW, dstH, dstW, channels, filter)
		}
		if dstH != n[7] || dstW != n[8] {
			t.Errorf("%v: size %d x %d", line, dstH, dstW)
			continue
		}
		sum := sha256.Sum256(dst[:dstH*dstW*channels])
		must.Equal(t, hex.EncodeToString(sum[:]), line[11], line[:9], "other pixels")
	}
	must.Equal(t, len(lines), 161, "lines")
}

// TestSums checks that both sums in a word are correct for extreme values.
func TestSums(t *testing.T) {
	for _, v := range [][2]int64{{-1 << 30, 1 << 30}, {1<<31 - 1, -1 << 31}, {-1, -1}, {0, 255 << digits}, {255<<digits + 1, -1 << 31}} {
		low, high := split(uint64(v[0]) + uint64(v[1])<<32)
		want := func(x int64) uint8 { return uint8(max(0, min(255, x>>digits))) }
		if low != want(v[0]) || high != want(v[1]) {
			t.Errorf("%v: %d, %d", v, low, high)
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range Names() {
		if f, ok := Parse(name); !ok || f.String() != name {
			t.Errorf("%q is %v", name, f)
		}
	}
	if _, ok := Parse("nearest"); ok || Filter(9).String() != "Filter(9)" {
		t.Error("unknown names")
	}
}

// TestAllocations checks that further images with the same size need no new memory.
func TestAllocations(t *testing.T) {
	var r Resizer
	src, dst := made(48*40*3, 1, false), make([]uint8, 16*16*3)
	if n := testing.AllocsPerRun(10, func() { r.Resize(dst, src, 48, 40, 16, 16, 3, Lanczos) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkResize(b *testing.B) {
	for _, c := range []struct {
		name               string
		h, w, to, channels int
		f                  Filter
	}{
		{"cars 128x128x3 to 64 lanczos", 128, 128, 64, 3, Lanczos},
		{"cars 128x128x3 to 64 bilinear", 128, 128, 64, 3, Bilinear},
		{"norb 96x96x1 to 64 lanczos", 96, 96, 64, 1, Lanczos},
		{"celeba 218x178x3 to 64 lanczos", 218, 178, 64, 3, Lanczos},
		{"photo 3000x4000x3 to 64 lanczos", 3000, 4000, 64, 3, Lanczos},
	} {
		b.Run(c.name, func(b *testing.B) {
			var r Resizer
			src, dst := made(c.h*c.w*c.channels, 1, false), make([]uint8, c.to*c.to*c.channels)
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				r.Resize(dst, src, c.h, c.w, c.to, c.to, c.channels, c.f)
			}
		})
	}
}

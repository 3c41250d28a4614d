package npy

import (
	"archive/zip"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkDeflated reads images of 64 x 64 x 3 from an .npz file with compression ratio 3; MB/s is the rate of pixels.
func BenchmarkDeflated(b *testing.B) {
	const n, size = 2000, 64 * 64 * 3
	pixels := make([]uint8, n*size)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range pixels {
		x, y, image := i/3%64, i/3/64%64, i/size
		pixels[i] = uint8(60 + x + y/2 + 8*(i%3))
		if image%2 == 1 {
			pixels[i] += uint8(random.Uint32() & 3)
		}
	}
	path := filepath.Join(b.TempDir(), "images.npz")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create("images.npy")
	if err != nil {
		b.Fatal(err)
	}
	if err := Write(w, []int{n, 64, 64, 3}, pixels); err != nil {
		b.Fatal(err)
	}
	if err := z.Close(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	archive, err := OpenNPZ(path)
	if err != nil {
		b.Fatal(err)
	}
	defer archive.Close()
	b.SetBytes(int64(len(pixels)))
	for b.Loop() {
		r, err := archive.Open("images")
		if err != nil {
			b.Fatal(err)
		}
		if err := r.ReadRaw(pixels); err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

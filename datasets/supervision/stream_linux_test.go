package supervision

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// BenchmarkStream loads batches of 64 images of a cached set in random order, from the page cache and from the disk.
// For the disk, it drops the set's pages before every 64 batches. It reads 3D Shapes from the folder of UNRAVEL_DATA if
// present, otherwise 16,384 images of noise.
//
//	UNRAVEL_DATA=DIR go test ./datasets -run '^$' -bench Stream -cpu 1,2
func BenchmarkStream(b *testing.B) {
	for _, kind := range []string{"warm", "cold"} {
		b.Run(kind, func(b *testing.B) {
			s, d := mappedSet(b, 16384)
			split := must.Get((&None{}).Split(d, nil))(b)
			sampler := must.Get(NewSampler(split, 64, rng.New(1, "batch")))(b)
			l := NewLoader(d, sampler)
			defer l.Close()
			deal := func(batches int) {
				for range batches {
					if _, _, ok := l.Next(); !ok {
						must.OK(b, l.StartEpoch())
					}
				}
			}
			if kind == "warm" {
				sum := 0
				for at := 0; at < len(s.Images); at += 4096 {
					sum += int(s.Images[at])
				}
				runtime.KeepAlive(sum)
			}
			deal(2)
			const batches = 64
			images := 0
			b.ReportAllocs()
			for b.Loop() {
				if kind == "cold" {
					b.StopTimer()
					l.wait()
					l.requested = 0 // also drop the images read ahead
					dropPages(b, filepath.Join((cache.Key{Name: s.Name}).Dir(), cache.ImagesFile), s.Images)
					b.StartTimer()
				}
				deal(batches)
				images += 64 * batches
			}
			b.ReportMetric(float64(images)/b.Elapsed().Seconds(), "images/s")
			b.ReportMetric(ownMemory(b), "MiB-own")
		})
	}
}

// ownMemory returns the memory of the process without mapped files, in MiB (RssAnon).
func ownMemory(b *testing.B) float64 {
	b.Helper()
	text := must.Read(b, "/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
			must.OK(b, err)
			return n / 1024
		}
	}
	return 0
}

// dropPages drops a mapped file from the page cache.
func dropPages(b *testing.B, path string, mapped []byte) {
	b.Helper()
	before := uintptr(unsafe.Pointer(unsafe.SliceData(mapped))) % uintptr(os.Getpagesize()) // the header
	must.OK(b, unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(mapped)), -int(before))),
		len(mapped)+int(before)), unix.MADV_DONTNEED))
	f := must.Get(os.Open(path))(b)
	defer f.Close()
	must.OK(b, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
}

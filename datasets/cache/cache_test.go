package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
)

// testKey returns a key in a temporary folder.
func testKey(t testing.TB) Key {
	t.Helper()
	t.Setenv(RootVariable, t.TempDir())
	return Key{Name: "test", Options: "size=2", Version: 3}
}

var testFactors = []factor.Factor{
	{Name: "x", Size: 5, Kind: factor.Ordinal, Values: []float64{0.1, 0.2, 0.3, 0.4, 1. / 3}},
	{Name: "angle", Size: 20, Kind: factor.Circular},
}

// pixel returns byte b of image i.
func pixel(i, b int) uint8 { return uint8(7*i + 3*b + i*b) }

// convert writes 100 images of 4 x 3 x 2 in a scattered order, with four goroutines.
func convert(ctx context.Context, w *Writer) error {
	if err := w.Begin(100, 4, 3, 2, testFactors); err != nil {
		return err
	}
	w.SetSources([]Source{{"source.bin", 9, "abc"}})
	var wait sync.WaitGroup
	errs := make([]error, 4)
	for g := range 4 {
		wait.Go(func() {
			for i := 99 - g; i >= 0; i -= 4 {
				image := make([]uint8, 24)
				for b := range image {
					image[b] = pixel(i, b)
				}
				errs[g] = errors.Join(errs[g], w.WriteAt(ctx, i, image))
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// checkTest compares an open set with the images of convert.
func checkTest(t *testing.T, s *Set) {
	t.Helper()
	if s.Count != 100 || s.H != 4 || s.W != 3 || s.C != 2 || len(s.Images) != 2400 || len(s.Levels) != 200 {
		t.Fatalf("%d images of %d x %d x %d, %d bytes, %d levels", s.Count, s.H, s.W, s.C, len(s.Images), len(s.Levels))
	}
	for at, v := range s.Images {
		if v != pixel(at/24, at%24) {
			t.Fatalf("byte %d of image %d is %d", at%24, at/24, v)
		}
	}
	for i := range 100 {
		if s.Levels[2*i] != int32(i/20) || s.Levels[2*i+1] != int32(i%20) {
			t.Fatalf("levels of image %d are %v", i, s.Levels[2*i:2*i+2])
		}
	}
	if fmt.Sprint(s.Factors) != fmt.Sprint(testFactors) || s.Name != "test" || len(s.Sources) != 1 || len(s.Hash) != 64 {
		t.Errorf("set %+v", s)
	}
}

func closeSet(t *testing.T, s *Set) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Ensure makes a set once and then opens it. The arrays equal NumPy's.
func TestEnsure(t *testing.T) {
	k := testKey(t)
	if _, err := Open(t.Context(), k); !errors.Is(err, ErrAbsent) {
		t.Errorf("before: %v", err)
	}
	if _, err := Ensure(WithoutMaking(t.Context()), k, convert); !errors.Is(err, ErrAbsent) {
		t.Errorf("without making: %v", err)
	}
	var whats []string
	ctx := WithProgress(t.Context(), func(what string, done, total int64) {
		if total > 0 && done == total {
			whats = append(whats, what)
		}
	})
	s := must.Get(Ensure(ctx, k, convert))(t)
	checkTest(t, s)
	must.EqualSlices(t, whats, []string{"converting test", "checking test", "checking test"}, "progress")
	again, err := Ensure(t.Context(), k, func(context.Context, *Writer) error { return errors.New("converted again") })
	must.OK(t, err)
	checkTest(t, again)
	must.Equal(t, again.Hash, s.Hash, "the hash differs")
	for name, shape := range map[string][]int{ImagesFile: {100, 4, 3, 2}, FactorsFile: {100, 2}} {
		r, err := npy.Open(filepath.Join(k.Dir(), name))
		if err != nil || !slices.Equal(r.Shape, shape) {
			t.Fatal(r, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := Check(t.Context(), k); err != nil {
		t.Error(err)
	}
	list, err := List()
	if err != nil || len(list) != 1 || list[0].Key != k || list[0].Err != nil || list[0].Bytes < 2600 {
		t.Errorf("list %+v, %v", list, err)
	}
	closeSet(t, s)
	closeSet(t, again)
	if err := errors.Join(Remove(t.Context(), k), Remove(t.Context(), k)); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.Context(), k); !errors.Is(err, ErrAbsent) {
		t.Errorf("removed: %v", err)
	}
}

// Levels may be unknown. A set without factors has one factor.
func TestLevels(t *testing.T) {
	k := testKey(t)
	levels := make([]int32, 200)
	levels[1], levels[199], levels[198] = -1, -1, -1
	s, err := Ensure(t.Context(), k, func(ctx context.Context, w *Writer) error {
		return errors.Join(convert(ctx, w), w.SetLevels(levels))
	})
	must.OK(t, err)
	defer closeSet(t, s)
	if !slices.Equal(s.Missing, []int{1, 2}) || !slices.Equal(s.Levels, levels) {
		t.Errorf("missing %v, levels %v", s.Missing, s.Levels)
	}
	k.Options = ""
	s, err = Ensure(t.Context(), k, func(ctx context.Context, w *Writer) error {
		return errors.Join(w.Begin(1, 1, 1, 1, nil), w.WriteAt(ctx, 0, []uint8{9}))
	})
	must.OK(t, err)
	defer closeSet(t, s)
	if len(s.Factors) != 1 || s.Factors[0].Name != "unknown" || s.Missing != nil || s.Images[0] != 9 {
		t.Errorf("%+v", s)
	}
	k.Options = "names"
	named := factor.Factor{Name: "animal", Size: 2, Kind: factor.Categorical, Names: []string{"cat", "owl"}}
	s, err = Ensure(t.Context(), k, func(ctx context.Context, w *Writer) error {
		return errors.Join(w.Begin(2, 1, 1, 1, []factor.Factor{named}), w.WriteAt(ctx, 0, []uint8{9, 8}), w.SetLevels([]int32{0, 1}))
	})
	must.OK(t, err)
	defer closeSet(t, s)
	must.EqualSlices(t, s.Factors[0].Names, named.Names, "names")
}

// A mistake in a conversion is an error, and leaves no files.
func TestWriterMistakes(t *testing.T) {
	k := testKey(t)
	one := make([]uint8, 24)
	for name, c := range map[string]struct {
		words   string
		convert func(w *Writer) error
	}{
		"nothing":  {"nothing was written", func(*Writer) error { return nil }},
		"an error": {"the file is bad", func(*Writer) error { return errors.New("the file is bad") }},
		"an error later": {"the file is bad", func(w *Writer) error {
			return errors.Join(w.WriteAt(t.Context(), 3, one), errors.New("the file is bad"))
		}},
		"missing images": {"1 of 100 images were written; image 0 is the first", func(w *Writer) error { return w.WriteAt(t.Context(), 1, one) }},
		"an image twice": {"image 5 is written twice", func(w *Writer) error {
			return errors.Join(w.WriteAt(t.Context(), 5, one), w.WriteAt(t.Context(), 4, make([]uint8, 48)))
		}},
		"a wrong size":    {"23 bytes at image 0", func(w *Writer) error { return w.WriteAt(t.Context(), 0, one[:23]) }},
		"a wrong row":     {"at image 100", func(w *Writer) error { return w.WriteAt(t.Context(), 100, one) }},
		"a negative row":  {"at image -1", func(w *Writer) error { return w.WriteAt(t.Context(), -1, one) }},
		"few levels":      {"7 levels; want 200", func(w *Writer) error { return w.SetLevels(make([]int32, 7)) }},
		"a level":         {`image 1 has level 5 of factor "x"; want 0 to 4`, func(w *Writer) error { return w.SetLevels(append([]int32{0, 0, 5}, make([]int32, 197)...)) }},
		"beginning twice": {"called twice", func(w *Writer) error { return w.Begin(1, 1, 1, 1, nil) }},
	} {
		_, err := Ensure(t.Context(), k, func(ctx context.Context, w *Writer) error {
			if name != "nothing" && name != "an error" {
				if err := w.Begin(100, 4, 3, 2, testFactors); err != nil {
					return err
				}
			}
			return c.convert(w)
		})
		must.Error(t, err, c.words, name)
	}
	for name, err := range map[string]error{
		"no images":       begin(t, k, 0, 1, testFactors),
		"too many":        begin(t, k, 1<<62, 1<<10, testFactors),
		"a full disk":     begin(t, k, 1<<40, 1<<10, testFactors),
		"equal names":     begin(t, k, 1, 1, []factor.Factor{testFactors[0], testFactors[0]}),
		"no levels":       begin(t, k, 99, 1, testFactors),
		"a name of a way": begin(t, Key{Name: "../x"}, 1, 1, nil),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	entries := must.Get(os.ReadDir(filepath.Dir(k.Dir())))(t)
	for _, e := range entries {
		if e.IsDir() {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// begin makes a set of empty images with one row of pixels.
func begin(t *testing.T, k Key, count, width int, factors []factor.Factor) error {
	_, err := Ensure(t.Context(), k, func(ctx context.Context, w *Writer) error {
		if err := w.Begin(count, 1, width, 1, factors); err != nil {
			return err
		}
		return w.WriteAt(ctx, 0, make([]uint8, count*width))
	})
	return err
}

// If several goroutines request a set at once, one makes it, and the others can stop waiting.
func TestAtOnce(t *testing.T) {
	k := testKey(t)
	var calls atomic.Int64
	begun, release := make(chan bool), make(chan bool)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			s, err := Ensure(t.Context(), k, func(ctx context.Context, w *Writer) error {
				calls.Add(1)
				close(begun)
				<-release
				return convert(ctx, w)
			})
			if err != nil {
				t.Error(err)
				return
			}
			checkTest(t, s)
			closeSet(t, s)
		})
	}
	<-begun
	if _, err := Open(t.Context(), k); !errors.Is(err, ErrAbsent) {
		t.Errorf("half-made: %v", err)
	}
	if list, err := List(); err != nil || len(list) != 0 {
		t.Errorf("half-made: %v, %v", list, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ctx = WithProgress(ctx, func(what string, done, total int64) {
		if strings.HasPrefix(what, "waiting") {
			cancel()
			if done != 0 || total != 0 {
				t.Errorf("waiting is %d of %d; want no numbers", done, total)
			}
		}
	})
	if _, err := Ensure(ctx, k, convert); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped while it waits: %v", err)
	}
	close(release)
	wait.Wait()
	must.Equal(t, calls.Load(), 1, "made", "times")
}

// A stopped conversion leaves no files. Ensure removes the folders of killed processes.
func TestStopped(t *testing.T) {
	k := testKey(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Ensure(ctx, k, func(ctx context.Context, w *Writer) error {
		cancel()
		return convert(ctx, w)
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for _, name := range []string{"new", "old"} {
		must.OK(t, os.MkdirAll(filepath.Join(filepath.Dir(k.Dir()), tempPrefix(k)+name, "below"), 0o777))
	}
	made(t, k)
	entries, err := os.ReadDir(filepath.Dir(k.Dir()))
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v; want the set and its lock", entries, err)
	}
}

// The time to open a set does not grow with the number of images.
func BenchmarkOpen(b *testing.B) {
	k := testKey(b)
	const n, side = 480000, 64
	s := must.Get(Ensure(b.Context(), k, func(ctx context.Context, w *Writer) error {
		if err := w.Begin(n, side, side, 3, []factor.Factor{{Name: "i", Size: n, Kind: factor.Ordinal}}); err != nil {
			return err
		}
		w.done.Store(n) // a hole in the file: nothing is written
		return nil
	}))(b)
	must.OK(b, s.Close())
	for b.Loop() {
		s := must.Get(Open(b.Context(), k))(b)
		must.OK(b, s.Close())
	}
}

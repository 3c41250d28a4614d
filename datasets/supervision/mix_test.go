package supervision_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	. "github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// checkMixed checks the plan and the levels of an epoch over all images of d. It returns the drawn images.
func checkMixed(t *testing.T, d datasets.Dataset, s *Split, batches []Batch, size, drawn int) (extra []int) {
	t.Helper()
	known := s.Known
	k := len(known.Factors)
	seen := make([]int, d.Len())
	for n, b := range batches {
		rows := len(b.Indices)
		last := n == len(batches)-1
		if rows != size && !last || rows > size || len(b.Levels) != rows*k || b.Labelled {
			t.Fatalf("batch %d has %d images and %d levels", n, rows, len(b.Levels))
		}
		plain := rows - drawn
		if last {
			left := d.Len() - n*(size-drawn)
			if plain = left; rows-plain > drawn || drawn > 0 && rows <= plain {
				t.Fatalf("the last batch has %d images, of which %d were left", rows, left)
			}
		}
		for _, i := range b.Indices[:plain] {
			seen[i]++
		}
		extra = append(extra, b.Indices[plain:]...)
		for _, i := range b.Indices[plain:] {
			if _, ok := slices.BinarySearch(known.Images, i); !ok {
				t.Errorf("batch %d draws image %d, which has no label", n, i)
			}
		}
		want := make([]int32, k)
		for row, i := range b.Indices {
			got := b.Levels[row*k : (row+1)*k]
			if known.Pairs == nil {
				if known.At(i, want); !slices.Equal(got, want) {
					t.Fatalf("batch %d, row %d: levels %v, want %v", n, row, got, want)
				}
				continue
			}
			if row < plain {
				if !slices.Equal(got, slices.Repeat([]int32{-1}, k)) {
					t.Fatalf("batch %d, row %d: levels %v of an image in no pair", n, row, got)
				}
				continue
			}
			number := (row - plain) / 2
			other := b.Indices[plain+2*number+(1-(row-plain)%2)]
			pair := SimilarPair{A: i, B: other}
			if (row-plain)%2 == 1 {
				pair = SimilarPair{A: other, B: i}
			}
			pair.Factor = -1
			for c, f := range known.Factors {
				if got[c] == int32(f.Size+number) {
					pair.Factor = c
				}
			}
			if !slices.Contains(known.Pairs, pair) {
				t.Fatalf("batch %d, row %d: levels %v, and there is no pair %v", n, row, got, pair)
			}
			for c, v := range got {
				if c != pair.Factor && v != -1 {
					t.Fatalf("batch %d, row %d: levels %v", n, row, got)
				}
			}
		}
	}
	for i, n := range seen {
		if n != 1 {
			t.Fatalf("an epoch deals image %d %d times", i, n)
		}
	}
	return extra
}

func TestMixedEpochs(t *testing.T) {
	d := trio()
	tests := []struct {
		name        string
		s           Kind
		size        int
		batch, want int // images of a full batch, and drawn images among them
		sizes       string
	}{
		{"half", &FactorLabels{Fraction: 0.2, Share: 0.5}, 8, 8, 4, "[8 8 8 8 8 8 8 8 8 8 8 8 8 8 8]"},
		{"a tenth", &FactorLabels{Fraction: 0.2, Share: 0.1}, 16, 16, 2, "[16 16 16 16 5]"},
		{"most", &FactorLabels{Fraction: 0.2, Share: 0.99}, 16, 16, 15, ""},
		{"a little", &FactorLabels{Fraction: 0.2, Share: 0.001}, 16, 16, 1, "[16 16 16 16]"},
		{"none", &FactorLabels{Fraction: 0.2}, 16, 16, 0, "[16 16 16 12]"},
		{"all", &FactorLabels{Fraction: 1, Share: 0.5}, 16, 16, 0, "[16 16 16 12]"},
		{"large batch", &FactorLabels{Fraction: 0.2, Share: 0.5}, 1000, 60, 30, "[60 60]"},
		{"rounded down to none", &FactorLabels{Fraction: 0.2, Share: 0.001}, 29, 29, 1, "[29 29 5]"},
		{"rounded", &FactorLabels{Fraction: 0.2, Share: 0.4}, 23, 23, 9, "[23 23 23 23 7]"},
		{"smallest batch", &FactorLabels{Fraction: 0.2, Share: 0.5}, 2, 2, 1, ""},
		{"one image", &FactorLabels{Fraction: 0.001, Share: 0.25}, 8, 8, 2, "[8 8 8 8 8 8 8 8 8 8]"},
		{"pairs", &Similarity{Count: 7, Share: 0.5}, 8, 8, 4, ""},
		{"odd pairs", &Similarity{Count: 7, Share: 0.5}, 9, 9, 4, "[9 9 9 9 9 9 9 9 9 9 9 9]"},
		{"few pairs", &Similarity{Count: 1, Share: 0.01}, 10, 10, 2, "[10 10 10 10 10 10 10 6]"},
		{"most pairs", &Similarity{Count: 7, Share: 0.99}, 3, 3, 2, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := datatest.Split(t, test.s, d)
			b := datatest.Sampler(t, s, test.size)
			counts := map[int]int{}
			var total int
			var orders []string
			for range 5 {
				batches := epochWithLevels(t, b)
				must.Equal(t, len(batches), b.Batches(), "batches")
				var sizes []int
				for _, batch := range batches {
					sizes = append(sizes, len(batch.Indices))
				}
				if test.sizes != "" && fmt.Sprint(sizes) != test.sizes {
					t.Errorf("batches %v, want %v", sizes, test.sizes)
				}
				if slices.Max(sizes) != b.MaxBatch() {
					t.Errorf("batches %v, at most %d promised", sizes, b.MaxBatch())
				}
				extra := checkMixed(t, d, s, batches, test.batch, test.want)
				orders = append(orders, fmt.Sprint(batches))
				if s.Known.Pairs != nil {
					continue
				}
				for _, i := range extra {
					counts[i]++
					total++
				}
				// whole passes across epochs
				for _, i := range s.Known.Images {
					if each := total / len(s.Known.Images); test.want > 0 && (counts[i] < each || counts[i] > each+1) {
						t.Errorf("image %d was drawn %d times of %d", i, counts[i], total)
					}
				}
			}
			if orders[0] == orders[1] {
				t.Error("two epochs have the same order")
			}
		})
	}
}

// TestMixedEpochsAtRandom checks epochs with random numbers.
func TestMixedEpochsAtRandom(t *testing.T) {
	r := rng.New(6, "plans")
	for range 300 {
		d := datatest.ToyOf(object(1+r.IntN(4)), ordinal("x", 2+r.IntN(30)), ordinal("y", 2))
		size, share := 2+r.IntN(40), 0.01+0.98*r.Float64()
		var s Kind = &FactorLabels{Fraction: 0.9 * r.Float64(), Share: share}
		width := 1
		if r.IntN(2) == 0 {
			s, width = &Similarity{Count: 1 + r.IntN(50), Share: share, Factors: []string{"y"}}, 2
			size++
		}
		plan := datatest.Split(t, s, d)
		if plan.Known.Share == 0 { // all images are labelled
			continue
		}
		batch := min(size, d.Len())
		units := max(1, min(int(math.Round(share*float64(batch)))/width, (batch-1)/width))
		b := datatest.Sampler(t, plan, size)
		for range 2 {
			checkMixed(t, d, plan, epochWithLevels(t, b), batch, units*width)
		}
		if t.Failed() {
			t.Fatalf("%d images, batches of %d, %+v", d.Len(), size, s)
		}
	}
}

// epochWithLevels returns a copy of an epoch.
func epochWithLevels(t testing.TB, s *Sampler) (batches []Batch) {
	t.Helper()
	must.OK(t, s.StartEpoch())
	for b, ok := s.Next(); ok; b, ok = s.Next() {
		c := clone(b)
		c.Levels = slices.Clone(b.Levels)
		batches = append(batches, c)
	}
	return batches
}

// Images in groups of moves may also have labels.
func TestLabelsOfMoves(t *testing.T) {
	d := datatest.ToyOf(circle("a", 6), circle("b", 5))
	s := datatest.Split(t, &Pairs{Count: 5}, d)
	s.Known = datatest.Split(t, &FactorLabels{Fraction: 0.5, Share: 0.5}, d).Known
	b := datatest.Sampler(t, s, 4)
	labelled := 0
	for _, batch := range epochWithLevels(t, b) {
		for row, i := range batch.Indices {
			want := make([]int32, 2)
			if s.Known.At(i, want); !slices.Equal(batch.Levels[row*2:row*2+2], want) {
				t.Errorf("image %d has levels %v", i, batch.Levels[row*2:row*2+2])
			}
		}
		if batch.Labelled {
			labelled++
		}
	}
	must.Equal(t, labelled, 3, "labelled batches")
	s.Known = datatest.Split(t, &Similarity{Count: 3, Share: 0.5}, d).Known
	for _, batch := range epochWithLevels(t, datatest.Sampler(t, s, 4)) {
		if known := slices.Max(batch.Levels) >= 0; known == batch.Labelled {
			t.Errorf("labelled %v: levels %v", batch.Labelled, batch.Levels)
		}
	}
	// every image is in a group, so batches mix no images
	s = datatest.Split(t, &Pairs{Count: 15}, d)
	s.Known = datatest.Split(t, &FactorLabels{Fraction: 0.5, Share: 0.5}, d).Known
	must.Equal(t, len(epochWithLevels(t, datatest.Sampler(t, s, 4))), 8, "batches")
}

func TestMixedSamplerErrors(t *testing.T) {
	d := trio()
	for size, s := range map[int]Kind{1: &FactorLabels{Fraction: 0.5, Share: 0.5}, 2: &Similarity{Count: 2, Share: 0.5}} {
		must.ErrorOf(NewSampler(datatest.Split(t, s, d), size, rng.New(0, "")))(t, fmt.Sprintf("want %d or more", size+1), size)
	}
	b := datatest.Sampler(t, datatest.Split(t, &FactorLabels{Fraction: 0.5, Share: 0.5}, d), 8)
	must.OK(t, b.StartEpoch())
	state := b.State()
	state.Epoch = math.MaxInt // a manipulated checkpoint
	must.OK(t, b.Restore(state))
	if _, ok := b.Next(); !ok {
		t.Error("no batch")
	}
	var old State
	must.OK(t, json.Unmarshal([]byte(`{"epoch":1,"position":2,"stream":"cGNnOgAAAAAAAAADAAAAAAAAAAQ="}`), &old))
	plain := datatest.Sampler(t, datatest.Split(t, &None{}, d), 8)
	if err := plain.Restore(old); err != nil {
		t.Errorf("a state without the new field: %v", err)
	}
	if text, err := json.Marshal(plain.State()); err != nil || strings.Contains(string(text), "labels") {
		t.Errorf("%s, %v", text, err)
	}
}

// A sampler of labelled images restored at any position returns the same batches.
func TestMixedSamplerResume(t *testing.T) {
	d := trio()
	for _, supervision := range []Kind{&FactorLabels{Fraction: 0.3, Share: 0.4}, &Similarity{Count: 11, Share: 0.4},
		several{&FactorLabels{Fraction: 0.3, Share: 0.3}, &Similarity{Count: 11, Share: 0.4}}} {
		s := datatest.Split(t, supervision, d)
		b := datatest.Sampler(t, s, 9)
		var want []string
		var states []string
		for range 4 {
			must.OK(t, b.StartEpoch())
			for {
				text := must.Get(json.Marshal(b.State()))(t)
				batch, ok := b.Next()
				if !ok {
					break
				}
				states, want = append(states, string(text)), append(want, fmt.Sprint(batch))
			}
		}
		for at, text := range states {
			var state State
			must.OK(t, json.Unmarshal([]byte(text), &state))
			other := must.Get(NewSampler(s, 9, rng.New(uint64(at), "other")))(t)
			if err := other.StartEpoch(); err != nil { // it has returned other batches before
				t.Fatal(err)
			}
			must.OK(t, other.Restore(state))
			for n := at; n < len(want); {
				batch, ok := other.Next()
				if !ok {
					must.OK(t, other.StartEpoch())
					continue
				}
				if fmt.Sprint(batch) != want[n] {
					t.Fatalf("restored after %d batches, batch %d differs", at, n)
				}
				n++
			}
		}
	}
}

// The loader renders the sampler's batches in the background without allocations.
func TestMixedLoader(t *testing.T) {
	d := datatest.Build(t, &drawn.Square{Size: 16, Side: 5, Step: 1})
	for _, supervision := range []Kind{&FactorLabels{Fraction: 0.1, Share: 0.5}, &Similarity{Count: 40, Share: 0.5}} {
		s := datatest.Split(t, supervision, d)
		plain, l := datatest.Sampler(t, s, 25), NewLoader(d, datatest.Sampler(t, s, 25))
		defer l.Close()
		image := make([]float32, 256)
		for range 2 {
			want := epochWithLevels(t, plain)
			must.OK(t, l.StartEpoch())
			for _, w := range want {
				b, images, ok := l.Next()
				if !ok || fmt.Sprint(b) != fmt.Sprint(w) || len(images) != 256*len(b.Indices) {
					t.Fatal("a batch differs")
				}
				for at, i := range b.Indices {
					if d.Image(i, image); !slices.Equal(image, images[at*256:(at+1)*256]) {
						t.Fatalf("image %d differs", at)
					}
				}
			}
		}
		small := NewLoader(d, datatest.Sampler(t, s, 3))
		defer small.Close()
		must.OK(t, small.StartEpoch())
		small.Next()
		if n := testing.AllocsPerRun(50, func() { small.Next() }); n > 0 {
			t.Errorf("%T: %v allocations a batch", supervision, n)
		}
	}
}

func BenchmarkLabels(b *testing.B) {
	d := datatest.Build(b, &drawn.Sprites{Scales: 6, Orientations: 40, Positions: 32})
	for name, supervision := range map[string]Kind{
		"labels": &FactorLabels{Fraction: 0.1, Share: 0.5}, "similarity": &Similarity{Count: 10000, Share: 0.5},
	} {
		b.Run(name+"/split", func(b *testing.B) {
			for b.Loop() {
				datatest.Split(b, supervision, d)
			}
		})
		s := datatest.Sampler(b, datatest.Split(b, supervision, d), 64)
		b.Run(name+"/epoch", func(b *testing.B) {
			for b.Loop() {
				must.OK(b, s.StartEpoch())
			}
		})
		b.Run(name+"/next", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := s.Next(); !ok {
					must.OK(b, s.StartEpoch())
				}
			}
		})
	}
}

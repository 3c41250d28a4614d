package supervision_test

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	. "github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/race"
)

// epoch returns a copy of the batches of an epoch.
func epoch(t testing.TB, s *Sampler) (batches []Batch) {
	t.Helper()
	must.OK(t, s.StartEpoch())
	for b, ok := s.Next(); ok; b, ok = s.Next() {
		batches = append(batches, clone(b))
	}
	return batches
}

func clone(b Batch) Batch {
	return Batch{Labelled: b.Labelled, Group: b.Group, Indices: slices.Clone(b.Indices), Transformations: slices.Clone(b.Transformations)}
}

func TestEpochPlan(t *testing.T) {
	torus := datatest.ToyOf(circle("a", 16), circle("b", 16))
	tests := []struct {
		name   string
		s      Kind
		images int
		want   string // labelled sizes | unlabelled sizes
	}{
		{"pairs", &Pairs{Count: 30}, 25, "[24 24 12] [25 25 25 25 25 25 25 21]"},
		{"none", &None{}, 100, "[] [100 100 56]"},
		{"full", &Pairs{Count: 128}, 100, "[100 100 56] []"},
		{"paths", &Paths{Count: 3, Length: 40, Step: 1}, 25, "[40 40 40] []"},
		{"views", &ObjectViews{Factor: "b"}, 40, "[32 32 32 32 32 32 32 32] []"},
		{"one batch", &Pairs{Count: 2}, 1000, "[4] [252]"},
		{"largest number", &Pairs{Count: 2}, math.MaxInt, "[4] [252]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := datatest.Split(t, test.s, torus)
			b := datatest.Sampler(t, s, test.images)
			if _, ok := b.Next(); ok {
				t.Error("a batch before the first epoch")
			}
			var orders []string
			for range 2 {
				labelled, unlabelled, largest := []int{}, []int{}, 0
				batches := epoch(t, b)
				for _, batch := range batches {
					largest = max(largest, len(batch.Indices))
					if batch.Labelled {
						if len(unlabelled) > 0 {
							t.Error("a labelled batch after an unlabelled one")
						}
						labelled = append(labelled, len(batch.Indices))
					} else {
						unlabelled = append(unlabelled, len(batch.Indices))
					}
				}
				if got := fmt.Sprint(labelled, unlabelled); got != test.want || len(batches) != b.Batches() || largest != b.MaxBatch() {
					t.Errorf("batches %v, want %v; %d promised, at most %d images", got, test.want, b.Batches(), b.MaxBatch())
				}
				checkEpoch(t, s, batches)
				orders = append(orders, fmt.Sprint(batches))
			}
			if orders[0] == orders[1] {
				t.Error("two epochs have the same order")
			}
		})
	}
}

// checkEpoch checks that every group and every unlabelled image occurs once, with its transformations.
func checkEpoch(t *testing.T, s *Split, batches []Batch) {
	t.Helper()
	want, got := map[string]int{}, map[string]int{}
	k := s.K()
	for g := range s.Groups {
		want[fmt.Sprint(s.Groups[g], s.Transformations[g])]++
	}
	for _, i := range s.Unlabelled {
		want[fmt.Sprint(i)]++
	}
	for _, b := range batches {
		if !b.Labelled {
			for _, i := range b.Indices {
				got[fmt.Sprint(i)]++
			}
			continue
		}
		for at := 0; at < len(b.Indices); at += s.M {
			got[fmt.Sprint(b.Indices[at:at+s.M], b.Transformations[at*k:(at+s.M)*k])]++
		}
	}
	must.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "an epoch deals")
}

// A sampler that is restored during an epoch returns the same batches, in this epoch and the next ones.
func TestSamplerResume(t *testing.T) {
	d := datatest.ToyOf(circle("a", 16), circle("b", 16))
	s := datatest.Split(t, &Pairs{Count: 30}, d)
	var want []string
	var states [][]byte
	b := datatest.Sampler(t, s, 25)
	note := func() {
		text := must.Get(json.Marshal(b.State()))(t)
		states = append(states, text)
	}
	deal := func(b *Sampler, upTo int, start bool, note func()) (dealt []string) {
		for len(dealt) < upTo {
			if start {
				must.OK(t, b.StartEpoch())
			}
			start = true
			for batch, ok := b.Next(); ok; batch, ok = b.Next() {
				dealt = append(dealt, fmt.Sprint(batch))
				note()
			}
		}
		return dealt[:upTo]
	}
	note()
	want = deal(b, 33, true, note)
	for after, text := range states[:33] {
		var state State
		must.OK(t, json.Unmarshal(text, &state))
		other := must.Get(NewSampler(s, 25, rng.New(999, "other")))(t)
		must.OK(t, other.Restore(state))
		got := deal(other, 33-after, after == 0, func() {})
		if !slices.Equal(got, want[after:33]) {
			t.Fatalf("restored after %d batches, it deals others", after)
		}
	}
	good := b.State()
	last := State{Epoch: 1, Position: b.Batches(), Stream: good.Stream}
	if err := b.Restore(last); err != nil {
		t.Error(err)
	}
	for _, bad := range []State{{Epoch: -1, Stream: good.Stream},
		{Epoch: 1, Position: b.Batches() + 1, Stream: good.Stream}, {Epoch: 0, Position: 1, Stream: good.Stream},
		{Epoch: 1, Position: -1, Stream: good.Stream}, {Epoch: 1, Stream: []byte("x")}} {
		if err := b.Restore(bad); err == nil {
			t.Errorf("state %+v is accepted", bad)
		}
	}
}

func TestSamplerErrors(t *testing.T) {
	if _, err := NewSampler(&Split{}, 10, rng.New(0, "")); err == nil {
		t.Error("no images: no error")
	}
	if _, err := NewSampler(&Split{Unlabelled: []int{1}}, 0, rng.New(0, "")); err == nil {
		t.Error("no batch: no error")
	}
}

// The loader returns the sampler's batches with the right images, also after a restore to the middle of an epoch.
func TestLoader(t *testing.T) {
	d := datatest.Build(t, &drawn.Square{Size: 16, Side: 5, Step: 1})
	s := datatest.Split(t, &Pairs{Count: 30}, d)
	plain := datatest.Sampler(t, s, 25)
	l := NewLoader(d, datatest.Sampler(t, s, 25))
	defer l.Close()
	image := make([]float32, 256)
	var middle State
	for round := range 3 {
		want := epoch(t, plain)
		must.OK(t, l.StartEpoch())
		if round == 2 { // leave the epoch, and return to the middle of the previous one
			l.Next()
			must.OK(t, l.Restore(middle))
			must.OK(t, plain.Restore(middle))
			want = nil
			for b, ok := plain.Next(); ok; b, ok = plain.Next() {
				want = append(want, clone(b))
			}
		}
		n := 0
		for b, images, ok := l.Next(); ok; b, images, ok = l.Next() {
			if fmt.Sprint(b) != fmt.Sprint(want[n]) {
				t.Fatalf("round %d, batch %d differs", round, n)
			}
			for at, i := range b.Indices {
				d.Image(i, image)
				if !slices.Equal(image, images[at*256:(at+1)*256]) {
					t.Fatalf("batch %d, image %d differs", n, at)
				}
			}
			if len(images) != len(b.Indices)*256 {
				t.Fatalf("%d pixels", len(images))
			}
			if n++; n == 5 {
				middle = l.State()
			}
		}
		must.Equal(t, n, len(want), "batches")
	}
}

func TestLoaderAllocatesNothing(t *testing.T) {
	d := datatest.Build(t, &drawn.Square{Size: 16, Side: 5, Step: 1})
	l := NewLoader(d, datatest.Sampler(t, datatest.Split(t, &None{}, d), 2))
	defer l.Close()
	must.OK(t, l.StartEpoch())
	l.Next()
	if n := testing.AllocsPerRun(50, func() { l.Next() }); n > 0 {
		t.Errorf("%v allocations a batch", n)
	}
}

func TestFillIsTheSameAtAnyThreadCount(t *testing.T) {
	d := datatest.Build(t, &drawn.Arrow{Size: 16, Hues: 8, Rotations: 8})
	indices := rng.New(0, "fill").Perm(64)
	one, many := make([]float32, 64*16*16*3), make([]float32, 64*16*16*3)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	datasets.Fill(d, indices, one)
	runtime.GOMAXPROCS(5)
	datasets.Fill(d, indices, many)
	if !slices.Equal(one, many) {
		t.Error("pixels differ")
	}
}

func TestFillDoesNotAllocate(t *testing.T) {
	d := datatest.Build(t, &drawn.Square{Size: 16, Side: 4, Step: 1})
	indices, dst := []int{0, 200, 31}, make([]float32, 3*16*16)
	if n := testing.AllocsPerRun(50, func() { datasets.Fill(d, indices, dst) }); n > 0 {
		t.Errorf("%v allocations a call", n)
	}
}

// An epoch: first the labelled pairs, then the images without labels.
func ExampleLoader() {
	d, _ := (&drawn.Square{Size: 8, Side: 2, Step: 1}).Build(0)
	s, _ := (&Pairs{Count: 20}).Split(d, rng.New(1, "supervision"))
	sampler, err := NewSampler(s, 16, rng.New(1, "batches"))
	if err != nil {
		fmt.Println(err)
		return
	}
	l := NewLoader(d, sampler)
	defer l.Close()
	if err := l.StartEpoch(); err != nil {
		fmt.Println(err)
		return
	}
	for b, images, ok := l.Next(); ok; b, images, ok = l.Next() {
		fmt.Println(b.Labelled, len(b.Indices), len(images))
	}
	// Output:
	// true 16 1024
	// true 16 1024
	// true 8 512
	// false 16 1024
	// false 8 512
}

func BenchmarkLoader(b *testing.B) {
	d := datatest.Build(b, &drawn.Square{Size: 64, Side: 16, Step: 1})
	l := NewLoader(d, datatest.Sampler(b, datatest.Split(b, &Pairs{Count: 768}, d), 100))
	defer l.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := l.Next(); !ok {
			must.OK(b, l.StartEpoch())
		}
	}
}

// The views of a batch only depend on the sampler's state. They depend neither on the number of threads nor on a
// restore to the middle of an epoch.
func TestViewLoader(t *testing.T) {
	d := datatest.Build(t, &drawn.Arrow{Size: 16, Hues: 8, Rotations: 8})
	s := datatest.Split(t, &Pairs{Count: 10}, d)
	v := &augment.Views{}
	v.SetDefaults()
	start := func() *Loader {
		l := must.Get(NewViewLoader(d, datatest.Sampler(t, s, 9), v, 5))(t)
		t.Cleanup(l.Close)
		return l
	}
	const size = 16 * 16 * 3
	want := [][]float32{make([]float32, 10*size), make([]float32, 10*size)}
	check := func(l *Loader, from State) (batches int) {
		t.Helper()
		for b, images, ok := l.Next(); ok; b, images, ok = l.Next() {
			n := len(b.Indices)
			for i := range n { // one by one, unlike the loader
				v.Apply(want, images, i, i+1, 16, 16, 3, 5, uint64(from.Epoch), uint64(from.Position+batches))
			}
			for view, got := range l.Views() {
				if !slices.Equal(got, want[view][:n*size]) {
					t.Fatalf("epoch %d, batch %d: view %d differs", from.Epoch, batches, view)
				}
			}
			batches++
		}
		return batches
	}
	l := start()
	for _, threads := range []int{1, 4} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
		for range 2 {
			must.OK(t, l.StartEpoch())
			if n := check(l, l.State()); n != 8 { // 20 labelled images and 44 others
				t.Errorf("%d batches", n)
			}
		}
	}
	must.OK(t, l.StartEpoch())
	l.Next()
	l.Next()
	middle := l.State()
	again := start()
	must.OK(t, again.Restore(middle))
	if n := check(again, middle); n == 0 {
		t.Error("nothing follows the middle of an epoch")
	}
	small := must.Get(NewViewLoader(d, datatest.Sampler(t, s, 1), v, 5))(t)
	defer small.Close()
	must.OK(t, small.StartEpoch())
	small.Next()
	if n := testing.AllocsPerRun(50, func() { small.Next() }); n > 0 && !race.Enabled { // emptied pools do not count
		t.Errorf("%v allocations a batch", n)
	}
	small.Close() // and once more at the end
	if NewLoader(d, datatest.Sampler(t, s, 9)).Views() != nil {
		t.Error("a loader of images has views")
	}
	other := *v // the loaders still use v
	other.Pipeline = augment.Pipeline{{Name: "normalise", Value: &augment.Normalise{Mean: []float64{0, 0}, Deviation: []float64{1}}}}
	must.ErrorOf(NewViewLoader(d, datatest.Sampler(t, s, 9), &other, 5))(t, "dataset arrow: augmentation 0, normalise: images of 16 x 16 x 3")
}

// BenchmarkViews makes batches of 64 images of room, without views and with two. A training step at the same time loses
// at most this time, shared by the processors.
func BenchmarkViews(b *testing.B) {
	d := datatest.Build(b, &drawn.Room{Size: 64, Hues: 10, Scales: 8, Orientations: 15})
	s := datatest.Split(b, &None{}, d)
	v := &augment.Views{}
	v.SetDefaults()
	for name, views := range map[string]*augment.Views{"images": nil, "views": v} {
		b.Run(name, func(b *testing.B) {
			l := NewLoader(d, datatest.Sampler(b, s, 64))
			if views != nil {
				var err error
				if l, err = NewViewLoader(d, datatest.Sampler(b, s, 64), views, 1); err != nil {
					b.Fatal(err)
				}
			}
			defer l.Close()
			must.OK(b, l.StartEpoch())
			for b.Loop() {
				if _, _, ok := l.Next(); !ok {
					must.OK(b, l.StartEpoch())
				}
			}
		})
	}
}

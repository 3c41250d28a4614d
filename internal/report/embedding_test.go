package report

import (
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// manyCodes returns n codes with factors of all kinds. One factor has unknown levels, one has a hostile name, and one
// has a single level.
func manyCodes(n, d int) *metrics.Input {
	in := &metrics.Input{Codes: matrix.Matrix{Rows: n, Cols: d}, Factors: []factor.Factor{
		{Name: "shape", Size: 3, Kind: factor.Categorical}, {Name: "turn", Size: 12, Kind: factor.Circular},
		{Name: "size <b>\x1b[31m\n of the object that the camera sees, in metres above the sea", Size: 7, Kind: factor.Ordinal, Values: []float64{-3, -2, -1, 0, 1, 2, 3}},
		{Name: "object", Size: 40, Kind: factor.Categorical}, {Name: "constant", Size: 1, Kind: factor.Ordinal}}}
	stream := rng.New(1, "codes")
	for i := range n {
		levels := []int{i % 3, i / 3 % 12, i / 36 % 7, i % 40, 0}
		turn := float64(levels[1]) / 12 * 2 * math.Pi
		for c := range d {
			in.Codes.Data = append(in.Codes.Data, []float64{3 * math.Cos(turn), 2 * math.Sin(turn), float64(levels[2]) / 3,
				float64(levels[0])}[c%4]+0.2*stream.NormFloat64())
		}
		if i%10 == 0 {
			levels[2] = factor.Unknown
		}
		in.Levels = append(in.Levels, levels...)
	}
	return in
}

func TestEmbedding(t *testing.T) {
	long.NotShort(t)
	for _, d := range []int{1, 2, 30} {
		show(t, fmt.Sprintf("embedding %d", d), func(w io.Writer) error {
			return Embedding(w, "Codes along their principal components", manyCodes(500, d))
		})
	}
	show(t, "embedding without factors", func(w io.Writer) error {
		return Embedding(w, "", &metrics.Input{Codes: manyCodes(50, 3).Codes})
	})
	constant := manyCodes(20, 4)
	clear(constant.Codes.Data)
	show(t, "embedding constant", func(w io.Writer) error { return Embedding(w, "constant", constant) })
	huge := manyCodes(20, 2)
	for i := range huge.Codes.Data {
		huge.Codes.Data[i] *= 1e200
	}
	huge.Codes.Data[3] = math.NaN()
	show(t, "embedding huge", func(w io.Writer) error { return Embedding(w, "huge", huge) })
	for i := range huge.Codes.Data {
		huge.Codes.Data[i] = math.NaN()
	}
	if err := Embedding(failing{}, "", huge); err != nil {
		t.Errorf("no finite code: %v", err)
	}
}

// The principal components are the known axes with their proportions of the variance, also for many columns.
func TestPrincipalPlane(t *testing.T) {
	for _, d := range []int{2, 3, 60, 300} {
		codes := matrix.Matrix{Rows: 200, Cols: d, Data: make([]float64, 200*d)}
		rows, a, b := make([]int, 200), make([]float64, 200), make([]float64, 200)
		for i := range rows {
			rows[i] = i
			angle := 2 * math.Pi * float64(i) / 200
			a[i], b[i] = 4*math.Cos(angle), 2*math.Sin(angle)
			codes.Row(i)[0], codes.Row(i)[d-1] = 7+0.8*a[i]-0.6*b[i], 0.6*a[i]+0.8*b[i]-1
		}
		p := must.Get(principalPlane(codes, rows))(t)
		must.Equal(t, p.names[0], "principal component 1 (80 %)", d, "columns")
		for i := range rows {
			if !(math.Abs(p.x[i]-a[i]) <= 1e-9) || !(math.Abs(p.y[i]-b[i]) <= 1e-9) {
				t.Fatalf("%d columns: point %d is %v %v, want %v %v", d, i, p.x[i], p.y[i], a[i], b[i])
			}
		}
	}
}

// BYOL's paper uses a thousand columns.
func BenchmarkEmbedding(b *testing.B) {
	in := manyCodes(10000, 1000)
	b.Run("embedding", func(b *testing.B) {
		for b.Loop() {
			must.OK(b, Embedding(io.Discard, "Principal components", in))
		}
	})
	b.Run("neighbours", func(b *testing.B) {
		for b.Loop() {
			neighbours(in.Codes, norms(in.Codes), 17, 8)
		}
	})
}

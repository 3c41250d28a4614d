package codes

import (
	"math"
	"reflect"
	"slices"
	"testing"

	drawnsets "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
)

// Codes are sums of the factors, with one row per combination. Columns repeat.
func TestLinear(t *testing.T) {
	l := &Linear{First: [][]float64{{1, 0, 0}}, Rest: [][]float64{{0, 2, 0}, {0, 1, -1}}, Columns: 4, Levels: 3}
	must.OK(t, l.Validate())
	s, err := l.Sample(t.Context(), 5)
	if err != nil || s.Input.Validate() != nil || s.Input.Codes.Rows != 27 || s.Input.Codes.Cols != 4 || len(s.Input.Factors) != 3 {
		t.Fatalf("%+v, %v", s, err)
	}
	for i := range 27 {
		v := s.Input.Levels[3*i : 3*i+3]
		z := [4]float64{float64(v[0]) / 2, float64(v[1]), float64(v[1]-v[2]) / 2, float64(v[1])}
		if got := s.Input.Codes.Row(i); [4]float64(got) != z || i != 9*v[0]+3*v[1]+v[2] {
			t.Errorf("row %d: %v of %v, want %v", i, got, v, z)
		}
	}
}

// DCI's formula scores given importances. Other metrics reject them.
func TestImportances(t *testing.T) {
	m := &Importances{Cases: []ImportanceCase{{Weight: 1, Rows: [][]float64{{1, 0}, {2, 2}}},
		{Weight: 3, Rows: [][]float64{{3, 0}}}, {Weight: 0, Rows: [][]float64{{1, 1}}}}}
	must.OK(t, m.Validate())
	dci := metrics.NewDCI()
	dci.Floor = 0
	r, err := m.Score(t.Context(), metrics.Choice{Name: "dci", Value: dci}, 0)
	if want := (1.0/5 + 3) / 4; err != nil || !(math.Abs(r.Value-want) <= 1e-15) || r.Name != "dci" || m.Random() {
		t.Errorf("%+v, %v, want %v", r, err, want)
	}
	dci.Score = metrics.Completeness
	if _, err := m.Score(t.Context(), metrics.Choice{Name: "dci", Value: dci}, 0); err == nil {
		t.Error("completeness of importances")
	}
	if _, err := m.Score(t.Context(), metrics.Choice{Name: "med", Value: &metrics.MED{}}, 0); err == nil {
		t.Error("med of importances")
	}
}

// Codes have the requested shape, and their factors have all levels.
func TestTimedSample(t *testing.T) {
	source := &Timed{Rows: 3000, Columns: 4, Factors: []int{3, 7}}
	must.OK(t, source.Validate())
	s, err := source.Sample(t.Context(), 1)
	if err != nil || s.Input.Validate() != nil || !s.Timed || !source.Random() {
		t.Fatalf("%v, %v", err, s)
	}
	if in := s.Input; in.Codes.Rows != 3000 || in.Codes.Cols != 4 || len(in.Levels) != 6000 ||
		slices.Max(in.Levels) != 6 || s.Codes["factor1"][0] != 1 {
		t.Errorf("%d x %d", in.Codes.Rows, in.Codes.Cols)
	}
	again, _ := source.Sample(t.Context(), 1)
	other, _ := source.Sample(t.Context(), 2)
	if !slices.Equal(s.Input.Codes.Data, again.Input.Codes.Data) || slices.Equal(s.Input.Codes.Data, other.Input.Codes.Data) {
		t.Error("codes do not follow from the seed")
	}
	for _, bad := range []Timed{{1, 4, []int{2}}, {1<<20 + 1, 4, []int{2}}, {10, 4, nil}, {10, 1, []int{2, 2}},
		{10, 1001, []int{2}}, {10, 4, []int{1}}, {10, 4, []int{1<<16 + 1}}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if edge := (Timed{2, 1, []int{2}}); edge.Validate() != nil {
		t.Error(edge.Validate())
	}
}

func TestEntangledSource(t *testing.T) {
	random := &Entangled{Entangled: drawnsets.Entangled{Encoder: "random", Levels: 3}}
	a := must.Get(random.Sample(t.Context(), 1))(t)
	b, err := random.Sample(t.Context(), 2)
	if err != nil || reflect.DeepEqual(a, b) || !random.Random() {
		t.Errorf("%v; seeds do not differ", err)
	}
	if _, err := (&Entangled{}).Sample(t.Context(), 0); err == nil {
		t.Error("an encoder without a name was taken")
	}
}

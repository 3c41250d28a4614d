package drawn_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	. "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/internal/configtest"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestEncodersGolden(t *testing.T) {
	text := must.Read(t, "testdata/entangled.json")
	var golden struct {
		Rows     []int
		Encoders map[string]struct {
			SubCodes [3][]int
			Codes    [][]float64
		}
	}
	must.OK(t, json.Unmarshal(text, &golden))
	checked := 0
	for _, e := range AnalyticEncoders() {
		want, ok := golden.Encoders[e.Name]
		if !ok {
			continue
		}
		checked++
		codes, d, err := (&Entangled{Encoder: e.Name, Levels: 11}).Codes(0)
		if err != nil || d != e.Columns() || len(codes) != 1331*d || d != len(want.Codes[0]) {
			t.Fatalf("%s: %d numbers of %d columns, %v", e.Name, len(codes), d, err)
		}
		must.Equal(t, fmt.Sprint(e.SubCodes), fmt.Sprint(want.SubCodes), e.Name, "sub-codes")
		for n, row := range golden.Rows {
			for c, w := range want.Codes[n] {
				if got := codes[row*d+c]; !(math.Abs(got-w) <= 1e-12) {
					t.Errorf("%s: row %d, column %d is %v, want %v", e.Name, row, c, got, w)
				}
			}
		}
	}
	if checked != 9 || len(AnalyticEncoders()) != 10 {
		t.Errorf("%d of %d encoders are checked", checked, len(AnalyticEncoders()))
	}
}

func TestEntangledSet(t *testing.T) {
	for _, e := range AnalyticEncoders() {
		s := &Entangled{Encoder: e.Name, Levels: 4}
		d := datatest.Build(t, s)
		codes, columns, err := s.Codes(0)
		if h, w, c := d.ImageShape(); err != nil || h != 1 || w != 1 || c != columns || d.Len() != 64 {
			t.Errorf("%s: %d images of %d x %d x %d, %v", e.Name, d.Len(), h, w, c, err)
		}
		pixels := make([]float32, columns)
		for i := range 64 {
			d.Image(i, pixels)
			for c, v := range pixels {
				if v != float32(codes[i*columns+c]) {
					t.Errorf("%s: image %d is %v", e.Name, i, pixels)
				}
			}
		}
		if f := d.Factors()[1]; f.Value(1) != 1.0/3 || f.Scaled(1) != 1.0/3 || f.Value(3) != 1 {
			t.Errorf("%+v", f)
		}
	}
}

// Only the encoder random depends on the seed.
func TestEntangledSeed(t *testing.T) {
	codes := func(encoder string, seed uint64) []float64 {
		c, _, err := (&Entangled{Encoder: encoder, Levels: 3}).Codes(seed)
		must.OK(t, err)
		return c
	}
	if !slices.Equal(codes("random", 1), codes("random", 1)) || slices.Equal(codes("random", 1), codes("random", 2)) {
		t.Error("random codes do not follow the seed")
	}
	if low, high := slices.Min(codes("random", 1)), slices.Max(codes("random", 1)); !(low >= 0 && high < 1 && high-low >= 0.8) {
		t.Errorf("random codes from %v to %v", low, high)
	}
	if !slices.Equal(codes("entanglement", 1), codes("entanglement", 2)) {
		t.Error("the entanglement depends on the seed")
	}
}

func TestEntangledErrors(t *testing.T) {
	for text, want := range map[string]string{
		"dataset: {entangled: {encoder: rotatoin}}": `unknown encoder "rotatoin"; did you mean "rotation"?`,
		"dataset: {entangled: {levels: 1}}":         "1 is out of range; want 2 to 101",
		"dataset: {entangled: {levels: 102}}":       "102 is out of range",
	} {
		must.ErrorOf(configtest.Decode(text))(t, want, text)
	}
	if _, err := (&Entangled{}).Build(0); err == nil {
		t.Error("no encoder: no error")
	}
}

func ExampleEntangled_Codes() {
	codes, d, err := (&Entangled{Encoder: "misalignment", Levels: 3}).Codes(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for row := range 3 {
		fmt.Println(codes[row*d : (row+1)*d])
	}
	// Output:
	// [0 0 0]
	// [0 0.5 0]
	// [0 1 0]
}

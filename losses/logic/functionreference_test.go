package logic

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/must"
)

// fitting is testdata/functions.json: a batch with sentences, values, gradients and functions.
type fitting struct {
	Z, Y, Labels [][]float64
	Sentences    []struct {
		Text     string
		Value    float64
		Gradient [][]float64
		Found    json.RawMessage
	}
}

// TestFunctionReferences compares values, gradients and functions with another program's results.
func TestFunctionReferences(t *testing.T) {
	var m fitting
	must.ReadJSON(t, "testdata/functions.json", &m)
	b := batch{z: m.Z, y: m.Y, labels: m.Labels}
	for _, want := range m.Sentences {
		q := compiled(t, parsed(t, want.Text))
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			tolerance := 1e-9
			if dt == tensor.Float32 {
				tolerance = 2e-5
			}
			v, g := evaluate(t, dt, b, build(q))
			if !(math.Abs(v-want.Value) <= tolerance*max(1, want.Value)) {
				t.Errorf("%s: %v in %v, want %v", want.Text, v, dt, want.Value)
			}
			for i, w := range slices.Concat(want.Gradient...) {
				if !(math.Abs(g[i]-w) <= 20*tolerance*max(1, math.Abs(w))) {
					t.Errorf("%s: element %d of the gradient is %v in %v, want %v", want.Text, i, g[i], dt, w)
					break
				}
			}
		}
		compareFunction(t, q, b, want.Text, want.Found)
	}
}

// compareFunction compares the function of a sentence with another program's function.
func compareFunction(t *testing.T, q *Quantity, b batch, text string, found json.RawMessage) {
	t.Helper()
	all, err := q.Approximation(Batch{Codes: b.z, Values: b.y, Labels: b.labels})
	if err != nil || len(all) != 1 {
		t.Fatalf("%s: %d functions, %v", text, len(all), err)
	}
	var want [][]float64
	f := all[0]
	var got [][]float64
	if f.Levels != nil {
		err = json.Unmarshal(found, &want)
		for i, level := range f.Levels {
			got = append(got, slices.Concat(level, f.Points[i]))
		}
	} else {
		var one [][][]float64
		err = json.Unmarshal(found, &one)
		want = one[0]
		if !strings.Contains(f.Function, "in linear") {
			got = append(got, f.Offset)
		}
		for j := range f.FromColumns {
			var row []float64
			for k := range f.ToColumns {
				row = append(row, f.Matrix[k][j])
			}
			got = append(got, row)
		}
	}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%s: %v has %d rows, want %d (%v)", text, f.Function, len(got), len(want), err)
	}
	for i := range got {
		for k := range got[i] {
			if !(math.Abs(got[i][k]-want[i][k]) <= 1e-7*max(1, math.Abs(want[i][k]))) {
				t.Errorf("%s: element %d, %d of the function is %v, want %v", text, i, k, got[i][k], want[i][k])
			}
		}
	}
}

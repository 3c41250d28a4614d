package report

import (
	"io"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// traversed returns the codes that traversals decode.
func traversed(t *testing.T, codes *decode.Codes) (list [][]float32) {
	t.Helper()
	d := Decoder{Height: 1, Width: 1, Channels: 1, Decode: func(all []float32) ([]float32, error) {
		for code := range slices.Chunk(all, codes.Known.Cols) {
			list = append(list, slices.Clone(code))
		}
		return make([]float32, len(list)), nil
	}}
	must.OK(t, CodeTraversals(io.Discard, codes, nil, d))
	return list
}

// A choice, a circle and a column each have a separate kind of motion, and only one moves at a time.
func TestTraversalsOfMixes(t *testing.T) {
	codes := &decode.Codes{
		Hierarchy: hierarchy.Hierarchy{{Options: make([]hierarchy.Hierarchy, 3)}, {}, {}, {}},
		Spaces:    []models.Space{{Width: 1, Options: 3}, {First: 1, Width: 2, Circle: true, Unit: true}, {First: 3, Width: 1}},
		Known:     matrix.Matrix{Rows: 101, Cols: 4},
	}
	for i := range 101 {
		codes.Known.Data = append(codes.Known.Data, 2, 0, 1, float64(i))
	}
	got := traversed(t, codes)
	if len(got) != 3*traversalSteps {
		t.Fatalf("%d codes, want 3 rows", len(got))
	}
	for n, want := range map[int][]float32{
		0: {1, 0, 1, 0}, 1: {2, 0, 1, 0}, 2: {3, 0, 1, 0}, 3: {1, 0, 1, 0},
		traversalSteps: {2, 1, 0, 0}, traversalSteps + 6: {2, -1, 0, 0},
		2 * traversalSteps: {2, 0, 1, 1}, 3*traversalSteps - 1: {2, 0, 1, 99},
	} {
		for j, v := range got[n] {
			if !(math.Abs(float64(v-want[j])) <= 1e-6) {
				t.Errorf("code %d is %v, want %v", n, got[n], want)
				break
			}
		}
	}
}

// Names of rows have the options that the rows show, counted from 1 as in codes.
func TestTraversalNames(t *testing.T) {
	for options, want := range map[int]string{3: "a0: 1 to 3", 12: "a0: 1 to 12", 20: "a0: 1 to 12 of 20"} {
		names := traversalsOf(&decode.Codes{
			Hierarchy: hierarchy.Hierarchy{{Options: make([]hierarchy.Hierarchy, options)}},
			Spaces:    []models.Space{{Width: 1, Options: options}},
			Known:     matrix.Matrix{Rows: 1, Cols: 1, Data: []float64{2}},
		}, nil).names
		must.EqualSlices(t, names, []string{want}, options, "options: rows")
	}
	h := hierarchy.Hierarchy{{Options: []hierarchy.Hierarchy{{{}}, {{Options: make([]hierarchy.Hierarchy, 2)}}}}, {}}
	codes := matrix.Matrix{Rows: 3, Cols: 4, Data: []float64{1, 0, 5, 6, 1, 0, 6, 7, 2, 1, 0, 8}}
	if names, _ := pathTraversals(codes, h); !slices.Equal(names, []string{"[1 0] z0", "[1 0] z1", "[2 1] z1"}) {
		t.Errorf("rows %q", names)
	}
}

// Codes on a sphere of any dimension remain on it.
func TestTraversalsOnSphere(t *testing.T) {
	got := traversed(t, &decode.Codes{
		Spaces: []models.Space{{Width: 4, Unit: true}},
		Known:  matrix.Matrix{Rows: 2, Cols: 4, Data: []float64{0.6, 0, 0.8, 0, 0, 1, 0, 0}},
	})
	if len(got) != 4*traversalSteps {
		t.Fatalf("%d codes, want 4 rows", len(got))
	}
	for n, z := range got {
		if length := z[0]*z[0] + z[1]*z[1] + z[2]*z[2] + z[3]*z[3]; !(math.Abs(float64(length-1)) <= 1e-6) {
			t.Errorf("code %d has the squared length %v", n, length)
		}
	}
	if quarter := got[traversalSteps+3]; !(math.Abs(float64(quarter[1]-1)) <= 1e-6) {
		t.Errorf("a quarter of the great circle towards axis 1 leads to %v", quarter)
	}
}

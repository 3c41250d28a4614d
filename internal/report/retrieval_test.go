package report

import (
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

func TestNeighbours(t *testing.T) {
	codes := matrix.Matrix{Rows: 7, Cols: 2, Data: []float64{1, 0, 5, 0, 0, 0, 0, 2, -3, 0, math.NaN(), 1, 1, 1}}
	got := neighbours(codes, norms(codes), 0, 9)
	var rows []int
	for i, want := range []float64{0, 1 - math.Sqrt2/2, 1, 1, 1, 2} {
		rows = append(rows, got[i].row)
		if !(math.Abs(got[i].distance-want) <= 1e-12) {
			t.Errorf("%d: distance %v, want %v", i, got[i].distance, want)
		}
	}
	must.EqualSlices(t, rows, []int{1, 6, 2, 3, 5, 4})
	if got := neighbours(codes, norms(codes), 2, 2); len(got) != 2 || got[0] != (neighbour{0, 1}) {
		t.Errorf("of a code of length 0: %v", got)
	}
}

func TestRetrieval(t *testing.T) {
	images := Images{Height: 8, Width: 8, Channels: 1, Pixels: func(rows []int) []float32 {
		pixels := make([]float32, 64*len(rows))
		for i, r := range rows {
			for p := range 64 {
				pixels[64*i+p] = float32(r*p%64) / 64
			}
		}
		return pixels
	}}
	for _, n := range []int{2, 500} {
		show(t, fmt.Sprint("retrieval ", n), func(w io.Writer) error {
			return Retrieval(w, "Nearest neighbours of some images", manyCodes(n, 6), images)
		})
	}
	show(t, "retrieval without factors", func(w io.Writer) error {
		return Retrieval(w, "", &metrics.Input{Codes: manyCodes(30, 3).Codes}, images)
	})
	if err := Retrieval(failing{}, "", manyCodes(1, 2), images); err != nil {
		t.Errorf("one code: %v", err)
	}
	in := manyCodes(500, 2)
	must.EqualSlices(t, agreement(in, []int{0, 2}, 0, 3), []bool{true, false}, "an unknown level agrees")
}

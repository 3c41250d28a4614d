package report

import (
	"bytes"
	"fmt"
	"image"
	"io"
	"math"
	"strings"
	"testing"
)

// matrix is a matrix whose values grow along rows and columns.
func matrix(n, k int) (rows, columns []string, values [][]float64) {
	for j := range k {
		columns = append(columns, fmt.Sprint("factor", j))
	}
	for i := range n {
		rows = append(rows, fmt.Sprint("z", i))
		values = append(values, make([]float64, k))
		for j := range k {
			values[i][j] = float64(i*j) / float64(n*k)
		}
	}
	return rows, columns, values
}

func TestHeatmap(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {10, 5}, {1000, 6}, {5, 300}} {
		rows, columns, values := matrix(size[0], size[1])
		show(t, fmt.Sprintf("heatmap %d x %d", size[0], size[1]), func(w io.Writer) error {
			return Heatmap(w, "mutual information", rows, columns, values)
		})
	}
	rows, columns, values := matrix(3, 3)
	rows[1], columns[2] = "a code column with a long name", "a factor with a name that is as long"
	values[0] = []float64{math.NaN(), math.Inf(1), -math.MaxFloat64}
	values[2][2] = math.MaxFloat64
	show(t, "heatmap strange", func(w io.Writer) error { return Heatmap(w, "", rows, columns, values) })

	for _, n := range []int{5, 60, 1000} {
		rows, columns, values := matrix(n, 5)
		plain := show(t, fmt.Sprint("heatmap without frames ", n), func(w io.Writer) error { return Heatmap(w, "chosen", rows, columns, values) })
		framed := show(t, fmt.Sprint("heatmap with frames ", n), func(w io.Writer) error {
			return HeatmapOf(w, "chosen", rows, columns, values, []int{0, 2, 3, n / 2, n - 1})
		})
		count := func(img image.Image) (pixels int) {
			for i := range img.Bounds().Dx() * img.Bounds().Dy() {
				if r, _, b, _ := img.At(i%img.Bounds().Dx(), i/img.Bounds().Dx()).RGBA(); r > 0xc000 && b < 0x4000 {
					pixels++
				}
			}
			return pixels
		}
		if a, b := count(plain), count(framed); a != 0 || b < 1000 {
			t.Errorf("%d rows: %d pixels of frames without, %d with", n, a, b)
		}
	}
	if err := HeatmapOf(&bytes.Buffer{}, "", rows, columns, [][]float64{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}}, []int{3}); err == nil || !strings.Contains(err.Error(), "a frame around row 3 of 3") {
		t.Errorf("error %v", err)
	}

	h := heatmap{low: -1, high: 3}
	if fill, text := h.colours(-1); fill.R != 248 || text != ink {
		t.Errorf("the least value is %v on %v", text, fill)
	}
	if fill, text := h.colours(3); fill != palette[0] || text.R != 255 {
		t.Errorf("the largest value is %v on %v", text, fill)
	}
	if fill, _ := h.colours(math.NaN()); fill != rule {
		t.Errorf("NaN is %v", fill)
	}
	if fill, _ := (&heatmap{high: 0}).colours(0); fill.R != 248 {
		t.Errorf("a matrix of zeros is %v", fill)
	}
	for want, draw := range map[string]func() error{
		"at least one row":                  func() error { return Heatmap(&bytes.Buffer{}, "", nil, columns, nil) },
		"2 rows of values, but 3 labels":    func() error { return Heatmap(&bytes.Buffer{}, "", rows, columns, values[:2]) },
		"2 values in row z0, but 3 columns": func() error { return Heatmap(&bytes.Buffer{}, "", rows, columns, [][]float64{{1, 2}, {1}, {2}}) },
	} {
		if err := draw(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

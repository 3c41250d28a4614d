package report

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"github.com/unravel-ml/unravel/internal/colours"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// growing returns a matrix with values that grow along rows and columns.
func growing(n, k int) (rows, columns []string, values [][]float64) {
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
	long.NotShort(t)
	for _, size := range [][2]int{{1, 1}, {10, 5}, {1000, 6}, {5, 300}} {
		rows, columns, values := growing(size[0], size[1])
		show(t, fmt.Sprintf("heatmap %d x %d", size[0], size[1]), func(w io.Writer) error {
			h := Heat{Title: "mutual information", Rows: rows, Columns: columns, Values: values, RowTitle: "code column",
				ColumnTitle: "factor", Unit: "nats"}
			return h.WritePNG(w)
		})
	}
	rows, columns, values := growing(3, 3)
	rows[1], columns[2] = "a code column with a long name", "a factor with a name that is as long"
	values[0] = []float64{math.NaN(), math.Inf(1), -math.MaxFloat64}
	values[2][2] = math.MaxFloat64
	show(t, "heatmap strange", func(w io.Writer) error { return (&Heat{Rows: rows, Columns: columns, Values: values}).WritePNG(w) })

	for _, n := range long.Sample([]int{5, 1000, 60}, 2) {
		rows, columns, values := growing(n, 5)
		plain := show(t, fmt.Sprint("heatmap without frames ", n), func(w io.Writer) error {
			return (&Heat{Title: "chosen", Rows: rows, Columns: columns, Values: values}).WritePNG(w)
		})
		framed := show(t, fmt.Sprint("heatmap with frames ", n), func(w io.Writer) error {
			return (&Heat{Title: "chosen", Rows: rows, Columns: columns, Values: values, Framed: []int{0, 2, 3, n / 2, n - 1}}).WritePNG(w)
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
	must.Error(t, (&Heat{Rows: rows, Columns: columns, Values: [][]float64{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}},
		Framed: []int{3}}).WritePNG(&bytes.Buffer{}), "a frame around row 3 of 3")

	light := &colours.Light
	for _, test := range []struct {
		values []float64
		signed bool
		want   []color.RGBA // of the values
	}{
		{[]float64{0, 2, math.NaN()}, false, []color.RGBA{light.Sequential(0), light.Sequential(1), light.Missing}},
		{[]float64{-1, 0, 2}, false, []color.RGBA{light.Diverging(-0.5), light.Diverging(0), light.Diverging(1)}},
		{[]float64{0.5, 0, 1}, true, []color.RGBA{light.Diverging(0.5), light.Diverging(0), light.Diverging(1)}},
		{[]float64{0, 0}, false, []color.RGBA{light.Sequential(0), light.Sequential(0)}},
	} {
		h := &Heat{Rows: []string{"z0"}, Columns: make([]string, len(test.values)), Values: [][]float64{test.values}, Signed: test.signed}
		m := must.Get(h.heatmap())(t)
		for i, v := range test.values {
			must.Equal(t, m.colour(v), test.want[i], test.values, v)
		}
	}
	for want, draw := range map[string]func() error{
		"at least one row": func() error { return (&Heat{Columns: columns}).WritePNG(&bytes.Buffer{}) },
		"2 rows of values, but 3 labels": func() error {
			return (&Heat{Rows: rows, Columns: columns, Values: values[:2]}).WritePNG(&bytes.Buffer{})
		},
		"2 values in row z0, but 3 columns": func() error {
			return (&Heat{Rows: rows, Columns: columns, Values: [][]float64{{1, 2}, {1}, {2}}}).WritePNG(&bytes.Buffer{})
		},
	} {
		must.Error(t, draw(), want)
	}
}

// Cells show their numbers up to 24 rows and columns. Numbers have two digits, or all digits before the point.
func TestHeatNumbers(t *testing.T) {
	for _, c := range []struct {
		rows, columns int
		written       bool
	}{{1, 1, true}, {24, 24, true}, {25, 24, false}, {24, 25, false}} {
		h := Heat{Rows: slices.Repeat([]string{"r"}, c.rows), Columns: slices.Repeat([]string{"c"}, c.columns)}
		for range c.rows {
			h.Values = append(h.Values, slices.Repeat([]float64{0.123}, c.columns))
		}
		m := must.Get(h.heatmap())(t)
		var pen recorder.Canvas
		m.draw(draw.NewCanvas(&pen, 20*vg.Inch, 20*vg.Inch))
		n := 0
		for _, a := range pen.Actions {
			if text, ok := a.(*recorder.FillString); ok && text.String == "0.12" {
				n++
			}
		}
		want := 1 // at the end of the colour bar
		if c.written {
			want += c.rows * c.columns
		}
		must.Equal(t, n, want, "numbers in", c.rows, "rows", c.columns, "columns")
	}
	for v, want := range map[float64]string{0: "0", 0.126: "0.13", -1.26: "-1.3", 12.6: "13", 99.4: "99", 99.5: "100",
		-99.6: "-100", 12345.6: "12346", 99999.4: "99999", 99999.5: "1e+05", math.NaN(): "–", math.Inf(1): "+Inf"} {
		must.Equal(t, cellNumber(v), want, v)
	}
}

// Sorted rows follow the column of their largest absolute value, and frames follow their rows.
func TestHeatmapSort(t *testing.T) {
	rows := []string{"a", "b", "c", "d", "e"}
	h := Heat{Title: "t", ColumnTitle: "factor", Rows: rows, Columns: []string{"x", "y"}, Sort: true, Framed: []int{0, 3},
		Values: [][]float64{{0, math.NaN()}, {1, -3}, {-2, 2}, {1, 4}, {3, math.Inf(1)}}}
	m, err := h.heatmap()
	must.OK(t, err)
	if got := strings.Join(m.Rows, " "); got != "e c d b a" || m.Values[3][1] != -3 ||
		!slices.Equal(m.Framed, []int{2, 4}) || m.Title != "t, sorted by the factor that they follow" {
		t.Errorf("rows %s, values %v, frames %v, title %q", got, m.Values, m.Framed, m.Title)
	}
	if h.Rows[0] != "a" || h.Title != "t" {
		t.Error("the heatmap's input has changed")
	}
	h.Values = [][]float64{{1, 0}, {0.5, 0}, {0, 1}, {0, 0}, {0, 0}}
	if m, err = h.heatmap(); err != nil || m.Title != "t" || !slices.Equal(m.Rows, rows) {
		t.Errorf("rows in order: %v, title %q, %v", m.Rows, m.Title, err)
	}
	h.Values = slices.Repeat([][]float64{{math.NaN(), math.NaN()}}, 5)
	if m, err = h.heatmap(); err != nil || m.low != 0 || m.high != 1 {
		t.Errorf("no numbers: %v to %v, %v", m.low, m.high, err)
	}
}

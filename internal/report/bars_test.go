package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestBars(t *testing.T) {
	long.NotShort(t)
	for _, size := range [][2]int{{1, 1}, {5, 10}, {7, 24}} {
		var labels []string
		var panels []BarPanel
		for i := range size[1] {
			labels = append(labels, fmt.Sprint("z", 37*i))
		}
		for j := range size[0] {
			p := BarPanel{Name: fmt.Sprint("factor ", j)}
			for i := range labels {
				p.Values = append(p.Values, math.Abs(math.Sin(float64(i*j+i)))*math.Pow(10, float64(j-2)))
			}
			panels = append(panels, p)
		}
		show(t, fmt.Sprintf("bars %d x %d", size[0], size[1]), func(w io.Writer) error {
			return Bars(w, BarOptions{Title: "variance", X: "code column"}, labels, panels)
		})
	}
	show(t, "bars strange", func(w io.Writer) error {
		return Bars(w, BarOptions{Y: "y"}, []string{"a", "b", "c"},
			[]BarPanel{{"none", []float64{0, 0, 0}}, {"strange", []float64{math.NaN(), math.Inf(1), -3}}, {"tiny", []float64{1e-30, 0, 2e-30}}})
	})
	for want, draw := range map[string]func() error{
		"at least one panel": func() error { return Bars(&bytes.Buffer{}, BarOptions{}, []string{"a"}, nil) },
		`1 values in panel "p", but 2 labels`: func() error {
			return Bars(&bytes.Buffer{}, BarOptions{}, []string{"a", "b"}, []BarPanel{{"p", []float64{1}}})
		},
	} {
		must.Error(t, draw(), want)
	}
}

package report

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/raster"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/rundir"
)

// hostile lists names that break pages unless they are escaped.
var hostile = []string{
	`</script><script>console.error("broken")</script>`, `"'><img src=x onerror=console.error(1)>`, "\u202eedoc\u05d0\u05d1\u05d2", strings.Repeat("longname", 40),
	"🦩\u200d🎨 <!-- -->", "{{.Title}} ${1} \\u003c", "",
}

// save writes a page to a file and returns its address.
func save(t *testing.T, p Page) string {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, WritePage(&b, p))
	path := must.Write(t, filepath.Join(t.TempDir(), "report.html"), b.Bytes())
	return browser.File(path)
}

// trained is the log of a run with some epochs.
func trained(epochs int) (log []rundir.Line) {
	for e := range epochs {
		log = append(log, rundir.Line{Epoch: e + 1,
			Losses: rundir.Losses{"main": {"loss": 3 / float64(e+1), "kl": float64(e)}}, Metrics: map[string]float64{"mig": float64(e) / 20}})
	}
	return log
}

// coded returns a sample of a moving square with codes. The codes are two circles for the two angles, followed by
// columns of noise up to a width. Some levels are unknown.
func coded(t *testing.T, width int, names []string) (in *metrics.Input, d datasets.Dataset, rows []int, spaces []models.Space) {
	t.Helper()
	d = must.Get((&drawn.Square{Size: 32, Side: 8, Step: 1}).Build(0))(t)
	factors := append(d.Factors()[:2:2], factor.Factor{Name: "corner", Kind: factor.Categorical, Size: 3})
	for i, n := range names {
		factors[i%3].Name = n
	}
	rows = PageRows(d.Len(), width)
	in = &metrics.Input{Factors: factors, Codes: matrix.Matrix{Rows: len(rows), Cols: width}}
	levels := make([]int, 2)
	for i, row := range rows {
		d.FactorsAt(row, levels)
		corner := (levels[0]/16 + levels[1]/16) % 3
		if i%10 == 0 {
			corner = factor.Unknown
		}
		in.Levels = append(in.Levels, levels[0], levels[1], corner)
		a, b := 2*math.Pi*float64(levels[0])/32, 2*math.Pi*float64(levels[1])/32
		code := []float64{math.Cos(a), math.Sin(a), math.Cos(b), math.Sin(b)}
		for c := 4; c < width; c++ {
			code = append(code, math.Sin(float64(i*(c+1))))
		}
		in.Codes.Data = append(in.Codes.Data, code[:width]...)
	}
	if width >= 4 {
		spaces = []models.Space{{Name: "sphere", Width: 2, Circle: true}, {Name: "sphere", First: 2, Width: 2, Circle: true}}
	}
	return in, d, rows, spaces
}

// wholePage is a page with all parts except a decoder.
func wholePage(t *testing.T, width int, names []string) Page {
	t.Helper()
	in, d, rows, spaces := coded(t, width, names)
	p := Page{Title: "a run", Config: "name: a run\n", Command: "unravel train config.yaml --run again",
		Notes:   []string{"Training has not converged."},
		Summary: []Fact{{"model", "vae"}, {"machine", "linux/amd64, avx512 kernels, 1 thread of 2 cores"}, {"took", "3.0 s"}},
		Curves:  RunCurves(nil, trained(20)),
		Metrics: []metrics.Result{{Name: "mig", Value: 0.12346, Better: metrics.HigherIsBetter,
			Parts: []metrics.Part{{Name: "per_factor", Labels: []string{"row"}, Values: []float64{0.5}},
				{Name: "completeness_gap", Labels: []string{"z0"}, Values: []float64{0.5}}}}},
		Figures: []Figure{{Name: "losses", Caption: "Losses.", PNG: dot(t)}, {Name: "other", Caption: "Others.", PNG: dot(t)}}}
	for i, n := range names {
		p.Title += n
		p.Config += n + "\n"
		p.Command += " " + n
		p.Summary = append(p.Summary, Fact{n, n})
		p.Notes = append(p.Notes, n)
		p.Metrics = append(p.Metrics,
			metrics.Result{Name: n, Notes: []string{n}, Parts: []metrics.Part{{Name: n, Labels: []string{n}, Values: []float64{1}}},
				Grids: []metrics.Grid{{Name: n, Rows: []string{n, "b"}, Columns: names,
					Values: [][]float64{signed(len(names), i), signed(len(names), i+1)}}}})
		p.Figures = append(p.Figures, Figure{Name: n, Caption: n, PNG: dot(t)})
		log := trained(3)
		for e := range log {
			log[e].Losses = rundir.Losses{n: {n: 1, "b" + n: 2}}
		}
		p.Curves.Panels = append(p.Curves.Panels, RunCurves(nil, log).Panels...)
	}
	var err error
	if p.Codes, err = PageCodes(in, d, rows, nil, spaces); err == nil {
		p.Heat, err = PageHeat(t.Context(), in, p.Metrics)
	}
	must.OK(t, err)
	for i := 0; len(names) > 0 && i < len(rows); i++ {
		p.Codes.Names = append(p.Codes.Names, names[i%len(names)])
	}
	return p
}

// signed returns numbers of both signs, and a NaN.
func signed(n, from int) (list []float64) {
	for i := range n {
		list = append(list, math.Cos(float64(from+i)))
	}
	list[n-1] = math.NaN()
	return list
}

// dot is a picture of one pixel.
func dot(t *testing.T) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 1, 1))
	img.SetRGBA(0, 0, color.RGBA{200, 100, 0, 255})
	var b bytes.Buffer
	must.OK(t, raster.WritePNG(&b, img))
	return b.Bytes()
}

// canvases is a script that returns the pictures of a section's canvases.
func canvases(section string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#%s canvas")].map((c) => c.toDataURL()).join()`, section)
}

package report

import (
	"errors"
	"io"
	"testing"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/hierarchy"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/rundir"
)

// codesOfGrid are codes of 6 x 6 images with a circular and an ordinal factor: a circle and two coordinates.
func codesOfGrid() *metrics.Input {
	in := &metrics.Input{Codes: metrics.Matrix{Rows: 36, Cols: 4}, Factors: []factor.Factor{
		{Name: "turn", Size: 6, Kind: factor.Circular}, {Name: "size", Size: 6, Kind: factor.Ordinal}}}
	for i := range 36 {
		turn, size := i/6, i%6
		x, y := []float64{1, .5, -.5, -1, -.5, .5}[turn], []float64{0, .87, .87, 0, -.87, -.87}[turn]
		in.Codes.Data = append(in.Codes.Data, x, y, float64(size), float64(turn*size))
		in.Levels = append(in.Levels, turn, size)
	}
	return in
}

// Figures are drawn from data alone, and nothing is where they do not apply.
func TestFromData(t *testing.T) {
	in := codesOfGrid()
	grey := Decoder{Height: 4, Width: 4, Channels: 1, Decode: func(codes []float32) ([]float32, error) { return make([]float32, len(codes)/4*16), nil }}
	log := []rundir.Line{{Epoch: 1, Losses: rundir.Losses{"all": {"loss": 3}}}, {Epoch: 1, Metrics: map[string]float64{"mig": 1}}, {Epoch: 2, Losses: rundir.Losses{"all": {"loss": 2}}}}
	names := []LossNames{{Objective: "all", Names: []string{"loss"}}}
	for name, figure := range map[string]func(w io.Writer) error{
		"torus":      func(w io.Writer) error { return LatentTorus(w, "torus", in, []int{0}) },
		"codes":      func(w io.Writer) error { return TrainedCodes(w, "codes", in.Codes, in) },
		"histograms": func(w io.Writer) error { return CodeHistograms(w, "histograms", in) },
		"circles":    func(w io.Writer) error { return CodeTraversals(w, in.Codes.Row(0), []int{0}, nil, grey) },
		"traversals": func(w io.Writer) error { return CodeTraversals(w, in.Codes.Row(0), nil, nil, grey) },
		"paths":      func(w io.Writer) error { return PathTraversals(w, in.Codes, make(hierarchy.Hierarchy, 4), grey) },
		"losses":     func(w io.Writer) error { return LossCurves(w, "losses", names, log) },
	} {
		show(t, name, figure)
	}
	for name, nothing := range map[string]error{
		"no circle":  LatentTorus(failing{}, "", in, nil),
		"no epoch":   LossCurves(failing{}, "", names, log[1:2]),
		"one column": TrainedCodes(failing{}, "", metrics.Matrix{}, &metrics.Input{Codes: metrics.Matrix{Rows: 1, Cols: 1, Data: []float64{0}}}),
	} {
		if nothing != nil {
			t.Errorf("%s: %v", name, nothing)
		}
	}
	broken := errors.New("broken")
	grey.Decode = func([]float32) ([]float32, error) { return nil, broken }
	if err := CodeTraversals(io.Discard, in.Codes.Row(0), nil, nil, grey); !errors.Is(err, broken) {
		t.Errorf("a decoder that fails: %v", err)
	}
}

// failing refuses to be written to.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("something is drawn") }

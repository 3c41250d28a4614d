package models

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses"
)

// Views holds the settings that all models of two views per image have in common. Their code is the output of the
// encoder. A network that encodes both views of n images gets 2n images: first all first views, then all second views.
// Batch norm computes the statistics of each half separately, as if each half ran alone.
type Views struct {
	Encoder nn.EncoderChoice `yaml:"encoder" doc:"network from images to codes"`
}

// The views whose codes losses can use.
const (
	bothViews  = "both"
	firstView  = "first"
	secondView = "second"
)

// CodeViews selects the views of a two-view model whose codes are passed to losses.
type CodeViews struct {
	Of string `yaml:"code_views" doc:"views for losses on codes: both (two rows for each image), first or second"`
}

func (c *CodeViews) Validate() error {
	if names := []string{bothViews, firstView, secondView}; !slices.Contains(names, c.Of) {
		return config.Invalid("code_views", "unknown views %q%s", c.Of, registry.Suggest(c.Of, names))
	}
	return nil
}

// rows returns the codes of the selected views; codes holds both views.
func (c CodeViews) rows(codes *gorgonia.Node) (*gorgonia.Node, error) {
	n := codes.Shape()[0] / 2
	switch c.Of {
	case firstView:
		return graph.SliceRows(codes, 0, n)
	case secondView:
		return graph.SliceRows(codes, n, 2*n)
	}
	return codes, nil
}

// normedEncoder returns the default encoder of two-view models: conv64-norm with a kind of normalisation.
func normedEncoder(norm string) nn.EncoderChoice {
	e := nn.NewNormedEncoder()
	e.Norm = norm
	return nn.EncoderChoice{Name: "conv64-norm", Value: e}
}

// Momentum is the weight of an EMA target in its own update; see [nn.Average].
type Momentum struct {
	Base     float64 `yaml:"base" doc:"weight of the target in its own update, 0 to 1"`
	Schedule string  `yaml:"schedule" doc:"constant, or cosine: from base to 1 at the end of training"`
}

// The schedules of momentum.
const (
	constantMomentum = "constant"
	cosineMomentum   = "cosine"
)

func (m *Momentum) Validate() error {
	if !(m.Base >= 0 && m.Base <= 1) {
		return config.Invalid("base", "%v is out of range; want 0 to 1", m.Base)
	}
	if names := []string{constantMomentum, cosineMomentum}; m.Schedule != names[0] && m.Schedule != names[1] {
		return config.Invalid("schedule", "unknown schedule %q%s", m.Schedule, registry.Suggest(m.Schedule, names))
	}
	return nil
}

// At returns the momentum at a progress of training from 0 to 1. If it is constant, it is base. With the cosine
// schedule it returns 1 - (1 - base)(1 + cos(pi progress))/2 (Grill et al. 2020, section 3.2).
func (m Momentum) At(progress float64) float64 {
	if m.Schedule == constantMomentum {
		return m.Base
	}
	return 1 - (1-m.Base)*(1+math.Cos(math.Pi*min(max(progress, 0), 1)))/2
}

// paced reports whether the momentum changes with the progress of training.
func (m Momentum) paced() bool { return m.Schedule != constantMomentum }

// twoViews is shared by all two-view models.
type twoViews struct {
	base
	target *nn.Average // nil until the model's graphs exist
}

// targetPrefix is the prefix of the parameter names of EMA targets.
const targetPrefix = "target/"

// materialise builds a model's graphs once to create all its parameters, and copies parameters to their EMA targets.
func (m *twoViews) materialise(model Model) error {
	g := nn.NewGraph(m.params)
	images, err := m.images(g, 1)
	if err != nil {
		return err
	}
	codes, err := model.Encode(g, images)
	if err != nil {
		return fmt.Errorf("encoder: %w", err)
	}
	m.width = codes.Shape()[1]
	g = nn.NewGraph(m.params)
	g.Training = true
	if _, err := model.Build(g, model.Objectives()[0], 2, 1); err != nil {
		return err
	}
	if m.target, err = nn.NewAverage(m.params, targetPrefix); err != nil {
		return err
	}
	m.target.Step(0)
	return nil
}

// emaTargets returns the EMA targets for the parameters of a graph without frozen parameters. It is nil until the
// model's graphs exist.
func (m *twoViews) emaTargets(g *nn.Graph, momentum Momentum) *Targets {
	switch {
	case m.target == nil:
		return nil
	case g.Frozen == nil:
		return &Targets{m.target, momentum.At}
	}
	return &Targets{m.target.Without(g.Frozen), momentum.At}
}

// Started implements Starter. The target of a loaded parameter starts as a copy of it.
func (m *twoViews) Started(taken func(name string) bool) []string {
	return nn.CopyTargets(m.params, targetPrefix, taken)
}

var _ Starter = (*twoViews)(nil)

func (m *twoViews) Encode(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	return m.features(g, images)
}

// inputs adds the views of n images: all of them, [2n, H, W, C], and each half.
func (m *twoViews) inputs(g *nn.Graph, n int) (both *gorgonia.Node, each []*gorgonia.Node, err error) {
	if both, err = g.Input("views", 2*n, m.data.Height, m.data.Width, m.data.Channels); err != nil {
		return nil, nil, err
	}
	each, err = g.Parts(both, 2)
	return both, each, err
}

// SpreadName is the log key of the collapse diagnostic: sqrt(d) times the mean standard deviation of the d columns of
// L2-normalised codes. It is 0 for collapsed codes and about 1 for uniform ones. metrics.CodeSpread measures codes.
const SpreadName = "spread"

// program wraps the outputs of a two-view model. Losses on codes get lossCodes, a subset of the rows of codes.
func (m *twoViews) program(inputs []*gorgonia.Node, codes, lossCodes *gorgonia.Node, views *losses.Views) (*Program, error) {
	spread, err := codeSpread(codes)
	if err != nil {
		return nil, err
	}
	return &Program{Outputs: &losses.Outputs{Codes: lossCodes, Sample: lossCodes, Views: views,
		Rows: lossCodes.Shape()[0]},
		Views: inputs, Logged: []Logged{{SpreadName, spread}}}, nil
}

// layers is a network of dense layers. Batch norm and ReLU follow each layer but the last.
type layers struct {
	widths []int
	bias   bool // the layers have biases
	norm   bool // normalise the last layer too, without learned scale and offset
}

// build applies the network to the rows of x.
func (l layers) build(g *nn.Graph, x *gorgonia.Node, name string) (*gorgonia.Node, error) {
	var err error
	last := len(l.widths) - 1
	for i, width := range l.widths {
		if x, err = nn.DenseFanIn(g, x, fmt.Sprintf("%s/dense%d", name, i+1), width, l.bias); err != nil {
			return nil, err
		}
		if i == last && !l.norm {
			return x, nil
		}
		if x, err = nn.Norm(g, x, fmt.Sprintf("%s/norm%d", name, i+1), nn.NormOptions{Kind: nn.BatchNorm, ReLU: i < last, Plain: i == last}); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func validWidth(key string, n int) error { return validRange(key, n, 1, 1<<16) }

// codeSpread measures whether codes [rows, d] have collapsed. It takes the standard deviation over the rows of each
// column of codes/|codes|, averages it over the columns, and multiplies by sqrt(d). The result is 0 if all codes point
// in one direction, and about 1 if their directions are uniform. It has no gradient.
//
// Source: Chen and He 2021, section 4.1.
func codeSpread(codes *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "spread",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			_, _, err := graph.Matrix("codes", in[0])
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(codeSpreadFunc[float32], codeSpreadFunc[float64]),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, columns := in[0][0], in[0][1]
			return graph.Recording{Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.Spread(t, in[0], out, rows, columns)
			}}, nil
		},
		Diff: []bool{false},
	}, codes)
}

// minNorm is the smallest divisor for the norm of a row.
const minNorm = 1e-12

func codeSpreadFunc[T graph.Float](s []tensor.Shape) forward[T] {
	rows, columns := s[0][0], s[0][1]
	mean, square := make([]float64, columns), make([]float64, columns)
	return func(in [][]T, out []T) {
		clear(mean)
		clear(square)
		for i := range rows { // Welford's algorithm: equal rows have a deviation of exactly 0
			x := in[0][i*columns : (i+1)*columns]
			scale, weight := 1/max(math.Sqrt(numeric.Square(x)), minNorm), 1/float64(i+1)
			for c, v := range x {
				unit := float64(v) * scale
				d := unit - mean[c]
				mean[c] += d * weight
				square[c] += d * (unit - mean[c])
			}
		}
		sum := 0.0
		for _, s := range square {
			sum += math.Sqrt(math.Max(s, 0) / float64(rows))
		}
		out[0] = T(sum / math.Sqrt(float64(columns)))
	}
}

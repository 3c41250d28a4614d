package models

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// energyOf reads settings of ice-beem.
func energyOf(t testing.TB, text string) *ICEBeeM {
	t.Helper()
	s := NewICEBeeM()
	must.OK(t, config.Load("ice-beem", []byte(text), s))
	return s
}

// matched is a program for ice-beem with score matching.
type matched struct {
	graph  *nn.Graph
	total  *gorgonia.Node
	names  []string
	grads  gorgonia.Nodes
	labels *gorgonia.Node
	asked  losses.Requests
	images *gorgonia.Node
}

// match builds score matching on n images.
func match(m Model, n int, sigma float64, factors []factor.Factor) (*matched, error) {
	p := &matched{graph: nn.NewGraph(m.Params())}
	p.graph.Training = true
	built, err := m.Build(p.graph, m.Objectives()[0], n, 1)
	if err != nil {
		return nil, err
	}
	p.asked, p.images = losses.Requests{Graph: p.graph}, built.Outputs.Images
	batch := losses.Batch{Group: 1}
	if factors != nil {
		batch.Labels = &losses.Labels{Factors: factors, Values: func(losses.Units) (values, known *gorgonia.Node, err error) {
			if p.labels == nil {
				p.labels, err = p.graph.Input("labels", n, len(factors))
			}
			return p.labels, p.labels, err
		}}
	}
	o, err := losses.Compose(built.Outputs, batch, &p.asked,
		[]losses.Choice{{Name: "score-matching", Value: &losses.ScoreMatchingLoss{Weight: losses.Constant(1), Sigma: sigma, Dequantise: true}}})
	if err != nil {
		return nil, err
	}
	p.total = o.Total
	var nodes gorgonia.Nodes
	if p.names, nodes, err = p.graph.Reached(o.Total); err != nil {
		return nil, err
	}
	p.grads, err = gorgonia.Grad(o.Total, nodes...)
	return p, err
}

// fill draws images and noise.
func (p *matched) fill(stream string) {
	r := rng.New(1, stream)
	for i := range nn.Data(p.images) {
		nn.Data(p.images)[i] = r.Float32()
	}
	for _, n := range p.asked.Noises {
		n.Fill(r)
	}
	for _, m := range p.graph.Masks() {
		m.Fill(r)
	}
}

// run computes the loss and its gradients.
func (p *matched) run(t testing.TB) (value float64, grads [][]float32) {
	t.Helper()
	m, err := machine.New(p.total.Graph(), append(slices.Clone(p.grads), p.total)...)
	if err == nil {
		err = m.RunAll()
	}
	must.OK(t, err)
	for _, g := range p.grads {
		grads = append(grads, slices.Clone(m.Value(g).Data().([]float32)))
	}
	return float64(m.Value(p.total).Data().(float32)), grads
}

// For smooth encoders the gradient is the slope of the loss, in the single precision of networks. (With relu the
// slope of the energy jumps with the parameters.)
func TestScoreMatchingSlopes(t *testing.T) {
	for name, encoder := range map[string]string{
		"mlp":      "{mlp: {hidden: [12, 9], activation: tanh}}",
		"conv64":   "{conv64: {features: 16, activation: softplus}}",
		"layers":   "{layers: [{conv: {channels: 6, kernel: 3, activation: gelu}}, {norm: layer}, {pool: average}, {residual: {channels: 8, norm: group, activation: softplus}}, {dropout: 0.3}, {pool: {to: 1}}, {dense: {units: 7, activation: silu}}]}",
		"instance": "{layers: [{conv: {channels: 6, stride: 2, activation: softplus}}, {norm: instance}, {activation: elu}, {dense: 9}]}",
	} {
		t.Run(name, func(t *testing.T) {
			m, err := energyOf(t, "{width: 4, encoder: "+encoder+"}").New(Data{Height: 16, Width: 16, Channels: 1,
				Factors: []factor.Factor{row, column}}, 1)
			must.OK(t, err)
			p := must.Get(match(m, 6, 0.5, nil))(t)
			p.fill("slopes")
			for _, n := range m.Params().Names() { // with larger energies, their part of the loss exceeds rounding errors
				for i := range m.Params().Get(n).Float32s() {
					m.Params().Get(n).Float32s()[i] *= 1.5
				}
			}
			value, grads := p.run(t)
			length := 0.0
			for _, g := range grads {
				for _, v := range g {
					length += float64(v) * float64(v)
				}
			}
			length = math.Sqrt(length)
			best := math.Inf(1)
			for _, step := range []float64{1e-3, 3e-3, 1e-2, 3e-2} {
				sides := [2]float64{}
				for side, by := range []float64{step, -2 * step} {
					for i, n := range p.names {
						for j, v := range grads[i] {
							m.Params().Get(n).Float32s()[j] += float32(by * float64(v) / length)
						}
					}
					sides[side], _ = p.run(t)
				}
				for i, n := range p.names {
					for j, v := range grads[i] {
						m.Params().Get(n).Float32s()[j] += float32(step * float64(v) / length)
					}
				}
				if slope := (sides[0] - sides[1]) / (2 * step); math.Abs(slope-length) < math.Abs(best-length) {
					best = slope
				}
			}
			if !(math.Abs(best-length) <= 0.03*length) || !(length > 1e-4*value) {
				t.Errorf("the loss %v has the slope %v along a gradient of length %v; want the same", value, best, length)
			}
		})
	}
}

// At the start the energy hardly depends on the image, and the loss is half the mean squared noise: sigma^2 HWC/2.
func TestScoreMatchingStart(t *testing.T) {
	for channels, want := range map[int]float64{1: 0.2048, 3: 0.6144} {
		m := must.Get(NewICEBeeM().New(Data{Height: 64, Width: 64, Channels: channels}, 1))(t)
		p := must.Get(match(m, 8, 0.01, nil))(t)
		p.fill("start")
		if value, _ := p.run(t); !(math.Abs(value-want) <= 0.03*want) {
			t.Errorf("%d channels: the loss starts at %v; want about %v", channels, value, want)
		}
	}
}

// Only labelled images count. g is the sum of the vectors of an image's labels, and training changes only these
// vectors.
func TestConditions(t *testing.T) {
	s := energyOf(t, "{width: 4, encoder: {mlp: {hidden: [9], activation: tanh}}, conditions: [column, object]}")
	factors := []factor.Factor{object, row, column}
	m := newModel(t, s, data(factors...), 1)
	at := func(n int, labels ...float32) (value float64, table []float32, p *matched) {
		t.Helper()
		p = must.Get(match(m, n, 0.5, factors))(t)
		copy(nn.Data(p.labels), labels)
		p.fill("conditions")
		value, grads := p.run(t)
		return value, grads[slices.Index(p.names, "condition/weight")], p
	}
	weights := m.Params().Get("condition/weight")
	if got := weights.Shape(); !slices.Equal([]int(got), []int{8 + 3, 4}) {
		t.Fatalf("g has the shape %v; want a row for each of 8 columns and 3 objects", got)
	}
	// object, row, column of four images. The second image lacks its object, and the third has the number of a
	// similar pair.
	labels := []float32{2, 1, 5, -1, 1, 5, 1, 1, 8, 0, -1, 0}
	value, table, _ := at(4, labels...)
	trained := map[int]bool{5: true, 8 + 2: true, 0: true, 8: true}
	for level := range 11 {
		if moves := slices.ContainsFunc(table[4*level:4*level+4], func(v float32) bool { return v != 0 }); moves != trained[level] {
			t.Errorf("row %d of g has a gradient: %v; want %v", level, moves, trained[level])
		}
	}
	// Unlabelled images do not change the value or the gradient.
	again, _, p := at(4, labels...)
	copy(nn.Data(p.images)[64:3*64], make([]float32, 2*64))
	changed, _ := p.run(t)
	if again != value || changed != value {
		t.Errorf("the loss is %v, again %v, and %v with other unlabelled images; want the same", value, again, changed)
	}
	// Without labelled images, the loss and its gradient are 0.
	nothing, still, _ := at(4, -1, 0, 0, -1, 0, 0, 0, 0, -1, 0, 0, -1)
	if nothing != 0 || slices.ContainsFunc(still, func(v float32) bool { return v != 0 }) {
		t.Errorf("without labels the loss is %v and the gradient %v; want 0", nothing, still)
	}
	// The slope of the loss in the table of vectors.
	w := weights.Float32s()
	const step = 0.02
	for _, i := range []int{4*5 + 1, 4 * 10, 3} {
		held := w[i]
		w[i] = held + step
		up, _, _ := at(4, labels...)
		w[i] = held - step
		down, _, _ := at(4, labels...)
		w[i] = held
		if got, want := (up-down)/(2*step), float64(table[i]); !(math.Abs(got-want) <= 0.02*math.Abs(want)+2e-5) {
			t.Errorf("element %d of g: slope %v; want %v", i, got, want)
		}
	}
}

func TestEnergyRefusals(t *testing.T) {
	images := Data{Height: 16, Width: 16, Channels: 1, Factors: []factor.Factor{row, column}}
	for _, c := range []struct{ settings, want string }{
		{"{encoder: {layers: [{conv: 4}, {norm: batch}, {dense: 5}]}}", "batch norm"},
		{"{encoder: {layers: [{conv: 4}, {norm: batch}, {dense: 5}]}}", "norm group, layer, instance or none"},
		{"{conditions: [row]}", "want a supervision with labels"},
	} {
		m, err := energyOf(t, c.settings).New(images, 1)
		must.OK(t, err)
		if _, err = match(m, 4, 0.1, nil); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "score-matching") {
			t.Errorf("%s: error %v; want one of score-matching with %q", c.settings, err, c.want)
		}
	}
	m, err := energyOf(t, "{conditions: [row]}").New(images, 1)
	must.OK(t, err)
	must.ErrorOf(match(m, 4, 0.1, []factor.Factor{column}))(t, "the labels lack the condition row; they have [column]")
	row := factor.Factor{Name: "row", Size: 99}
	must.ErrorOf(match(m, 4, 0.1, []factor.Factor{row}))(t, "the labels of the condition row have 99 levels; want ")
	must.ErrorOf(energyOf(t, "{conditions: [hue]}").New(images, 1))(t, `no label or factor "hue"; want one of [column row]`)
	labelled := images // labels of a factor that the data set lacks
	labelled.Labels = []factor.Factor{{Name: "hue", Size: 7}}
	hue := must.Get(energyOf(t, "{conditions: [hue]}").New(labelled, 1))(t)
	must.Equal(t, hue.Params().Get("condition/weight").Shape()[0], 7, "rows")
	for _, s := range []*ICEBeeM{{Width: 0}, {Width: 3, Conditions: []string{"a", "a"}}} {
		if s.Validate() == nil {
			t.Errorf("%+v is valid", s)
		}
	}
	if m, err = (&Encoder{Encoder: small(16).Encoder, Latent: 3}).New(images, 1); err != nil {
		t.Fatal(err)
	}
	must.ErrorOf(match(m, 4, 0.1, nil))(t,
		"it needs an energy of images, which this model does not have; want the model ice-beem", "an encoder")
}

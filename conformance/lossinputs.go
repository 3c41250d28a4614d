package conformance

import (
	"fmt"
	"math"
	"path"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Sizes of a losses.Example.
const exampleRows, exampleWidth, exampleGroup = 16, 6, 4

func exampleFactors() []factor.Factor {
	return []factor.Factor{{Name: "shape", Size: 3, Kind: factor.Categorical},
		{Name: "size", Size: 4, Kind: factor.Ordinal}, {Name: "angle", Size: 4, Kind: factor.Circular}}
}

// array is an array of an example.
type array struct {
	name     string
	shape    []int
	values   []float64
	constant bool // not a model output, so without a gradient
}

func arrays(x *losses.Example) []array {
	const n, d = exampleRows, exampleWidth
	return []array{
		{"images", []int{n, 2, 2, 1}, x.Images, true}, {"logits", []int{n, 2, 2, 1}, x.Logits, false},
		{"codes", []int{n, d}, x.Codes, false}, {"sample", []int{n, d}, x.Sample, false},
		{"log variance", []int{n, d}, x.LogVariance, false}, {"active", []int{n, d}, x.Active, true},
		{"means", []int{n, 3}, x.Means, false}, {"log sigmas", []int{n, 3}, x.LogSigmas, false},
		{"points", []int{n, 2}, x.Points, false}, {"moved", []int{n, 2}, x.Moved, false},
		{"options", []int{n, 2}, x.Options, false}, {"weights", []int{n, 2}, x.Weights, false},
		{"action angles", []int{4, 6}, x.ActionAngles, false}, {"predicted", []int{n, d}, x.Predicted, false},
		{"actions", []int{n, 4}, x.Actions, true},
		{"projections", []int{n, d}, x.Projections, false}, {"predictions", []int{n, d}, x.Predictions, false},
		{"targets", []int{n, d}, x.Targets, true},
		{"queries", []int{n / 2, d}, x.Queries, false}, {"keys", []int{n / 2, d}, x.Keys, false},
		{"negatives", []int{d, 10}, x.Negatives, true},
		{"energy", []int{4, d}, x.Energy, false},
		{"groups", []int{n, 3}, x.Groups, true}, {"values", []int{n, 3}, x.Values, true},
		{"levels", []int{n, 3}, x.Levels, true}, {"different", []int{n, 3}, x.Different, true},
		{"exact", []int{n, d}, x.Exact, true}, {"exact known", []int{n, d}, slices.Repeat([]float64{1}, n*d), true},
		{"angles", []int{n, 1}, x.Angles, true}, {"rotations", []int{n, 4}, x.Rotations, true},
	}
}

// drawExample draws an example. A few levels are unknown.
func drawExample(stream string) *losses.Example {
	r := rng.New(seed, "losses/"+stream)
	draw := func(n int, scale float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(float32(scale * r.NormFloat64()))
		}
		return x
	}
	part := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(float32(0.05 + 0.9*r.Float64()))
		}
		return x
	}
	const n, d = exampleRows, exampleWidth
	x := &losses.Example{Images: part(4 * n), Logits: draw(4*n, 1), Codes: draw(n*d, 1), Sample: draw(n*d, 1),
		LogVariance: draw(n*d, 0.5), Active: make([]float64, n*d),
		Means: draw(n*3, 1), LogSigmas: draw(n*3, 0.3), Points: draw(n*2, 0.5), Moved: draw(n*2, 0.5), Options: part(n * 2),
		Weights:     make([]float64, n*2),
		Projections: draw(n*d, 1), Predictions: draw(n*d, 1), Targets: draw(n*d, 1), Queries: draw(n/2*d, 0.4),
		Keys: draw(n/2*d, 0.4), Negatives: draw(d*10, 0.4),
		Groups: make([]float64, n*3), Values: make([]float64, n*3), Levels: make([]float64, n*3), Exact: draw(n*d, 1),
		Angles: draw(n, 2), Rotations: draw(n*4, 1)}
	w := rng.New(seed, "losses/weights/"+stream) // a separate stream leaves the other arrays unchanged
	for i := range x.Weights {
		x.Weights[i] = float64(float32(w.NormFloat64()))
	}
	for i := range x.Active {
		if i/d%3 == 0 || i%d < 3 { // three kinds of rows would leave too few rows per kind
			x.Active[i] = 1
		}
	}
	drawLevels(x, r)
	x.Different = differentRows(x.Levels)
	x.Energy = draw(4*d, 1)
	x.ActionAngles, x.Predicted, x.Actions = draw(4*6, 1), draw(n*d, 1), make([]float64, n*4)
	for row := range n {
		if row%exampleGroup > 0 {
			x.Actions[4*row+r.IntN(4)] = 1
		}
	}
	return x
}

// drawLevels draws the levels of an example, with their groups and values. Two levels are unknown.
func drawLevels(x *losses.Example, r *rng.Stream) {
	for row := range exampleRows {
		for k, f := range exampleFactors() {
			level, element := r.IntN(f.Size), 3*row+k
			x.Levels[element], x.Groups[element], x.Values[element] = float64(level), float64(level),
				float64(float32(float64(level)/float64(f.Size-1)))
			if f.Kind == factor.Circular {
				x.Values[element] = float64(level) / float64(f.Size)
			}
			if row == 5 && k == 0 || row == 11 && k == 1 {
				x.Levels[element], x.Groups[element], x.Values[element] = -1, -1, 0
			}
		}
	}
}

// differentRows pairs each row with the row half a batch away, if both levels are known and differ; -1: no pair.
func differentRows(levels []float64) []float64 {
	const n = exampleRows
	different := make([]float64, n*3)
	for element := range different {
		partner := (element/3 + n/2) % n
		different[element] = -1
		if a, b := levels[element], levels[3*partner+element%3]; a >= 0 && b >= 0 && a != b {
			different[element] = float64(partner)
		}
	}
	return different
}

// posterior is the Gaussian posterior of an example.
type posterior struct{ mean, logSigma *gorgonia.Node }

func (p posterior) KL() (*gorgonia.Node, error) { return losses.KLGaussian(p.mean, p.logSigma) }

// lossInput makes an input of the nodes of an example's arrays.
func lossInput(nodes map[string]*gorgonia.Node) *losses.Input {
	n := func(name string) *gorgonia.Node { return nodes[name] }
	nodeFunc := func(name string) func() (*gorgonia.Node, error) {
		return func() (*gorgonia.Node, error) { return nodes[name], nil }
	}
	return &losses.Input{
		Outputs: losses.Outputs{Rows: exampleRows, Images: n("images"), Logits: n("logits"), Codes: n("codes"),
			Sample: n("sample"), LogVariance: n("log variance"), Active: n("active"),
			ActionAngles: n("action angles"), Predicted: n("predicted"), Options: n("options"),
			Hierarchy:  hierarchy.Hierarchy{{}, {}, {}, {}, {}, {Options: []hierarchy.Hierarchy{{}, {{}}}}},
			Weights:    []*gorgonia.Node{n("weights")},
			Posteriors: []losses.Posterior{posterior{n("means"), n("log sigmas")}},
			Transports: []losses.Transport{{Points: n("points"), Moved: n("moved"), Sphere: true, Acts: true}},
			Views: &losses.Views{Projections: n("projections"), Predictions: n("predictions"), Targets: n("targets"),
				Queries: n("queries"), Keys: n("keys"), Negatives: n("negatives")},
			Energy: &losses.Energy{Columns: energyColumns(nodes["energy"])}},
		Batch: losses.Batch{Population: 100, Group: exampleGroup,
			Labels: &losses.Labels{Factors: exampleFactors(), Groups: nodeFunc("groups"), Different: nodeFunc("different"),
				Exact: func() (values, known *gorgonia.Node, err error) { return nodes["exact"], nodes["exact known"], nil },
				Values: func(losses.Units) (values, known *gorgonia.Node, err error) {
					return nodes["values"], nodes["levels"], nil
				}},
			Transformations: &losses.Transformations{Factors: exampleFactors(), Rotations: 1,
				Angles:   func(int) (*gorgonia.Node, error) { return nodes["angles"], nil },
				Rotation: func(int) (*gorgonia.Node, error) { return nodes["rotations"], nil }},
			Actions: nodeFunc("actions")},
		Trainer: &lossTrainer{node: nodes["codes"]},
		Name:    "loss",
	}
}

// energyColumns returns the columns tanh(x W) of images x.
func energyColumns(w *gorgonia.Node) func(images *gorgonia.Node) (*gorgonia.Node, error) {
	return func(images *gorgonia.Node) (*gorgonia.Node, error) {
		rows, err := graph.Flatten(images)
		if err != nil {
			return nil, err
		}
		if w.Dims() != 2 {
			return nil, fmt.Errorf("weights of shape %v; want [pixels, columns]", w.Shape())
		}
		bias := numbers(w.Graph(), w.Dtype(), "energy bias", func(int) float64 { return 0 }, w.Shape()[1])
		return layer.Dense(rows, w, bias, graph.Tanh)
	}
}

// exampleStep is the training step at which schedules are evaluated.
const exampleStep = 5

// lossTrainer serves the requests of losses, in the element type of a node. Schedules have their value at
// exampleStep, and discriminators have one small hidden layer.
type lossTrainer struct {
	node  *gorgonia.Node
	count int
}

func (t *lossTrainer) constant(name string, value func(i int) float64, shape ...int) *gorgonia.Node {
	t.count++
	return numbers(t.node.Graph(), t.node.Dtype(), fmt.Sprintf("%s %d", name, t.count), value, shape...)
}

func (t *lossTrainer) Schedule(name string, value func(step int) float64) (*gorgonia.Node, error) {
	return t.constant(name, func(int) float64 { return value(exampleStep) }, 1), nil
}

func (t *lossTrainer) Noise(name string, distribution losses.Distribution, shape ...int) (*gorgonia.Node, error) {
	r := rng.New(seed, path.Base(name)) // without the loss's name
	draw := r.NormFloat64
	if distribution == losses.Uniform {
		draw = r.Float64
	}
	return t.constant(name, func(int) float64 { return float64(float32(draw())) }, shape...), nil
}

func (t *lossTrainer) Discriminator(a losses.Adversary) (*gorgonia.Node, error) {
	return t.network("discriminator", "codes", a.Codes, a.Discriminator.Logits)
}

func (t *lossTrainer) Network(n losses.TrainedNetwork) (*gorgonia.Node, error) {
	return t.network("network", "arguments", n.Input, n.Out)
}

// network adds a network with a hidden layer of four units.
func (t *lossTrainer) network(stream, input string, x *gorgonia.Node, columns int) (*gorgonia.Node, error) {
	if x.Dims() != 2 {
		return nil, fmt.Errorf("%s of shape %v; want [rows, columns]", input, x.Shape())
	}
	r := rng.New(seed, stream)
	weight := func(int) float64 { return r.NormFloat64() / 2 }
	h, err := layer.Dense(x, t.constant("w", weight, x.Shape()[1], 4), t.constant("b", weight, 4), graph.Tanh)
	if err != nil {
		return nil, err
	}
	return layer.Dense(h, t.constant("v", weight, 4, columns), t.constant("c", weight, columns), graph.Linear)
}

func (*lossTrainer) Note(func() []string) {}

// numbers adds an input and sets its values.
func numbers(g *gorgonia.ExprGraph, dt tensor.Dtype, name string, value func(i int) float64, shape ...int) *gorgonia.Node {
	v := tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
	for i := range v.DataSize() {
		if dt == tensor.Float32 {
			v.Float32s()[i] = float32(value(i))
		} else {
			v.Float64s()[i] = value(i)
		}
	}
	return gorgonia.NewTensor(g, dt, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name),
		gorgonia.WithValue(v))
}

// arrayNodes adds an input for each array to a graph.
func arrayNodes(g *gorgonia.ExprGraph, dt tensor.Dtype, list []array) map[string]*gorgonia.Node {
	nodes := map[string]*gorgonia.Node{}
	for _, a := range list {
		nodes[a.name] = numbers(g, dt, a.name, func(i int) float64 { return a.values[i%len(a.values)] }, a.shape...)
	}
	return nodes
}

// hardExamples returns examples at kinks of losses, or with nothing to compare.
func hardExamples() map[string]*losses.Example {
	change := func(f func(x *losses.Example)) *losses.Example {
		x := drawExample("hard")
		f(x)
		return x
	}
	forOutputs := func(x *losses.Example, f func(a array)) {
		for _, a := range arrays(x) {
			if !a.constant {
				f(a)
			}
		}
	}
	labels := func(x *losses.Example, level func(row int) float64) {
		for _, a := range [][]float64{x.Groups, x.Levels} {
			for i := range a {
				a[i] = level(i / 3)
			}
		}
	}
	return map[string]*losses.Example{
		"all rows equal": change(func(x *losses.Example) {
			forOutputs(x, func(a array) {
				row := len(a.values) / a.shape[0]
				for i := range a.values {
					a.values[i] = a.values[i%row]
				}
			})
		}),
		"all outputs zero": change(func(x *losses.Example) { forOutputs(x, func(a array) { clear(a.values) }) }),
		"ties":             change(func(x *losses.Example) { forOutputs(x, func(a array) { round(a.values) }) }),
		"one row per group": change(func(x *losses.Example) {
			labels(x, func(row int) float64 { return float64(row % 3) })
			for i := range x.Groups {
				x.Groups[i] = float64(i / 3)
			}
		}),
		"one group": change(func(x *losses.Example) { labels(x, func(int) float64 { return 1 }); clear(x.Values) }),
		"no labels": change(func(x *losses.Example) { labels(x, func(int) float64 { return -1 }) }),
		"none differ": change(func(x *losses.Example) {
			for i := range x.Different {
				x.Different[i] = -1
			}
		}),
		"no actions":  change(func(x *losses.Example) { clear(x.Actions) }),
		"none active": change(func(x *losses.Example) { clear(x.Active) }),
	}
}

// round rounds numbers to 0 or 1.
func round(x []float64) {
	for i, v := range x {
		x[i] = 0
		if v > 0 {
			x[i] = 1
		}
	}
}

// usedInputs lists the named inputs that a node depends on.
func usedInputs(root *gorgonia.Node, nodes map[string]*gorgonia.Node) map[string]bool {
	used, ancestors := map[string]bool{}, root.Graph().ExactSubgraphRoots(root).AllNodes()
	for name, n := range nodes {
		if ancestors.Contains(n) {
			used[name] = true
		}
	}
	return used
}

// differs reports whether two numbers differ by more than rounding in float64.
func differs(a, b float64) bool {
	return !(math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)))
}

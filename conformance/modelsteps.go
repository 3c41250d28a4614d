package conformance

import (
	"fmt"
	"maps"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/models"
)

// trainedObjective is an objective of a model with an optimiser: plain gradient descent, which has no state.
type trainedObjective struct {
	model   models.Model
	program *models.Program
	graph   *nn.Graph
	group   int // images in a labelled group
	machine *machine.Machine
	total   *gorgonia.Node
	grads   gorgonia.Nodes
	weights []string
	early   *models.Early // for a model with a prelude
	updates int
}

// rate is the learning rate.
const rate = 0.05

// compile builds an objective for batches of n images in groups. Its loss pulls all outputs. Faults begin with a text.
func (x *modelCheck) compile(text string, m models.Model, o models.Objective, n, group int) *trainedObjective {
	names := m.Params().Names()
	g := nn.NewGraph(m.Params())
	g.Training = true
	p, err := m.Build(g, o, n, group)
	x.must(err, "%s", text)
	if p == nil || p.Outputs == nil || p.Outputs.Codes == nil || p.Outputs.Images == nil && p.Views == nil {
		x.fatal("%s: the program has no outputs, codes or inputs; want Outputs with Codes, and Images or Views", text)
	}
	if rows := p.Outputs.Codes.Shape()[0]; rows != p.Outputs.Rows {
		x.fatal("%s: a batch of %d images has codes of %d rows; want a row for each image", text, p.Outputs.Rows, rows)
	}
	if newNames := m.Params().Names(); !slices.Equal(names, newNames) {
		x.fatal("%s: it makes the parameters %v; want New to make all parameters, because checkpoints restore only these",
			text, newNames[len(names):])
	}
	t := &trainedObjective{model: m, program: p, graph: g, group: group}
	t.total, err = pullAll(p)
	x.must(err, "%s", text)
	var nodes gorgonia.Nodes
	t.weights, nodes, err = g.Reached(t.total)
	x.must(err, "%s", text)
	if len(nodes) == 0 {
		x.fatal("%s: no output depends on a parameter that is trained", text)
	}
	t.grads, err = gorgonia.Grad(t.total, nodes...)
	x.must(err, "%s", text)
	computed := append(append(slices.Clone(t.grads), t.total), p.Kept...)
	for _, l := range p.Logged {
		computed = append(computed, l.Node)
	}
	for _, r := range g.Running() {
		computed = append(computed, r.Moments)
	}
	if p.Prelude != nil {
		t.early, err = p.Prelude.Compile()
		x.must(err, "%s", text)
	}
	t.machine, err = machine.New(computed[0].Graph(), computed...)
	x.must(err, "%s", text)
	return t
}

// pullAll is a loss on all outputs of a program.
func pullAll(p *models.Program) (*gorgonia.Node, error) {
	o := p.Outputs
	nodes := []*gorgonia.Node{o.Codes, o.Sample, o.Logits, o.LogVariance, o.Options, o.Predicted, o.ActionAngles}
	if v := o.Views; v != nil {
		nodes = append(nodes, v.Predictions, v.Projections, v.Queries)
	}
	for _, t := range o.Transports {
		nodes = append(nodes, t.Points, t.Moved)
	}
	if e := o.Energy; e != nil {
		columns, err := e.Columns(o.Images)
		if err != nil {
			return nil, fmt.Errorf("energy: %w", err)
		}
		nodes = append(nodes, columns)
	}
	var terms gorgonia.Nodes
	for i, n := range nodes {
		if n == nil {
			continue
		}
		term, err := pull(n, fmt.Sprint("output ", i))
		if err != nil {
			return nil, err
		}
		terms = append(terms, term)
	}
	for _, q := range o.Posteriors {
		kl, err := q.KL()
		if err != nil {
			return nil, fmt.Errorf("KL: %w", err)
		}
		terms = append(terms, kl)
	}
	return gorgonia.ReduceAdd(terms)
}

func (t *trainedObjective) fill(step int, image func(row int) int) {
	inputs := t.program.Views
	if inputs == nil {
		inputs = []*gorgonia.Node{t.program.Outputs.Images}
	}
	for v, n := range inputs {
		data := nn.Data(n)
		pixels := len(data) / n.Shape()[0]
		for row := range n.Shape()[0] {
			number := image(row)
			if number >= 0 {
				number += 1000 * v
			}
			drawImage(data[row*pixels:(row+1)*pixels], number)
		}
	}
	s := rng.New(seed, fmt.Sprint("step ", step))
	for _, n := range t.program.Noise {
		s.Normals(nn.Data(n))
	}
	for _, in := range t.program.Schedules {
		nn.Data(in.Node)[0] = float32(in.At(step))
	}
	for _, in := range t.program.Transformations {
		fillTransformations(nn.Data(in.Node), len(in.Columns), t.group, s)
	}
	if n := t.program.Actions; n != nil {
		data, actions := nn.Data(n), n.Shape()[1]
		clear(data)
		for row := range len(data) / actions {
			if row%max(t.group, 1) > 0 {
				data[row*actions+s.IntN(actions)] = 1
			}
		}
	}
}

// fillTransformations draws angles, or axes and angles, relative to the first row of each group.
func fillTransformations(data []float32, columns, group int, s *rng.Stream) {
	for row := range len(data) / columns {
		d := data[row*columns : (row+1)*columns]
		clear(d)
		if columns == 4 {
			d[row%3] = 1 // the axis
		}
		if row%max(group, 1) > 0 {
			d[columns-1] = angle(s)
		}
	}
}

// step computes the gradients and updates parameters and states, as in training.
func (t *trainedObjective) step(progress float64) error {
	if t.early != nil {
		t.early.Updates, t.early.Progress, t.early.Restart = t.updates, progress, false
		if err := t.program.Prelude.Decide(t.early); err != nil {
			return err
		}
	}
	t.updates++
	if err := t.machine.RunAll(); err != nil {
		return err
	}
	for i, g := range append(slices.Clone(t.grads), t.total) {
		values, err := elements(t.machine.Value(g))
		if err != nil {
			return err
		}
		name := "loss"
		if i < len(t.weights) {
			name = "gradient of " + t.weights[i]
		}
		if element := notFinite(values); element >= 0 {
			return fmt.Errorf("%s: element %d is %v", name, element, values[element])
		}
		if i < len(t.weights) {
			w := t.model.Params().Get(t.weights[i]).Float32s()
			for j, v := range values {
				w[j] -= rate * float32(v)
			}
		}
	}
	value := func(n *gorgonia.Node) []float32 { return t.machine.Value(n).Data().([]float32) }
	for _, r := range t.graph.Running() {
		r.Follow(value(r.Moments))
	}
	if t.program.After == nil {
		return nil
	}
	return t.program.After(models.Step{Progress: progress, Value: value})
}

func (x *modelCheck) objective(o models.Objective) {
	n, group := 6, 1
	if o.Labelled {
		group = 2
	}
	m := x.model(seed)
	label := "objective " + o.Name
	t := x.compile(label, m, o, n, group)
	initial := snapshot(m.Params())
	const steps = 3
	for i := range steps {
		t.fill(i, func(row int) int { return 10*i + row })
		x.must(t.step(float64(i)/(steps+1)), "%s, step %d", label, i+1)
	}
	// One parameter may stay unchanged: a bias before a batch norm has no effect.
	if updated := snapshot(m.Params()); maps.EqualFunc(initial, updated, slices.Equal) {
		x.add("%s: %d steps change no parameter", label, steps)
	}
	x.run(func() { x.checkRestored(t, o, n, group, steps) }, func() { x.hardBatches(o, group) })
}

// checkRestored compares the next step of a model with the next step of a new model with its parameters and states.
func (x *modelCheck) checkRestored(t *trainedObjective, o models.Objective, n, group, steps int) {
	m := x.model(seed)
	second := x.compile("objective "+o.Name+": the second model", m, o, n, group)
	for _, name := range m.Params().Names() {
		copy(m.Params().Get(name).Float32s(), t.model.Params().Get(name).Float32s())
	}
	for i := steps; i < steps+2; i++ {
		for _, t := range []*trainedObjective{t, second} {
			t.fill(i, func(row int) int { return 10*i + row })
			x.must(t.step(0.9), "objective %s, step %d", o.Name, i+1)
		}
	}
	continued, restored := snapshot(t.model.Params()), snapshot(m.Params())
	for _, name := range slices.Sorted(maps.Keys(continued)) {
		if !slices.Equal(continued[name], restored[name]) {
			x.fatal("objective %s: a new model with the same parameters and states takes another step (%q differs); want everything that a step changes in Params, as states (nn.Graph.State)", o.Name, name)
		}
	}
}

// hardBatches takes steps on batches of constant images, and on batches of one image or group.
func (x *modelCheck) hardBatches(o models.Objective, group int) {
	for name, c := range map[string]struct{ n, image int }{"black images": {4, black}, "white images": {4, white},
		"equal images": {4, 7}, "a single image": {group, 7}} {
		x.run(func() {
			label := fmt.Sprintf("objective %s, %s", o.Name, name)
			m := x.model(seed)
			t := x.compile(label, m, o, c.n, group)
			t.fill(0, func(int) int { return c.image })
			x.must(t.step(0), "%s", label)
			for p, values := range snapshot(m.Params()) {
				if i := notFinite(numeric.Convert[float64](values)); i >= 0 {
					x.add("%s: element %d of %q is %v after a step", label, i, p, values[i])
				}
			}
		})
	}
}

func snapshot(p *nn.Params) map[string][]float32 {
	values := map[string][]float32{}
	for _, name := range p.Names() {
		values[name] = slices.Clone(p.Get(name).Float32s())
	}
	return values
}

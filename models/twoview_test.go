package models

import (
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestMomentum(t *testing.T) {
	constant, cosine := Momentum{Base: 0.99, Schedule: constantMomentum}, Momentum{Base: 0.996, Schedule: cosineMomentum}
	for _, c := range []struct {
		m              Momentum
		progress, want float64
	}{{constant, 0, 0.99}, {constant, 0.7, 0.99}, {cosine, 0, 0.996}, {cosine, 0.5, 0.998}, {cosine, 1, 1}, {cosine, 2, 1}} {
		if got := c.m.At(c.progress); !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("%+v at %v: %v, want %v", c.m, c.progress, got, c.want)
		}
	}
}

// tiny returns the settings of every two-view model, on a small network.
func tiny() map[string]Settings {
	e := small(12).Encoder
	heads := Heads{Hidden: 10, Projected: 6, Predictor: 7}
	m := Momentum{Base: 0.5, Schedule: constantMomentum}
	return map[string]Settings{
		"byol": &BYOL{Views: Views{e}, Heads: heads, Momentum: m}, "simsiam": &SimSiam{Views: Views{e}, Heads: heads},
		"barlow-twins": &BarlowTwins{Views: Views{e}, Hidden: 9},
		"moco":         &MoCo{Views: Views{e}, Width: 5, Queue: 8, Momentum: m},
		"moco-v2":      &MoCo{Views: Views{e}, Width: 5, Queue: 8, Momentum: m, second: true},
	}
}

// The encoder's output is the code. The cases list the numbers of trained parameters and states, counted by hand.
func TestTwoViews(t *testing.T) {
	encoder, head := 64*12+12, 12*10+10+2*10+10*6+6
	predictor := 6*7 + 7 + 2*7 + 7*6 + 6
	first, second := 12*5+5, 12*12+12+12*5+5
	for name, want := range map[string][2]int{
		"byol":         {encoder + head + predictor, encoder + head + 2*10 + 2*7},
		"simsiam":      {encoder + 12*10 + 20 + 10*10 + 20 + 10*6 + predictor, 20 + 20 + 2*6 + 2*7},
		"barlow-twins": {encoder + 12*9 + 18 + 9*9 + 18 + 9*9, 18 + 18},
		"moco":         {encoder + first, encoder + first + 5*8 + 1},
		"moco-v2":      {encoder + second, encoder + second + 5*8 + 1},
	} {
		m := newModel(t, tiny()[name], data(row, column), 1)
		got := [2]int{}
		p := m.Params()
		for _, n := range p.Names() {
			at := 0
			if p.IsState(n) {
				at = 1
			}
			got[at] += p.Get(n).DataSize()
		}
		if got != want {
			t.Errorf("%s: %v numbers, want %v, of %v", name, got, want, p.Names())
		}
		before := p.Count()
		g := nn.NewGraph(p)
		g.Training = true
		program := built(t, g, m, m.Objectives()[0], 4, 1)
		must.Equal(t, p.Count(), before, name, "a program makes parameters that New did")
		if len(program.Views) != 2 || m.Spaces()[0].Width != 12 || program.Outputs.Codes.Shape()[1] != 12 || program.Outputs.Images != nil {
			t.Errorf("%s: views %v, spaces %v, codes %v", name, program.Views, m.Spaces(), program.Outputs.Codes.Shape())
		}
		if names, _ := g.Learnables(); slices.ContainsFunc(names, p.IsState) {
			t.Errorf("%s: a state is learned: %v", name, names)
		}
	}
}

// A BYOL program treats both views alike: swapped views give swapped predictions and targets. This needs separate
// moments for each view.
func TestViewsApart(t *testing.T) {
	m := newModel(t, tiny()["byol"], data(row, column), 1)
	g := nn.NewGraph(m.Params())
	g.Training = true
	p := built(t, g, m, m.Objectives()[0], 4, 1)
	a, b := nn.Data(p.Views[0]), nn.Data(p.Views[1])
	r := rng.New(1, "views")
	r.Normals(a)
	r.Normals(b)
	for i := range b {
		b[i] = 3*b[i] + 1
	}
	run := func() [][]float32 {
		return values(t, p.Outputs.Views.Predictions, p.Outputs.Views.Targets, p.Outputs.Codes)
	}
	before := run()
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
	for i, x := range run() {
		n := len(x) / 2
		if !slices.Equal(x[:n], before[i][n:]) || !slices.Equal(x[n:], before[i][:n]) {
			t.Errorf("output %d: the views are not treated alike", i)
		}
	}
}

// Queries are unit vectors of the first views. Keys are unit vectors of the second views, from a target that starts
// equal to the network.
func TestQueriesAndKeys(t *testing.T) {
	for _, name := range []string{"moco", "moco-v2"} {
		m := newModel(t, tiny()[name], data(row, column), 1)
		g := nn.NewGraph(m.Params())
		g.Training = true
		p := built(t, g, m, m.Objectives()[0], 3, 1)
		a, b := nn.Data(p.Views[0]), nn.Data(p.Views[1])
		r := rng.New(1, "views")
		r.Normals(a)
		r.Normals(b)
		before := values(t, p.Outputs.Views.Queries, p.Outputs.Views.Keys)
		copy(a, b)
		after := values(t, p.Outputs.Views.Queries)
		if !slices.Equal(after[0], before[1]) || slices.Equal(before[0], before[1]) {
			t.Errorf("%s: keys %v, want %v; queries %v", name, before[1], after[0], before[0])
		}
		for i := 0; i < len(after[0]); i += 5 {
			square := 0.0
			for _, v := range after[0][i : i+5] {
				square += float64(v) * float64(v)
			}
			if !(math.Abs(square-1) <= 1e-5) {
				t.Errorf("%s: a query of square norm %v", name, square)
			}
		}
	}
}

func TestTwoViewErrors(t *testing.T) {
	m := newModel(t, tiny()["moco"], data(row, column), 1)
	must.ErrorOf(m.Build(nn.NewGraph(m.Params()), m.Objectives()[0], 9, 1))(t, "9 images does not fit in a queue of 8")
	must.ErrorOf(NewBYOL().New(Data{Height: 20, Width: 20, Channels: 1}, 1))(t, "encoder: ")
	for source, want := range map[string]string{
		"{byol: {momentum: {base: 1.1}}}":              "model.byol.momentum.base: 1.1 is out of range",
		"{byol: {momentum: {schedule: cosin}}}":        `did you mean "cosine"?`,
		"{byol: {hidden: 0}}":                          "model.byol.hidden: want 1 to 65536, got 0",
		"{simsiam: {predictor: 100000}}":               "predictor: want 1 to 65536",
		"{simsiam: {momentum: {base: 1}}}":             `unknown key "momentum"`,
		"{barlow-twins: {hidden: -1}}":                 "hidden: want 1 to 65536, got -1",
		"{moco: {queue: 0}}":                           "queue: want 1 to",
		"{moco-v2: {width: 0}}":                        "width: want 1 to 65536",
		"{byol: {encoder: {conv64-norm: {norm: no}}}}": "unknown normalisation",
	} {
		var s struct {
			Model Choice `yaml:"model"`
		}
		must.Error(t, config.Load("m.yaml", []byte("model: "+source), &s), want, source)
	}
}

// Defaults match the papers: group norm in BYOL, batch norm in the other models, 1000 columns.
func TestTwoViewDefaults(t *testing.T) {
	for name, norm := range map[string]string{"byol": nn.GroupNorm, "simsiam": nn.BatchNorm, "barlow-twins": nn.BatchNorm,
		"moco": nn.BatchNorm, "moco-v2": nn.BatchNorm} {
		e := must.Get(Registry.Lookup(name))(t)
		var choice nn.EncoderChoice
		switch s := e.New().(type) {
		case *BYOL:
			choice = s.Encoder
		case *SimSiam:
			choice = s.Encoder
		case *BarlowTwins:
			choice = s.Encoder
		case *MoCo:
			choice = s.Encoder
			must.Equal(t, s.second, (name == "moco-v2"), name, "is of version 2")
		}
		if c, ok := choice.Value.(*nn.NormedEncoder); !ok || c.Norm != norm || c.Features != 1000 || c.Groups != 4 {
			t.Errorf("%s: encoder %+v", name, choice.Value)
		}
	}
}

// TestCodeViews checks which rows of codes losses get: both views, or one.
func TestCodeViews(t *testing.T) {
	for _, name := range []string{"byol", "simsiam", "barlow-twins"} {
		codes := map[string][]float32{}
		for _, of := range []string{bothViews, firstView, secondView} {
			s := tiny()[name]
			switch s := s.(type) {
			case *BYOL:
				s.Of = of
			case *SimSiam:
				s.Of = of
			case *BarlowTwins:
				s.Of = of
			}
			m := newModel(t, s, data(row, column), 1)
			g := nn.NewGraph(m.Params())
			g.Training = true
			p := built(t, g, m, m.Objectives()[0], 3, 1)
			stream := rng.New(4, "views")
			for _, v := range p.Views {
				stream.Normals(nn.Data(v))
			}
			machine := must.Get(machine.New(p.Outputs.Codes.Graph(), p.Outputs.Codes))(t)
			must.OK(t, machine.RunAll())
			codes[of] = slices.Clone(machine.Value(p.Outputs.Codes).Data().([]float32))
			if rows := p.Outputs.Codes.Shape()[0]; p.Outputs.Rows != rows || p.Outputs.Sample != p.Outputs.Codes {
				t.Errorf("%s, %s: a batch of %d, %d rows of codes", name, of, p.Outputs.Rows, rows)
			}
		}
		n := len(codes[bothViews]) / 2
		if !slices.Equal(codes[firstView], codes[bothViews][:n]) || !slices.Equal(codes[secondView], codes[bothViews][n:]) ||
			slices.Equal(codes[firstView], codes[secondView]) {
			t.Errorf("%s: the codes of the views are not the halves of those of both", name)
		}
	}
	must.Error(t, (&CodeViews{"third"}).Validate(), `unknown views "third"; known: both, first, second`)
}

package models

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/assign"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

func TestLogSoftplus(t *testing.T) {
	gradcheck.CheckAll(t, []gradcheck.Case{{Name: "log softplus",
		Inputs: []gradcheck.Input{{Shape: []int{8}, Values: []float64{-80, -20, -5, -0.5, 0, 0.5, 5, 80}}},
		Build:  func(n []*gorgonia.Node) (*gorgonia.Node, error) { return logSoftplus(n[0]) },
		Want: func(in [][]float64) (want []float64) {
			for _, s := range in[0] {
				want = append(want, math.Log(max(s, 0)+math.Log1p(math.Exp(-math.Abs(s)))+1e-8))
			}
			return want
		}}})
}

// cascadeOf makes a cascade-vae with small networks and settings s.
func cascadeOf(t *testing.T, s *CascadeVAE) *cascadeVAE {
	t.Helper()
	s.Networks = small(8)
	m := newModel(t, s, data(row), 1)
	return m.(*cascadeVAE)
}

// TestCascadePhases walks through the paper's schedule.
func TestCascadePhases(t *testing.T) {
	type place struct {
		opened int
		open   bool
	}
	for _, c := range []struct {
		settings CascadeVAE
		want     []place // in phases 0, 1, ...
	}{
		{CascadeVAE{Latent: 6, Categories: 3, Phases: 15, Closed: 4}, []place{{1, false}, {2, false}, {3, false}, {4, false}, {4, true}, {5, true}, {6, true}, {6, true}}},
		{CascadeVAE{Latent: 3, Categories: 3, Phases: 15, Closed: 4}, []place{{1, false}, {2, false}, {3, false}, {3, false}, {3, true}, {3, true}}},
		{CascadeVAE{Latent: 6, Phases: 15, Closed: 4}, []place{{1, false}, {2, false}, {3, false}, {4, false}, {5, false}, {6, false}, {6, false}}},
		{CascadeVAE{Latent: 3, Categories: 2, Phases: 15, PhaseSteps: 100, Closed: 1}, []place{{1, false}, {1, true}, {2, true}, {3, true}, {3, true}}},
	} {
		k := &cascade{cascadeVAE: &cascadeVAE{settings: c.settings}}
		for p, want := range c.want {
			for _, e := range []*Early{{Progress: (float64(p) + 0.01) / 15, Updates: 100 * p}, {Progress: (float64(p) + 0.99) / 15, Updates: 100*p + 99}} {
				if opened, open := k.phase(e); (place{opened, open}) != want {
					t.Errorf("%+v, phase %d: %d dimensions, categories open %v; want %v", c.settings, p, opened, open, want)
				}
			}
		}
	}
}

// TestCascadePhasesStart checks that a phase starts at its first step, whatever the rounding of its fraction.
func TestCascadePhasesStart(t *testing.T) {
	k := &cascade{cascadeVAE: &cascadeVAE{settings: CascadeVAE{Latent: 100, Phases: 100}}}
	for p := range 100 {
		if opened, _ := k.phase(&Early{Progress: float64(p) / 100}); opened != p+1 {
			t.Errorf("%d dimensions are open at the start of phase %d", opened, p)
		}
	}
}

// TestCascadeStep runs decisions of steps. It compares the categories with costs from a separate graph.
func TestCascadeStep(t *testing.T) {
	for _, balance := range []float64{0, 0.001, 3} {
		m := cascadeOf(t, &CascadeVAE{Latent: 3, Categories: 4, Low: 2, High: 10, Balance: balance, Phases: 10, Closed: 2})
		const n = 12
		g := nn.NewGraph(m.Params())
		g.Training = true
		p := built(t, g, m, m.Objectives()[0], n, 1)
		early := must.Get(p.Prelude.Compile())(t)
		r := rng.New(4, "cascade")
		for i := range nn.Data(p.Outputs.Images) {
			nn.Data(p.Outputs.Images)[i] = r.Float32()
		}
		r.Normals(nn.Data(p.Noise[0]))
		var choice, weights []float32
		for name, node := range map[string]*[]float32{"categories": &choice, "kl weights": &weights} {
			found := g.ByName(name)
			if len(found) != 1 {
				t.Fatalf("%d inputs %q", len(found), name)
			}
			*node = nn.Data(found[0])
		}
		restarts := []bool{}
		for _, progress := range []float64{0, 0.05, 0.15, 0.25, 0.35, 0.95} {
			early.Progress, early.Restart = progress, false
			must.OK(t, p.Prelude.Decide(early))
			restarts = append(restarts, early.Restart)
			if total := sum(choice); progress < 0.2 && total != 0 || progress > 0.2 && total != n {
				t.Errorf("progress %v: %v categories are chosen", progress, total)
			}
		}
		must.EqualSlices(t, restarts, []bool{true, false, true, false, true, false}, "the optimiser starts anew at steps")
		must.EqualSlices(t, weights, []float32{2, 2, 2}, "weights of the divergences", "at the end")
		costs := make([]float64, n*4)
		z := values(t, p.Outputs.Sample)[0]
		for k := range 4 {
			other := nn.NewGraph(m.Params())
			points := must.Get(other.Input("points", n, 7))(t)
			images := must.Get(m.images(other, n))(t)
			copy(nn.Data(images), nn.Data(p.Outputs.Images))
			for row := range n {
				nn.Data(points)[row*7+k] = 1
				copy(nn.Data(points)[row*7+4:], z[row*3:row*3+3])
			}
			logits := must.Get(m.autoencoder.Decode(other, points))(t)
			cost := must.Get(losses.NewReconstruction().Costs(images, logits, false))(t)
			for row, c := range values(t, cost)[0] {
				costs[row*4+k] = float64(c)
			}
		}
		want := must.Get(assign.Balanced(costs, 4, balance))(t)
		for row, k := range want {
			if choice[row*4+k] != 1 {
				t.Errorf("balance %v: image %d has the choice %v; want category %d", balance, row, choice[row*4:row*4+4], k)
			}
		}
	}
}

func sum(x []float32) (total float64) {
	for _, v := range x {
		total += float64(v)
	}
	return total
}

// TestDiscreteCodes decodes option numbers as one-hot choices, and encodes to option numbers.
func TestDiscreteCodes(t *testing.T) {
	joint := newJointVAE()
	joint.Networks, joint.Latent, joint.Categorical = small(8), 2, []int{3, 2}
	cascade := newCascadeVAE()
	cascade.Networks, cascade.Latent = small(8), 2
	for name, s := range map[string]Settings{"joint-vae": joint, "cascade-vae": cascade} {
		m := newModel(t, s, data(row), 1)
		if state := m.Params().Get(cascadeCategories); state != nil {
			state.Float32s()[0] = 1
		}
		blocks := len(m.Spaces()) - 1
		if h := HierarchyOf(m); len(h.Categoricals()) != blocks || h.Continuous() != 2 || h.Validate() != nil {
			t.Errorf("%s: hierarchy %v; want %d choices and 2 continuous dimensions", name, h, blocks)
		}
		g := nn.NewGraph(m.Params())
		images, err := g.Input("images", 5, 8, 8, 1)
		if err != nil {
			t.Fatal(name, err)
		}
		r := rng.New(9, name)
		for i := range nn.Data(images) {
			nn.Data(images)[i] = r.Float32()
		}
		codes, err := m.Encode(g, images)
		if err != nil {
			t.Fatal(name, err)
		}
		width := codes.Shape()[1]
		for i, v := range values(t, codes)[0] {
			if s := m.Spaces()[min(i%width, blocks)]; s.Options > 0 && (v != float32(math.Trunc(float64(v))) || v < 1 || v > float32(s.Options)) {
				t.Errorf("%s: column %d is %v; want the number of one of %d options", name, i%width, v, s.Options)
			}
		}
		decoded := func(code ...float32) []float32 {
			g := nn.NewGraph(m.Params())
			in := must.Get(g.Input("codes", 1, width))(t)
			copy(nn.Data(in), code)
			out := must.Get(m.(Decoder).Decode(g, in))(t)
			return values(t, out)[0]
		}
		code := slices.Repeat([]float32{1}, width)
		first := decoded(code...)
		code[0] = 1.3 // the nearest option
		if !slices.Equal(first, decoded(code...)) {
			t.Errorf("%s: the number 1.3 is not decoded as 1", name)
		}
		seen := [][]float32{first}
		for _, option := range []float32{0, 2, 3} {
			code[0] = option
			image := decoded(code...)
			for _, other := range seen {
				if slices.Equal(image, other) {
					t.Errorf("%s: option %v is decoded as another one", name, option)
				}
			}
			seen = append(seen, image)
		}
	}
}

// The code of a cascade holds the category with minimum cost for the mean, or 0 while categories are closed.
func TestCascadeCodes(t *testing.T) {
	m := cascadeOf(t, &CascadeVAE{Latent: 2, Categories: 3, Phases: 15, Closed: 4})
	g := nn.NewGraph(m.Params())
	images := must.Get(m.images(g, 7))(t)
	rng.New(5, "images").Normals(nn.Data(images))
	codes := must.Get(m.Encode(g, images))(t)
	mean, _, err := m.heads(g, images)
	must.OK(t, err)
	var all []*gorgonia.Node
	for k := range 3 {
		points := must.Get(withCategory(mean, k, 3))(t)
		cost := must.Get(m.costs(g, images, points))(t)
		all = append(all, cost)
	}
	for _, open := range []float32{0, 1} {
		m.Params().Get(cascadeCategories).Float32s()[0] = open
		v := values(t, append([]*gorgonia.Node{codes, mean}, all...)...)
		for row := range 7 {
			best := 0
			for k := range 3 {
				if v[2+k][row] < v[2+best][row] {
					best = k
				}
			}
			if got, want := v[0][row*3:row*3+3], []float32{open * float32(1+best), v[1][row*2], v[1][row*2+1]}; !slices.Equal(got, want) {
				t.Errorf("open %v: code %v; want %v", open, got, want)
			}
		}
	}
	if plain := cascadeOf(t, &CascadeVAE{Latent: 2, Phases: 15}); len(plain.Spaces()) != 1 ||
		plain.Spaces()[0].Width != 2 || HierarchyOf(plain) != nil {
		t.Errorf("without categories the spaces are %v; want R^2", fmt.Sprint(plain.Spaces()))
	}
}

func TestPreludeErrors(t *testing.T) {
	decide := func(*Early) error { return nil }
	const noOutputs = "pass 0 before a step has no outputs; want a graph and the nodes to read"
	for _, c := range []struct {
		prelude Prelude
		want    string
	}{
		{Prelude{}, "the prelude of a step lacks the function Decide"},
		{Prelude{Decide: decide, Passes: []Pass{{Outputs: make([]*gorgonia.Node, 1)}}}, noOutputs},
		{Prelude{Decide: decide, Passes: []Pass{{Graph: nn.NewGraph(nn.NewParams(1))}}}, noOutputs},
	} {
		if _, err := c.prelude.Compile(); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

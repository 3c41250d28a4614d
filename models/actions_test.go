package models_test

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models"
)

// acted describes data with two actions on each factor.
func acted(factors ...int) models.Data {
	d := models.Data{Height: 16, Width: 16, Channels: 1,
		Factors: []factor.Factor{{Name: "a", Size: 4}, {Name: "b", Size: 4}, {Name: "c", Size: 4}}}
	for _, k := range factors {
		d.Actions = append(d.Actions, supervision.Action{Name: "up", Factor: k, Step: 1}, supervision.Action{Name: "down", Factor: k, Step: -1})
	}
	return d
}

// The codes of an episode start with the first image's code and change only with the actions.
func TestQuessardEpisodes(t *testing.T) {
	s := models.NewQuessard()
	m := must.Get(s.New(acted(0, 2), 1))(t)
	const episodes, group = 2, 4
	g := nn.NewGraph(m.Params())
	p := must.Get(m.Build(g, m.Objectives()[0], episodes*group, group))(t)
	alone := must.Get(m.Encode(g, p.Outputs.Images))(t)
	for i, pixels := 0, nn.Data(p.Outputs.Images); i < len(pixels); i++ {
		pixels[i] = float32(i*i%97) / 97
	}
	taken := nn.Data(p.Actions)
	for _, at := range []int{1*4 + 2, 2*4 + 0, 5*4 + 1} { // image and action; images 3, 6 and 7 have no action
		taken[at] = 1
	}
	run := must.Get(machine.New(g.ExprGraph, p.Outputs.Codes, alone, p.Outputs.Logits))(t)
	must.OK(t, run.RunAll())
	codes, encoded := run.Value(p.Outputs.Codes).Data().([]float32), run.Value(alone).Data().([]float32)
	row := func(x []float32, i int) []float32 { return x[4*i : 4*i+4] }
	for i, same := range map[int][]float32{0: row(encoded, 0), 4: row(encoded, 4), 3: row(codes, 2), 6: row(codes, 5), 7: row(codes, 5)} {
		if !(apart(row(codes, i), same) <= 1e-6) {
			t.Errorf("code %d is %v, want %v", i, row(codes, i), same)
		}
	}
	for i := range episodes * group {
		if norm := apart(row(codes, i), make([]float32, 4)); !(math.Abs(norm-1) <= 1e-5) {
			t.Errorf("code %d has the norm %v", i, norm)
		}
		if i%group == 1 && !(apart(row(codes, i), row(codes, i-1)) >= 1e-3) {
			t.Errorf("the action to image %d does nothing", i)
		}
	}
}

func apart(a, b []float32) float64 {
	sum := 0.0
	for i, v := range a {
		sum += float64(v-b[i]) * float64(v-b[i])
	}
	return math.Sqrt(sum)
}

// Actions of the same factor share a block of columns. The code has two columns per factor, or more.
func TestForwardVAEColumns(t *testing.T) {
	for latent, want := range map[int]int{0: 4, 7: 7} {
		s := models.NewForwardVAE()
		s.Latent = latent
		m := must.Get(s.New(acted(2, 0), 1))(t)
		must.Equal(t, m.Spaces()[0].Width, want, "latent", latent, "columns")
	}
	ones := models.NewForwardVAE()
	ones.Init = "ones"
	m, err := ones.New(acted(1), 1)
	must.OK(t, err)
	for i, v := range m.Params().Get("actions/blocks").Float32s() {
		must.Equal(t, v, 1, "element", i, "of the matrices is")
	}
	// Otherwise they start near the identity.
	if m, err = models.NewForwardVAE().New(acted(1, 0, 1), 1); err != nil {
		t.Fatal(err)
	}
	for i, v := range m.Params().Get("actions/blocks").Float32s() {
		if want := []float64{1, 0, 0, 1}[i%4]; !(math.Abs(float64(v)-want) <= 0.5) {
			t.Errorf("element %d of the matrices is %v, want about %v", i, v, want)
		}
	}
	g := nn.NewGraph(m.Params())
	if p := must.Get(m.Build(g, m.Objectives()[0], 6, 2))(t); p.Actions == nil || p.Outputs.Predicted == nil {
		t.Error("the objective of actions predicts no codes")
	}
}

func TestActionMistakes(t *testing.T) {
	narrow := models.NewForwardVAE()
	narrow.Latent = 3
	for want, c := range map[string]struct {
		s models.Settings
		d models.Data
	}{
		"quessard: it learns from actions between images, and there are none; want supervision: walks": {models.NewQuessard(), acted()},
		"forward-vae: it learns from actions between images, and there are none":                       {models.NewForwardVAE(), acted()},
		"forward-vae: latent is 3; want 4 or more":                                                     {narrow, acted(0, 1)},
	} {
		must.ErrorOf(c.s.New(c.d, 1))(t, want)
	}
	m := must.Get(models.NewQuessard().New(acted(0), 1))(t)
	must.ErrorOf(m.Build(nn.NewGraph(m.Params()), m.Objectives()[0], 3, 2))(t, "want actions of shape [2, 2], got (3, 2)")
}

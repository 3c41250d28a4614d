package latent_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/latent"
)

func sphere(dim int) *latent.Sphere {
	s := latent.NewSphere()
	s.Dim = dim
	return s
}

func euclidean(dim int) *latent.Euclidean { return &latent.Euclidean{Dim: dim} }

// spaces returns spaces of all kinds. Each runs a conformance test.
func spaces() map[string]latent.Space {
	return map[string]latent.Space{"S1": sphere(1), "S2": sphere(2), "S3": sphere(3), "R1": euclidean(1), "R5": euclidean(5)}
}

// build adds a list of spaces on random features.
func build(t *testing.T, l latent.List, batch int) (*nn.Graph, []*latent.Variable) {
	t.Helper()
	g := nn.NewGraph(nn.NewParams(5))
	features := must.Get(g.Input("features", batch, 6))(t)
	rng.New(1, "features").Normals(nn.Data(features))
	v := must.Get(l.Variables(g, features))(t)
	for i, v := range v {
		rng.New(uint64(i), "noise").Normals(nn.Data(v.Noise))
	}
	return g, v
}

func run(t *testing.T, nodes ...*gorgonia.Node) *machine.Machine {
	t.Helper()
	m := must.Get(machine.New(nodes[0].Graph(), nodes...))(t)
	must.OK(t, m.RunAll())
	return m
}

func floats(m *machine.Machine, n *gorgonia.Node) []float32 {
	return m.Value(n).(*tensor.Dense).Float32s()
}

func TestSpaces(t *testing.T) {
	const batch, m = 6, 3
	for name, s := range spaces() {
		_, vs := build(t, latent.Of(s), batch)
		v := vs[0]
		kl := must.Get(v.KL())(t)
		var moves *gorgonia.Node
		if c := s.Columns(); c > 0 {
			moves = gorgonia.NewMatrix(v.Sample.Graph(), tensor.Float32, gorgonia.WithShape(batch, c), gorgonia.WithName("moves"))
			value := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(batch, c))
			rng.New(2, "moves").Normals(value.Float32s())
			must.OK(t, gorgonia.Let(moves, value))
		}
		moved := must.Get(v.Transport(moves, m))(t)
		machine := run(t, v.Location, v.Scale, v.Sample, kl, moved.Moved)
		if moved.Acts != (s.Columns() > 0) || moved.Points != v.Sample {
			t.Errorf("%s: transport %+v", name, moved)
		}
		for what, n := range map[string]*gorgonia.Node{"location": v.Location, "sample": v.Sample, "moved point": moved.Moved} {
			if !n.Shape().Eq(tensor.Shape{batch, s.Width()}) || n.Dims() != 2 {
				t.Errorf("%s: shape %v of the %s", name, n.Shape(), what)
			}
			if _, ok := s.(*latent.Sphere); !ok {
				continue
			}
			for i, x := 0, floats(machine, n); i < batch; i++ {
				if r := norm(x[i*s.Width() : (i+1)*s.Width()]); !(math.Abs(r-1) <= 1e-6) {
					t.Errorf("%s: the %s has norm %v", name, what, r)
				}
			}
		}
		if got := machine.Value(kl).Data().(float32); !(got > 0 && got <= 100) {
			t.Errorf("%s: divergence %v", name, got)
		}
	}
}

func norm(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}

// The scales start in the middle of the interval, and at sigma = 1.
func TestScalesAtTheStart(t *testing.T) {
	_, vs := build(t, latent.Of(sphere(1), euclidean(3)), 4)
	m := run(t, vs[0].Scale, vs[1].Scale)
	for _, x := range floats(m, vs[0].Scale) {
		must.Equal(t, x, -7.5, "log t")
	}
	for _, x := range floats(m, vs[1].Scale) {
		must.Equal(t, x, 0, "log sigma")
	}
}

// The spread of the random walk is proportional to its time: d t in total, along the tangent space.
func TestSphereSpread(t *testing.T) {
	for _, dim := range []int{1, 2} {
		const batch = 4000
		s := sphere(dim)
		s.LogT = [2]float64{-6, -6}
		_, vs := build(t, latent.Of(s), batch)
		m := run(t, vs[0].Location, vs[0].Sample)
		mu, z := floats(m, vs[0].Location), floats(m, vs[0].Sample)
		sum := 0.0
		for i := range z {
			sum += float64(z[i]-mu[i]) * float64(z[i]-mu[i])
		}
		want := float64(dim) * math.Exp(-6)
		if got := sum / batch; !(math.Abs(got/want-1) <= 0.1) {
			t.Errorf("S%d: mean squared distance %v, want about %v", dim, got, want)
		}
	}
}

func TestEuclideanSample(t *testing.T) {
	_, vs := build(t, latent.Of(euclidean(2)), 3)
	m := run(t, vs[0].Location, vs[0].Sample)
	mu, z, noise := floats(m, vs[0].Location), floats(m, vs[0].Sample), nn.Data(vs[0].Noise)
	for i := range z {
		must.Equal(t, z[i], mu[i]+noise[i], "z")
	}
}

func TestNamesAndCodes(t *testing.T) {
	l := latent.Of(sphere(1), euclidean(5))
	g, vs := build(t, l, 2)
	names, _ := g.Learnables()
	want := []string{"latent/0/loc/weight", "latent/0/loc/bias", "latent/0/scale/weight", "latent/0/scale/bias",
		"latent/1/loc/weight", "latent/1/loc/bias", "latent/1/scale/weight", "latent/1/scale/bias"}
	must.EqualSlices(t, names, want, "parameters")
	locations := must.Get(latent.Locations(vs))(t)
	samples := must.Get(latent.Samples(vs))(t)
	if l.Width() != 7 || !locations.Shape().Eq(tensor.Shape{2, 7}) || !samples.Shape().Eq(tensor.Shape{2, 7}) {
		t.Errorf("width %d, codes %v", l.Width(), locations.Shape())
	}
	m := run(t, locations, samples, vs[0].Location, vs[1].Sample)
	if !slices.Equal(floats(m, locations)[:2], floats(m, vs[0].Location)[:2]) ||
		!slices.Equal(floats(m, samples)[9:], floats(m, vs[1].Sample)[5:]) {
		t.Error("the columns of the codes are not those of the spaces in order")
	}
	var _ losses.Posterior = vs[0]
}

// The gradients of a whole posterior: heads, sample and divergence.
func TestGradients(t *testing.T) {
	for name, s := range spaces() {
		noise := s.NoiseShape(3)
		heads := func(in []*gorgonia.Node) (location, scale *gorgonia.Node) { return in[0], in[1] }
		scale := gradcheck.Input{Shape: []int{3, s.Width()}, Lo: -3, Hi: 1}
		if _, ok := s.(*latent.Sphere); ok {
			scale.Shape = []int{3, 1}
		}
		gradcheck.Check(t, gradcheck.Case{
			Name:   "sample in " + name,
			Inputs: []gradcheck.Input{{Shape: []int{3, s.Width()}, Lo: 0.2, Hi: 1}, scale, {Shape: noise, Constant: true}},
			Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				location, scale := heads(in)
				return s.Sample(location, scale, in[2])
			},
		})
		if c := s.Columns(); c > 0 {
			gradcheck.Check(t, gradcheck.Case{
				Name:   "transport in " + name,
				Inputs: []gradcheck.Input{{Shape: []int{4, s.Width()}}, {Shape: []int{4, c}, Constant: true}},
				Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
					moved, err := s.Transport(in[0], in[1], 2)
					return moved.Moved, err
				},
			})
		} else {
			gradcheck.Check(t, gradcheck.Case{
				Name:   "transport in " + name,
				Inputs: []gradcheck.Input{{Shape: []int{4, s.Width()}}},
				Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
					moved, err := s.Transport(in[0], nil, 2)
					return moved.Moved, err
				},
			})
		}
	}
}

func TestPrior(t *testing.T) {
	for name, s := range spaces() {
		r := rng.New(1, "prior")
		mean, square := make([]float64, s.Width()), make([]float64, s.Width())
		const n = 4000
		x := make([]float32, s.Width())
		for range n {
			s.Prior(r, x)
			if _, ok := s.(*latent.Sphere); ok && !(math.Abs(norm(x)-1) <= 1e-6) {
				t.Fatalf("%s: a point of norm %v", name, norm(x))
			}
			for i, v := range x {
				mean[i] += float64(v) / n
				square[i] += float64(v) * float64(v) / n
			}
		}
		want := 1.0
		if _, ok := s.(*latent.Sphere); ok {
			want = 1 / float64(s.Width())
		}
		for i := range mean {
			if !(math.Abs(mean[i]) <= 0.07) || !(math.Abs(square[i]/want-1) <= 0.12) {
				t.Errorf("%s: coordinate %d has mean %v and mean square %v, want 0 and %v", name, i, mean[i], square[i], want)
			}
		}
	}
}

func TestSphereRefuses(t *testing.T) {
	for source, want := range map[string]string{
		"{omega: 0}":                 "omega: want -1000 to 1000 without 0, got 0",
		"{dim: 3, omega: 2}":         "omega: no factor rotates a sphere of dim 3",
		"{dim: 1, axis: [0, 0, 1]}":  "axis: a sphere of dim 1 has none",
		"{dim: 2, axis: [0, 0]}":     "axis: want three numbers that are not all 0",
		"{dim: 2, axis: [0, 0, 0]}":  "axis: want three numbers that are not all 0",
		"{dim: 2, axis: [0, 0, a]}":  "axis",
		"{dim: 1, log_t: [-9, -10]}": "log_t",
		"{dim: 200}":                 "log_t: the divergence from the uniform distribution is known up to time 1/dim where dim is more than 100; want at most -5.30, got [-10, -5]",
	} {
		var s struct {
			Latent latent.List `yaml:"latent"`
		}
		must.Error(t, config.Load("m.yaml", []byte("latent: [{sphere: "+source+"}]"), &s), want, source)
	}
}

func TestConfig(t *testing.T) {
	var s struct {
		Latent latent.List `yaml:"latent"`
	}
	source := "latent: [{sphere: {dim: 1, log_t: [-10, -9]}}, euclidean, {euclidean: {dim: 5}}]"
	must.OK(t, config.Load("m.yaml", []byte(source), &s, "latent.2.euclidean.dim=4"))
	if c, ok := s.Latent[0].Value.(*latent.Sphere); !ok ||
		!reflect.DeepEqual(*c, latent.Sphere{Dim: 1, LogT: [2]float64{-10, -9}, Steps: 10, Omega: 1}) {
		t.Errorf("sphere %+v", s.Latent[0].Value)
	}
	must.Equal(t, s.Latent.Width(), 2+10+4, "width")
	text := must.Get(config.Encode(s))(t)
	again := s
	again.Latent = nil
	if err := config.Load("m.yaml", text, &again); err != nil ||
		fmt.Sprint(again.Latent[0].Value) != fmt.Sprint(s.Latent[0].Value) || again.Latent.Width() != 16 {
		t.Errorf("%s: %v", text, err)
	}
	for source, want := range map[string]string{
		"[]":                               "latent: want one latent space or more",
		"[spere]":                          `unknown latent space "spere"; did you mean "sphere"?`,
		"[{sphere: {dim: 0}}]":             "latent.0.sphere.dim: want 1 to 65536, got 0",
		"[{sphere: {log_t: [-5, -10]}}]":   "latent.0.sphere.log_t: want [least, greatest]",
		"[{sphere: {log_t: [-5]}}]":        "latent.0.sphere.log_t",
		"[{sphere: {steps: 0}}]":           "latent.0.sphere.steps: want 1 to 10000, got 0",
		"[sphere, {euclidean: {dim: -1}}]": "latent.1.euclidean.dim: want 1 to 65536, got -1",
		"[{euclidean: {dims: 2}}]":         `did you mean "dim"?`,
	} {
		must.Error(t, config.Load("m.yaml", []byte("latent: "+source), &s), want, source)
	}
}

func TestErrors(t *testing.T) {
	g := nn.NewGraph(nn.NewParams(1))
	features := must.Get(g.Input("features", 2, 3))(t)
	l := latent.Of(sphere(1))
	must.Get(l.Variables(g, features))(t)
	must.ErrorOf(l.Variables(g, features))(t, "noise/0")
	if _, err := sphere(2).Transport(features, nil, 2); err == nil {
		t.Error("no error for a sphere's transport without rotations")
	}
}

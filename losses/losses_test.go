package losses_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

type nodes = []*gorgonia.Node

// TestHardPoints checks every objective at points where a careless formula fails.
func TestHardPoints(t *testing.T) {
	with := func(values ...float64) func(shape ...int) gradcheck.Input {
		return func(shape ...int) gradcheck.Input { return gradcheck.Input{Shape: shape, Values: values} }
	}
	circle := func(m int) func(n nodes) (*gorgonia.Node, error) {
		return func(n nodes) (*gorgonia.Node, error) {
			y, err := losses.CircleTransport(n[0], n[1], m)
			if err != nil {
				return nil, err
			}
			return losses.LSBD(n[0], y)
		}
	}
	angles := func(n int, values ...float64) gradcheck.Input {
		return gradcheck.Input{Shape: []int{n, 1}, Values: values, Lo: -7, Hi: 7, Constant: true}
	}
	reconstruction := func(n nodes) (*gorgonia.Node, error) {
		return losses.GaussianReconstruction(n[0], n[1], losses.Gaussian{})
	}
	value := func(v ...float64) func([][]float64) []float64 { return func([][]float64) []float64 { return v } }
	for _, c := range []gradcheck.Case{
		{Name: "lsbd of random groups", Inputs: []gradcheck.Input{{Shape: []int{12, 2}}, angles(12)}, Build: circle(4)},
		{Name: "lsbd, M = 1", Inputs: []gradcheck.Input{with(0.6, 0.8, -1, 0)(2, 2), angles(2)}, Build: circle(1), Want: value(0), Floor32: 1},
		{Name: "lsbd of identical points", Inputs: []gradcheck.Input{with(0.6, 0.8)(3, 2), angles(3, 0)}, Build: circle(3), Want: value(0), Floor32: 1},
		{Name: "lsbd of equivariant points", Inputs: []gradcheck.Input{with(1, 0, 0, 1)(2, 2), angles(2, 0, math.Pi/2)}, Build: circle(2), Want: value(0), Floor32: 1},
		// |z|^2 = 1 for each point, and the common point is 0. The gradient divides by 1e-6 there: it is large but
		// finite.
		{Name: "lsbd of opposite points", Inputs: []gradcheck.Input{with(1, 0, -1, 0)(2, 2), angles(2, 0)}, Build: circle(2), Want: value(1), Step: 0x1p-34, Tolerance: 1e-5},
		{Name: "lsbd of zeros", Inputs: []gradcheck.Input{with(0)(2, 2), angles(2)}, Build: circle(2), Want: value(0), Step: 1e-9},
		{Name: "saturated and right", Inputs: []gradcheck.Input{with(0, 1)(2, 3), with(-100, 100)(2, 3)}, Build: reconstruction, Want: value(0)},
		{Name: "saturated and wrong", Inputs: []gradcheck.Input{with(0, 1)(2, 3), with(100, -100)(2, 3)}, Build: reconstruction, Want: value(3)},
		{Name: "cross-entropy, saturated and right", Inputs: []gradcheck.Input{with(0, 1)(2, 3), with(-100, 100)(2, 3)},
			Build: func(n nodes) (*gorgonia.Node, error) { return losses.BernoulliReconstruction(n[0], n[1]) }, Want: value(0)},
		{Name: "cross-entropy, saturated and wrong", Inputs: []gradcheck.Input{with(0, 1)(2, 3), with(100, -100)(2, 3)},
			Build: func(n nodes) (*gorgonia.Node, error) { return losses.BernoulliReconstruction(n[0], n[1]) }, Want: value(300)},
		{Name: "kl of a tiny sigma", Inputs: []gradcheck.Input{with(0)(1, 2), with(-40)(1, 2)},
			Build: func(n nodes) (*gorgonia.Node, error) { return losses.KLGaussian(n[0], n[1]) }, Want: value(79)},
		{Name: "kl of the circle, as the paper bounds it", Inputs: []gradcheck.Input{with(-10)(3, 1)},
			Build: func(n nodes) (*gorgonia.Node, error) { return losses.KLSphere(n[0], 1) }, Want: value(5 + 0.5*math.Log(2*math.Pi) - 0.5)},
		{Name: "public code, identical points", Inputs: []gradcheck.Input{with(3, 4)(2, 2), with(3, 4)(2, 2)},
			Build: func(n nodes) (*gorgonia.Node, error) { return losses.PublicLSBD(n[0], n[1], 2, 0, 0) }, Want: value(0)},
	} {
		t.Run(c.Name, func(t *testing.T) { gradcheck.Check(t, c) })
	}
}

// outputs has the inputs of every loss: a group of two, a circle and R^1.
func outputs() *losses.Input {
	g := gorgonia.NewGraph()
	circle := losses.Transport{Points: matrix(g, "z", 2, 2, 1, 0, 0, 1), Moved: matrix(g, "y", 2, 2, 1, 0, 1, 0), Sphere: true, Acts: true}
	line := losses.Transport{Points: matrix(g, "u", 2, 1, 1, 3), Moved: matrix(g, "v", 2, 1, 2, 2)}
	return &losses.Input{Outputs: losses.Outputs{
		Images: matrix(g, "x", 2, 2, 0.5, 0.5, 0.5, 1),
		Logits: matrix(g, "logits", 2, 2, 0, 0, 0, 0),
		Posteriors: []losses.Posterior{gaussian{matrix(g, "mu", 2, 1, 0, 2), matrix(g, "s", 2, 1, 0, 0)},
			gaussian{matrix(g, "nu", 2, 1, 4, 0), matrix(g, "r", 2, 1, 0, 0)}},
		Transports: []losses.Transport{circle, line},
		Rows:       2,
	}, Batch: losses.Batch{Group: 2}}
}

type gaussian struct{ mu, logSigma *gorgonia.Node }

func (g gaussian) KL() (*gorgonia.Node, error) { return losses.KLGaussian(g.mu, g.logSigma) }

func choose(t *testing.T, source string) []losses.Choice {
	t.Helper()
	var s struct {
		Losses []losses.Choice `yaml:"losses"`
	}
	must.OK(t, config.Load("l.yaml", []byte("losses: "+source), &s))
	return s.Losses
}

func TestCompose(t *testing.T) {
	choices := choose(t, "[reconstruction, {reconstruction: {likelihood: bernoulli}}, {kl: {weight: 0.5}}, {lsbd: {}}, {lsbd: {identity: false}}, {lsbd: {variant: public-code, weight: 10}}]")
	objective := must.Get(losses.ComposeInput(outputs(), choices))(t)
	m := must.Get(machine.New(objective.Total.Graph(), append(objective.Nodes(), objective.Total)...))(t)
	must.OK(t, m.RunAll())
	total := 0.0
	// lsbd of the circle: |(0,1)-(1,0)|^2 / 2 = 1; of R^1 with the identity: (1 + 1) / 2. Public code: z.y = 3 and 6,
	// clipped to 1; distances of whole vectors: 1 and sqrt 3.
	for i, want := range []struct {
		name          string
		weight, value float64
	}{
		{"reconstruction", 1, 0.125},
		{"reconstruction-2", 1, (4*math.Ln2 - 0) / 2},
		{"kl", 0.5, 1 + 4},
		{"lsbd", 100, 1 + 1},
		{"lsbd-2", 100, 1},
		{"lsbd-3", 10, 1 + math.Sqrt(3)},
	} {
		p := objective.Parts[i]
		got := m.Value(p.Node).Data().(float64)
		if p.Name != want.name || p.Weight != losses.Constant(want.weight) || !(math.Abs(got-want.value) <= 1e-12) {
			t.Errorf("part %d: %s, weight %v, value %v, want %+v", i, p.Name, p.Weight, got, want)
		}
		total += want.weight * want.value
	}
	if got := m.Value(objective.Total).Data().(float64); !(math.Abs(got-total) <= 1e-9) {
		t.Errorf("total %v, want %v", got, total)
	}
	var names []string
	for _, c := range losses.Unsupervised(choices) {
		names = append(names, c.Name)
	}
	must.EqualSlices(t, names, []string{"reconstruction", "reconstruction", "kl"}, "losses without labels")
}

// Each loss names its missing output.
func TestMissingOutputs(t *testing.T) {
	const labels = "it needs labels of the factors; want a supervision that gives them, such as {labels: {fraction: 0.1}}"
	needs := func(what string) string { return "it needs " + what + ", which this model does not have" }
	want := map[string]string{
		"reconstruction": needs("images"),
		"kl":             needs("posteriors of the codes"),
		"lsbd":           needs("transported codes of labelled groups") + "; want planes, such as {angle: [0, 1]}, or the model lsbd-vae",
		"variance":       labels,
		"diameter":       labels,
		"mpd":            labels,
		"radius":         labels,
		"mad":            labels,
		"contraction":    labels,
		"left-inverse":   labels,
		"separation":     labels,
		"tc":             needs("samples of the codes"),
		"conditional-tc": needs("masks of active codes") + "; want active, such as [{columns: [2, 3], factor: shape, levels: [0]}]",
		"assignment":     needs("a hierarchy of codes") + "; want the model joint-vae or cofhae",
		"regression":     needs("a hierarchy of codes") + "; want the model joint-vae or cofhae",
		"dip-i":          needs("codes"),
		"dip-ii":         needs("codes"),
		"hsic":           needs("codes"),
		"logic":          needs("codes"),
		"slow":           needs("codes"),
		"weight-decay":   needs("weights that are trained"),

		"entanglement": needs("actions that rotate the codes") + "; want the model quessard",
		"prediction":   needs("codes predicted by actions") + "; want the model forward-vae",

		"cosine-regression": needs("predictions of another view") + "; want the model byol or simsiam",
		"cross-correlation": needs("projections of two views") + "; want the model byol or simsiam or barlow-twins",
		"info-nce":          needs("a queue of keys") + "; want the model moco or moco-v2",
		"score-matching":    needs("an energy of images") + "; want the model ice-beem",
	}
	for _, name := range losses.Registry.Names() {
		c := must.Get(losses.Named(name))(t)
		if _, err := losses.ComposeInput(&losses.Input{}, []losses.Choice{c}); err == nil || err.Error() != "loss "+name+": "+want[name] {
			t.Errorf("%s: error %v, and the map want of this test has %q", name, err, want[name])
		}
	}
	o := outputs()
	o.Logits = nil
	must.ErrorOf(losses.ComposeInput(o, choose(t, "[reconstruction]")))(t, "logits")
	o.Transports = o.Transports[1:]
	must.ErrorOf(losses.ComposeInput(o, choose(t, "[lsbd]")))(t, "transformations act")
}

func TestComposeErrors(t *testing.T) {
	cause := errors.New("no more ink")
	bad := losses.Choice{Name: "broken", Value: broken{cause}}
	if _, err := losses.ComposeInput(outputs(), []losses.Choice{bad}); !errors.Is(err, cause) ||
		!strings.Contains(err.Error(), "loss broken") {
		t.Errorf("error %v", err)
	}
	o := outputs()
	for want, node := range map[string]*gorgonia.Node{
		"loss odd: it returned no node; want a scalar node":                                                        nil,
		"loss odd: it returned a node of shape (2, 2); want a scalar node":                                         o.Images,
		"total of the losses: weighted sum: input 0 (loss odd): want float32 or":                                   gorgonia.NewScalar(o.Images.Graph(), tensor.Int, gorgonia.WithName("whole")),
		"total of the losses: weighted sum: input 1 (loss odd) belongs to another graph; want inputs of one graph": gorgonia.NewScalar(gorgonia.NewGraph(), tensor.Float64, gorgonia.WithName("elsewhere")),

		"loss odd: it returned a constant; want a node": gorgonia.NewConstant(3.0),
	} {
		bad := losses.Choice{Name: "odd", Value: returns{node}}
		all := []losses.Choice{bad}
		if strings.Contains(want, "one graph") {
			all = append(choose(t, "[reconstruction]"), bad)
		}
		if _, err := losses.ComposeInput(o, all); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for _, none := range [][]losses.Choice{nil, {{}}} {
		if _, err := losses.ComposeInput(outputs(), none); err == nil {
			t.Errorf("no error for the losses %v", none)
		}
	}
	if _, err := losses.Named("recon"); err == nil {
		t.Error("no error for an unknown loss")
	}
	g := gorgonia.NewGraph()
	vector := gorgonia.NewVector(g, tensor.Float32, gorgonia.WithShape(3), gorgonia.WithName("v"))
	must.ErrorOf(losses.KLGaussian(vector, vector))(t, "[rows, columns]")
}

// returns is a loss from outside the package.
type returns struct{ node *gorgonia.Node }

func (r returns) Add(*losses.Input) (*gorgonia.Node, error) { return r.node, nil }
func (returns) Weighting() losses.Weight                    { return losses.Constant(1) }

type broken struct{ err error }

func (b broken) Add(*losses.Input) (*gorgonia.Node, error) { return nil, b.err }
func (broken) Weighting() losses.Weight                    { return losses.Constant(1) }

func TestConfigErrors(t *testing.T) {
	for source, want := range map[string]string{
		"[reconstrution]":                                             `unknown loss "reconstrution"; did you mean "reconstruction"?`,
		"[{reconstruction: {likelihood: gauss}}]":                     "losses.0.reconstruction.likelihood: want gaussian or bernoulli, got \"gauss\"",
		"[{reconstruction: {sigma: 0}}]":                              "sigma: want a positive number",
		"[{reconstruction: {likelihood: bernoulli, sigma: 2}}]":       "sigma: it applies to the gaussian likelihood only",
		"[{reconstruction: {likelihood: bernoulli, constant: true}}]": "constant: it applies",
		"[kl, {kl: {weight: -1}}]":                                    "losses.1.kl.weight: want a number from 0",
		"[{lsbd: {variant: public-code, identity: false}}]":           "identity: want true: public-code measures all spaces",
		"[{lsbd: {variant: private}}]":                                "variant: want paper or public-code",
		"[{lsbd: {gamma: 1}}]":                                        `unknown key "gamma"`,
	} {
		var s struct {
			Losses []losses.Choice `yaml:"losses"`
		}
		must.Error(t, config.Load("l.yaml", []byte("losses: "+source), &s), want, source)
	}
	choices := choose(t, "[reconstruction, {lsbd: {weight: 3}}]")
	text, err := config.Encode(struct {
		Losses []losses.Choice `yaml:"losses"`
	}{choices})
	if err != nil || !strings.Contains(string(text), "weight: 3") || !strings.Contains(string(text), "likelihood: gaussian") {
		t.Errorf("%s%v", text, err)
	}
}

package conformance_test

import (
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models"
)

// faultyModel is an autoencoder with one fault.
type faultyModel struct {
	Fault string `yaml:"fault" doc:"what is wrong"`
}

func (s *faultyModel) New(data models.Data, seed uint64) (models.Model, error) {
	switch s.Fault {
	case "seeds by the clock":
		seed = uint64(clock())
	case "ignores its seed":
		seed = 5
	}
	ae := models.NewAE()
	mlp, err := nn.NamedEncoder("mlp")
	if err != nil {
		return nil, err
	}
	ae.Encoder = mlp
	inner, err := ae.New(data, seed)
	if err != nil {
		return nil, err
	}
	return &brokenModel{Model: inner, fault: s.Fault}, nil
}

type brokenModel struct {
	models.Model
	fault string
	calls float32
}

func (m *brokenModel) Spaces() []models.Space {
	list := m.Model.Spaces()
	switch first := &list[0]; m.fault {
	case "another width":
		first.Width++
	case "options of many columns":
		first.Options = 3
	case "negative options":
		first.Width, first.Options = 1, -1
	case "options of a number":
		first.Width, first.Options = 1, 3
	case "options last":
		first.Width--
		return append(list, models.Space{Name: "last", First: first.Width, Width: 1, Options: 3})
	}
	return list
}

func (m *brokenModel) Encode(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	m.calls++
	z, err := m.Model.Encode(g, images)
	if err != nil {
		return nil, err
	}
	switch m.fault {
	case "codes by the call":
		return graph.Scale(float64(m.calls), z)
	case "one code":
		return graph.Scale(0, z)
	case "codes by the batch": // standardised over the batch
		moments, err := layer.BatchMoments(z, 1)
		if err != nil {
			return nil, err
		}
		return layer.BatchNorm(z, moments, nil, nil, layer.NormOptions{Epsilon: 1e-5})
	}
	return z, nil
}

func (m *brokenModel) Decode(g *nn.Graph, codes *gorgonia.Node) (*gorgonia.Node, error) {
	x, err := m.Model.(models.Decoder).Decode(g, codes)
	if err == nil && m.fault == "flat images" {
		return graph.Flatten(x)
	}
	return x, err
}

func (m *brokenModel) Build(g *nn.Graph, o models.Objective, n, group int) (*models.Program, error) {
	p, err := m.Model.Build(g, o, n, group)
	if err != nil {
		return nil, err
	}
	out := p.Outputs
	switch m.fault {
	case "a forgotten state": // a running mean in the program
		mean, err := g.Input("mean", 1)
		if err != nil {
			return nil, err
		}
		m.remember(p, nn.Data(mean))
	case "a state in the program":
		steps := float32(0)
		p.After = func(models.Step) error {
			steps++
			m.Params().Get(m.Params().Names()[0]).Float32s()[0] += steps
			return nil
		}
	case "a late parameter":
		if out.Codes, err = nn.Dense(g, out.Codes, "late", 3, graph.Linear); err != nil {
			return nil, err
		}
		out.Sample = out.Codes
	case "nothing learns":
		for _, n := range []**gorgonia.Node{&out.Codes, &out.Sample, &out.Logits} {
			if *n, err = graph.StopGradient(*n); err != nil {
				return nil, err
			}
		}
	case "no number for one image": // the unbiased variance
		factor := 1 / float64(n-1)
		out.Codes, err = graph.Scale(factor, out.Codes)
	case "rows and batch":
		out.Rows++
	}
	return p, err
}

// remember adds a change to a parameter that depends on a value outside the parameters.
func (m *brokenModel) remember(p *models.Program, mean []float32) {
	p.Kept = []*gorgonia.Node{p.Outputs.Codes}
	p.After = func(s models.Step) error {
		mean[0] = 0.9*mean[0] + 0.1*s.Value(p.Outputs.Codes)[0]
		m.Params().Get(m.Params().Names()[0]).Float32s()[0] += mean[0]
		return nil
	}
}

func TestModelsFindFaults(t *testing.T) {
	long.NotShort(t)
	for fault, want := range map[string]string{
		"":                        "",
		"seeds by the clock":      "differs between two models of one seed",
		"ignores its seed":        "two seeds give the same parameters",
		"another width":           "Encode gives 10 columns; want the 11 of Spaces",
		"options of many columns": "has 3 options, 10 columns from column 0",
		"negative options":        "has -1 options, 1 columns from column 0",
		"options of a number":     "want the number of one of 3 options, or 0",
		"options last":            `"last" has 3 options, 1 columns from column 9`,
		"codes by the call":       "Encode gives other codes at the second call",
		"one code":                "returns one code for different images",
		"codes by the batch":      "depends on the rest of its batch",
		"flat images":             "Decode returns shape [4 256]; want [4 16 16 1]",
		"a forgotten state":       "a new model with the same parameters and states takes another step",
		"a state in the program":  "a new model with the same parameters and states takes another step",
		"a late parameter":        "it makes the parameters [late/weight late/bias]",
		"nothing learns":          "no output depends on a parameter that is trained",
		"no number for one image": "a single image: gradient of encoder/dense1/weight: element",
		"rows and batch":          "a batch of 7 images has codes of 6 rows",
	} {
		err := conformance.CheckModel(registry.Entry[models.Settings]{Name: "faulty", Doc: "an autoencoder",
			New: func() models.Settings { return &faultyModel{Fault: fault} }})
		must.Error(t, err, want, fault)
	}
}

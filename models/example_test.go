package models_test

import (
	"fmt"
	"log"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
)

// Spherical is an autoencoder of a linear encoder whose code lies on the unit sphere, and a dense decoder, to be
// trained with the loss reconstruction.
type Spherical struct {
	Latent int `yaml:"latent" doc:"columns of the code"`
}

// Validate checks the settings.
func (s *Spherical) Validate() error {
	if s.Latent < 2 {
		return config.Invalid("latent", "want 2 or more, got %d", s.Latent)
	}
	return nil
}

// New implements models.Settings.
func (s *Spherical) New(data models.Data, seed uint64) (models.Model, error) {
	m := &spherical{s.Latent, data, nn.NewParams(seed)}
	return m, models.Materialise(m, data)
}

type spherical struct {
	latent int
	data   models.Data
	params *nn.Params
}

func (m *spherical) Params() *nn.Params { return m.params }
func (m *spherical) Objectives() []models.Objective {
	return []models.Objective{{Name: "unsupervised"}}
}
func (m *spherical) Spaces() []models.Space { return []models.Space{{Name: "sphere", Width: m.latent}} }

func (m *spherical) Encode(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	h, err := graph.Flatten(images)
	if err != nil {
		return nil, err
	}
	if h, err = nn.Dense(g, h, "encoder", m.latent, graph.Linear); err != nil {
		return nil, err
	}
	return graph.NormaliseRows(h)
}

func (m *spherical) Decode(g *nn.Graph, codes *gorgonia.Node) (*gorgonia.Node, error) {
	return (&nn.MLP{Hidden: []int{16}, Activation: "tanh", Init: "glorot"}).Decode(g, codes, "decoder",
		tensor.Shape{m.data.Height, m.data.Width, m.data.Channels})
}

func (m *spherical) Build(g *nn.Graph, _ models.Objective, n, _ int) (*models.Program, error) {
	images, err := g.Input("images", n, m.data.Height, m.data.Width, m.data.Channels)
	if err != nil {
		return nil, err
	}
	z, err := m.Encode(g, images)
	if err != nil {
		return nil, err
	}
	logits, err := m.Decode(g, z)
	if err != nil {
		return nil, err
	}
	return &models.Program{Outputs: &losses.Outputs{Images: images, Codes: z, Sample: z, Logits: logits, Rows: n}}, nil
}

// A model written outside the module, registered, and trained by hand with a loss that a config could name. A command
// of one's own trains it as it trains any other.
func Example() {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	check(models.Register(registry.Entry[models.Settings]{Name: "spherical", Doc: "autoencoder with a code on the unit sphere",
		New: func() models.Settings { return &Spherical{Latent: 3} }}))
	choice, err := models.Named("spherical")
	check(err)
	const n, side = 16, 4
	model, err := choice.Value.New(models.Data{Height: side, Width: side, Channels: 1}, 1)
	check(err)

	g := nn.NewGraph(model.Params())
	g.Training = true
	program, err := model.Build(g, model.Objectives()[0], n, 1)
	check(err)
	loss, err := losses.Named("reconstruction")
	check(err)
	objective, err := losses.Compose(program.Outputs, losses.Batch{}, &losses.Requests{Graph: g}, []losses.Choice{loss})
	check(err)
	_, weights := g.Learnables()
	gradients, err := gorgonia.Grad(objective.Total, weights...)
	check(err)
	m, err := machine.New(g.ExprGraph, append(gradients, objective.Total)...)
	check(err)
	images := nn.Data(program.Outputs.Images)
	for i := range n { // one white pixel each
		images[i*side*side+i] = 1
	}
	adam, values := machine.NewAdam(), gorgonia.NodesToValueGrads(weights)
	adam.LearningRate = 0.02
	for step := range 1001 {
		check(m.RunAll())
		if step%1000 == 0 {
			fmt.Printf("step %d: squared error %.1f\n", step, objective.Total.Value().Data())
		}
		check(adam.Step(values))
	}
	// Output:
	// step 0: squared error 4.1
	// step 1000: squared error 0.0
}

package latent_test

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/latent"
)

// BenchmarkStep runs loss and gradients of convolutional networks on images of 64 by 64 pixels: a VAE, and an
// LSBD-VAE on 50 labelled pairs.
func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		name                   string
		list                   latent.List
		batch, group, channels int
	}{
		{"vae", latent.Of(euclidean(10)), 64, 0, 1},
		{"vae", latent.Of(euclidean(10)), 64, 0, 3},
		{"lsbd-vae", latent.Of(sphere(1), sphere(1)), 100, 2, 1},
	} {
		b.Run(fmt.Sprintf("%s/%dx64x64x%d", c.name, c.batch, c.channels), func(b *testing.B) {
			m := must.Get(program(c.list, c.batch, c.group, c.channels))(b)
			if err := m.RunAll(); err != nil { // buffers are allocated here
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				must.OK(b, m.RunAll())
			}
		})
	}
}

// program builds the loss and the gradients of a model, with random inputs.
func program(l latent.List, batch, group, channels int) (*machine.Machine, error) {
	g, r := nn.NewGraph(nn.NewParams(1)), rng.New(1, "program")
	images, err := g.Input("images", batch, 64, 64, channels)
	if err != nil {
		return nil, err
	}
	for i, x := 0, nn.Data(images); i < len(x); i++ {
		x[i] = r.Float32()
	}
	features, err := nn.NewConvEncoder().Encode(g, images, "encoder")
	if err != nil {
		return nil, err
	}
	variables, err := l.Variables(g, features)
	if err != nil {
		return nil, err
	}
	o := &losses.Outputs{Images: images, Rows: batch}
	codes := make([]*latent.Variable, len(variables))
	for i, v := range variables {
		r.Normals(nn.Data(v.Noise))
		o.Posteriors = append(o.Posteriors, v)
		codes[i] = &latent.Variable{Sample: v.Sample}
		if group == 0 {
			continue
		}
		moves, err := g.Input(fmt.Sprint("moves", i), batch, v.Space.Columns())
		if err != nil {
			return nil, err
		}
		t, err := v.Transport(moves, group)
		if err != nil {
			return nil, err
		}
		o.Transports, codes[i].Sample = append(o.Transports, t), t.Moved
	}
	z, err := latent.Samples(codes)
	if err != nil {
		return nil, err
	}
	if o.Logits, err = nn.NewConvDecoder().Decode(g, z, "decoder", tensor.Shape{64, 64, channels}); err != nil {
		return nil, err
	}
	return gradients(g, o, group)
}

// gradients adds up all losses that apply, and differentiates them.
func gradients(g *nn.Graph, o *losses.Outputs, group int) (*machine.Machine, error) {
	var choices []losses.Choice
	for _, name := range []string{"reconstruction", "kl", "lsbd"} {
		c, err := losses.Named(name)
		if err != nil {
			return nil, err
		}
		choices = append(choices, c)
	}
	if group == 0 {
		choices = losses.Unsupervised(choices)
	}
	objective, err := losses.Compose(o, losses.Batch{Group: group}, nil, choices)
	if err != nil {
		return nil, err
	}
	_, parameters := g.Learnables()
	grads, err := gorgonia.Grad(objective.Total, parameters...)
	if err != nil {
		return nil, err
	}
	return machine.New(objective.Total.Graph(), append(grads, objective.Total)...)
}

package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models"
)

// dropping is an encoder with dropout.
type dropping struct{ rate float64 }

func (d dropping) Encode(g *nn.Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error) {
	h, err := graph.Flatten(images)
	if err != nil {
		return nil, err
	}
	if h, err = nn.Dropout(g, h, name+"/dropout1", d.rate); err != nil {
		return nil, err
	}
	if h, err = nn.Dense(g, h, name+"/dense", 8, graph.Tanh); err != nil {
		return nil, err
	}
	return nn.Dropout(g, h, name+"/dropout2", d.rate)
}

// loopWithDropout prepares training of the encoder on a task.
func loopWithDropout(t *testing.T, source string, rate float64) *Loop {
	t.Helper()
	task, settings := taskOf(t, source)
	settings.Epochs = 3
	var err error
	choice := nn.EncoderChoice{Name: "dropping", Value: dropping{rate}}
	decoder := nn.DecoderChoice{Name: "mlp", Value: nn.NewMLP()}
	if task.Model, err = (&models.VAE{Networks: models.Networks{Encoder: choice, Decoder: &decoder},
		Latent: 4}).New(models.DataOf(task.Data), 1); err != nil {
		t.Fatal(err)
	}
	l := must.Get(New(task, settings))(t)
	t.Cleanup(l.Close)
	return l
}

// Masks are new in every step, also for second batches. A continued run ends with the bits of an uninterrupted run.
func TestDropout(t *testing.T) {
	for name, source := range map[string]string{"judged": judged,
		"second batches": strings.Replace(judged, "hidden: [32, 32]}", "hidden: [32, 32], second_batch: true}", 1)} {
		var want, saved, got bytes.Buffer
		whole, first, second := loopWithDropout(t, source, 0.5), loopWithDropout(t, source, 0.5), loopWithDropout(t, source, 0.5)
		first.AddHook(Hook{Name: "stop", OnStep: func(_ context.Context, l *Loop, r *StepReport) error {
			if r.Step == 7 {
				l.Stop("")
			}
			return nil
		}})
		must.OK(t, errors.Join(whole.Run(context.Background()), whole.Save(&want), first.Run(context.Background()), first.Save(&saved)))
		must.OK(t, errors.Join(second.Load(&saved), second.Run(context.Background()), second.Save(&got)))
		if !bytes.Equal(parameters(t, got.Bytes()), parameters(t, want.Bytes())) {
			t.Errorf("%s: a continued run ends with other bits", name)
		}
		var masks [][]float32
		for _, p := range whole.programs {
			for _, q := range []*program{p, p.second} {
				if q == nil {
					continue
				}
				if len(q.masks) != 2 {
					t.Fatalf("%s: %d masks, want 2", name, len(q.masks))
				}
				for _, m := range q.masks {
					masks = append(masks, nn.Data(m.Node)[:8])
				}
			}
		}
		for i, m := range masks {
			if slices.ContainsFunc(masks[i+1:], func(other []float32) bool { return slices.Equal(m, other) }) || !slices.Contains(m, 2) {
				t.Errorf("%s: masks %v", name, masks)
			}
		}
	}
}

// The state of a task without dropout has no dropout entries, and does not fit a task with dropout. Masks count as
// memory.
func TestDropoutState(t *testing.T) {
	var plain bytes.Buffer
	without, with := loopWithDropout(t, judged, 0), loopWithDropout(t, judged, 0.5)
	must.OK(t, without.Save(&plain))
	if bytes.Contains(plain.Bytes(), []byte("dropout")) {
		t.Error("the state of a task without dropout names it")
	}
	must.Error(t, with.Load(&plain), "the checkpoint or this experiment has dropout, but not both")
	bytesOf := func(l *Loop) (sum float64) {
		for _, p := range l.programs {
			sum += p.machine.Bytes()
		}
		return sum
	}
	// Masks, values and one gradient of the codes (images have no gradient).
	must.Equal(t, bytesOf(with)-bytesOf(without), 4.*100*(2*256+3*8), "dropout takes", "bytes")
}

package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
)

// drawnTask is a task with a split that draws pairs of images for every epoch, with the action to the second image, and
// moves on request.
func drawnTask(t testing.TB, moves bool, source string, overrides ...string) (Task, Settings) {
	t.Helper()
	task, settings := taskOf(t, source, overrides...)
	s, n := *task.Split, task.Data.Len()
	s.M, s.Groups, s.Transformations, s.Unlabelled = 2, nil, nil, s.Unlabelled[:50]
	s.Actions = []supervision.Action{{Name: "back"}, {Name: "on"}}
	s.Drawn = &supervision.Drawn{M: 2, Count: 20, Draw: func(s *rng.Stream, images []int, actions []int32) {
		images[0] = s.IntN(n)
		actions[1] = int32(s.IntN(2))
		images[1] = (images[0] + n - 1 + 2*int(actions[1])) % n
	}}
	if moves {
		s.Drawn.Moves, s.Drawn.K = supervision.MovesOf(task.Data)
	}
	task.Split = &s
	return task, settings
}

// paired is a model of pairs drawn for every epoch, and of single images.
const paired = `
seed: 5
dataset: {square: {size: 16, side: 4}}
supervision: {changes: {k: 1, count: 24, unlabelled: true}}
model: {ada-gvae: {encoder: {mlp: {hidden: [16]}}, latent: 4}}
losses: [reconstruction, kl, {slow: {weight: 1}}, {tc: {estimator: adversarial, discriminator: {hidden: [8], second_batch: true}}}]
train: {epochs: 2, batch: 64}
`

func drawnLoop(t testing.TB, moves bool, source string, overrides ...string) *Loop {
	t.Helper()
	l := must.Get(New(drawnTask(t, moves, source, overrides...)))(t)
	t.Cleanup(l.Close)
	return l
}

// TestDrawnResume checks that training on groups drawn for every epoch, also in second batches of discriminators,
// resumes at any step with the same bits.
func TestDrawnResume(t *testing.T) {
	long.NotShort(t)
	for _, source := range []string{tiny, judged, paired} {
		if source == paired {
			resumes(t, 5, func() *Loop { return loopOf(t, paired) })
			continue
		}
		overrides := []string{"train.epochs=2", "train.batch=16"}
		if source == judged {
			overrides = append(overrides, "losses.+={lsbd: {planes: {row: [0, 1]}}}", secondBatch[0])
		}
		resumes(t, 3+4, func() *Loop { return drawnLoop(t, true, source, overrides...) })
	}
}

// resumes checks that a loop saved at any step and loaded into another loop ends with the same bits. An epoch has the
// given number of steps.
func resumes(t *testing.T, steps int, loop func() *Loop) {
	t.Helper()
	bits := func(l *Loop) []byte {
		var b bytes.Buffer
		must.OK(t, l.Save(&b))
		return parameters(t, b.Bytes())
	}
	whole := loop()
	must.OK(t, whole.Run(context.Background()))
	must.Equal(t, whole.EpochSteps(), steps, "steps in an epoch")
	for _, stop := range stops(whole.Step()) {
		first, second := loop(), loop()
		first.AddHook(Hook{Name: "stop", OnStep: func(_ context.Context, l *Loop, r *StepReport) error {
			if r.Step == stop {
				l.Stop("")
			}
			return nil
		}})
		var saved bytes.Buffer
		must.OK(t, errors.Join(first.Run(context.Background()), first.Save(&saved), second.Load(&saved), second.Run(context.Background())))
		if !bytes.Equal(bits(second), bits(whole)) {
			t.Errorf("resumed after step %d, the bits differ", stop)
		}
	}
}

// TestUnknownMoves checks that models and losses that need unknown moves within groups give errors.
func TestUnknownMoves(t *testing.T) {
	for want, overrides := range map[string][]string{
		"the model needs the transformations within groups": nil,
		"it needs the transformations within labelled":      {"model={ae: {latent: 2, encoder: {mlp: {hidden: [8]}}}}", "losses=[reconstruction, {lsbd: {planes: {row: [0, 1]}}}]"},
		"with unknown transformations, and nothing learns":  {"model={ae: {latent: 2, encoder: {mlp: {hidden: [8]}}}}", "losses=[reconstruction]"},
	} {
		must.ErrorOf(New(drawnTask(t, false, tiny, overrides...)))(t, want)
	}
}

// acted is a model with actions.
type acted struct {
	models.Model
	count int
}

func (m acted) Objectives() []models.Objective {
	return []models.Objective{{Name: "acted", Labelled: true}, {Name: "unsupervised"}}
}

func (m acted) Build(g *nn.Graph, o models.Objective, n, group int) (*models.Program, error) {
	p, err := m.Model.Build(g, o, n, group)
	if err == nil && o.Labelled {
		p.Actions, err = g.Input("actions", n, m.count)
	}
	return p, err
}

// actionLoss requests the actions.
type actionLoss struct{ asked func(*gorgonia.Node) }

func (l actionLoss) Weighting() losses.Weight { return losses.Constant(1) }

func (l actionLoss) Supervised() {}

func (l actionLoss) Add(in *losses.Input) (*gorgonia.Node, error) {
	if in.Actions == nil {
		return nil, errors.New("no actions")
	}
	n, err := in.Actions()
	if err != nil {
		return nil, err
	}
	l.asked(n)
	return gorgonia.Sum(n)
}

// TestActions checks that the model and a loss get the actions of a batch.
func TestActions(t *testing.T) {
	task, settings := drawnTask(t, false, tiny, "model={ae: {latent: 2, encoder: {mlp: {hidden: [8]}}}}",
		"losses=[reconstruction]", "train.epochs=1", "train.batch=16")
	task.Model = acted{task.Model, 2}
	var asked *gorgonia.Node
	task.Losses = append(task.Losses, losses.Choice{Name: "acts", Value: actionLoss{func(n *gorgonia.Node) { asked = n }}})
	l := must.Get(New(task, settings))(t)
	defer l.Close()
	p, batches := l.programs[batchShape{true, 16, 2}], 0
	sampler := must.Get(supervision.NewSampler(task.Split, 16, rng.New(task.Seed, "batch")))(t)
	must.OK(t, sampler.StartEpoch())
	l.AddHook(Hook{Name: "look", OnStep: func(_ context.Context, _ *Loop, r *StepReport) error {
		b, _ := sampler.Next()
		if r.Images != 16 || r.Objective != "acted" {
			return nil
		}
		want := make([]float32, 2*16)
		for row, a := range b.Actions {
			if a >= 0 {
				want[2*row+int(a)] = 1
			}
		}
		if batches++; !slices.Equal(nn.Data(p.actions.model), want) || !slices.Equal(nn.Data(asked), want) || r.Values[2] != 8 {
			t.Errorf("actions %v, %v of the loss, want %v; losses %v", nn.Data(p.actions.model), nn.Data(asked), want, r.Values)
		}
		return nil
	}})
	if err := l.Run(context.Background()); err != nil || batches != 2 {
		t.Errorf("error %v, %d batches", err, batches)
	}
	for want, change := range map[string]func(*Task){
		"the supervision has none; want one with actions": func(t *Task) {
			s := *t.Split
			s.Drawn, s.Groups = nil, nil
			s.Actions = nil
			s.Groups, s.Transformations = [][]int{{1, 2}}, [][]float32{make([]float32, 4)}
			t.Split = &s
		},
		"takes 3 actions, and the supervision has 2": func(t *Task) { t.Model = acted{t.Model.(acted).Model, 3} },
	} {
		other := task
		change(&other)
		must.ErrorOf(New(other, settings))(t, want)
	}
}

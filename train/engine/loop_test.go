package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/race"
	"github.com/unravel-ml/unravel/losses"
)

func TestStepAllocations(t *testing.T) {
	loop := loopOf(t, tiny, "train.epochs=9")
	ctx := context.Background()
	epoch := func() {
		must.OK(t, loop.RunEpoch(ctx))
	}
	epoch() // the first epoch allocates buffers
	var before, after runtime.MemStats
	steps := loop.Step()
	runtime.ReadMemStats(&before)
	for range 3 {
		epoch()
	}
	runtime.ReadMemStats(&after)
	n := float64(loop.Step() - steps)
	objects, bytes := float64(after.Mallocs-before.Mallocs)/n, float64(after.TotalAlloc-before.TotalAlloc)/n
	t.Logf("%.1f objects, %.0f bytes a step", objects, bytes)
	if (objects > 100 || bytes > 64<<10) && !race.Enabled { // the race detector drops items from pools
		t.Errorf("a step allocates %.1f objects, %.0f bytes; want at most 100 and 64 KiB", objects, bytes)
	}
}

// A step reports its objective, the number of images, and the losses.
func TestReports(t *testing.T) {
	loop := loopOf(t, tiny, "losses=[reconstruction, {kl: {weight: 2}}, kl, {lsbd: {weight: 10}}]", "train.epochs=1")
	sums, images := map[string]float64{}, map[string]int{}
	step := 0
	loop.AddHook(Hook{Name: "check", OnStep: func(_ context.Context, _ *Loop, r *StepReport) error {
		step++
		labelled := step <= 2
		want, names := "unsupervised", "loss reconstruction kl kl-2"
		total := r.Values[1] + 2*r.Values[2] + r.Values[3]
		if labelled {
			want, names = "supervised", "loss reconstruction kl kl-2 lsbd"
			total += 10 * r.Values[4]
		}
		if r.Step != step || r.InEpoch != step || r.Of != tinySteps || r.Epoch != 1 || r.Images != 32 ||
			r.Objective != want || strings.Join(r.Names, " ") != names {
			t.Errorf("step %d: %+v", step, r)
		}
		if !(math.Abs(r.Values[0]-total) <= 1e-5*total) {
			t.Errorf("step %d: loss %v, its parts add up to %v", step, r.Values[0], total)
		}
		sums[want] += r.Values[0] * 32
		images[want] += 32
		return nil
	}, OnEpoch: func(_ context.Context, _ *Loop, r *EpochReport) error {
		if r.Epoch != 1 || r.Of != 1 || r.Step != tinySteps || r.Images != 256 || len(r.Losses) != 2 {
			t.Errorf("epoch: %+v", r)
		}
		for _, l := range r.Losses {
			if want := sums[l.Objective] / float64(images[l.Objective]); !(math.Abs(l.Values[0]-want) <= 1e-12*want) {
				t.Errorf("%s: mean loss %v, want %v", l.Objective, l.Values[0], want)
			}
		}
		return nil
	}})
	must.OK(t, loop.Run(context.Background()))
	must.Equal(t, step, tinySteps, "steps")
	for name, want := range map[string]int{"supervised": 2, "unsupervised": 6} {
		if at, _ := named(loop, name).optimizer.State(); *at != want {
			t.Errorf("the optimiser of %s took %d steps, want %d", name, *at, want)
		}
	}
}

// A hook's error ends training and names the hook.
func TestHookError(t *testing.T) {
	loop := loopOf(t, tiny)
	broken := errors.New("broken")
	loop.AddHook(Hook{Name: "mine", OnStep: func(_ context.Context, _ *Loop, r *StepReport) error {
		if r.Step == 3 {
			return broken
		}
		return nil
	}})
	if err := loop.Run(context.Background()); !errors.Is(err, broken) || err.Error() != "mine: broken" || loop.Step() != 3 {
		t.Errorf("%v after %d steps", err, loop.Step())
	}
}

func TestNotFinite(t *testing.T) {
	loop := loopOf(t, tiny, "train.optimizer.adam.lr=1e30")
	err := loop.Run(context.Background())
	var first *machine.NotFinite
	if !errors.As(err, &first) {
		t.Fatalf("error %v, want one that names a node", err)
	}
	for _, want := range []string{"step 2 (epoch 1), objective supervised", "node", first.Node, "learning rate"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	task, settings := taskOf(t, tiny)
	task.Data = unset{task.Data}
	dark := must.Get(New(task, settings))(t)
	defer dark.Close()
	must.Error(t, dark.Run(context.Background()), `of node "images" (input); look at the images of the data`)
	for own, want := range map[ownLoss]string{
		"root":   "objective supervised, loss own: the loss or its gradient is not finite",
		"matrix": `loss own: nothing trains the node "w" of shape (2, 2); want Trainer.Network`,
		"random": "loss own: the node \"",
	} {
		task.Data, task.Losses = dark.Data().(unset).Dataset, append(task.Losses[:1:1], losses.Choice{Name: "own", Value: own})
		loop, err := New(task, settings)
		if err == nil {
			err = loop.Run(context.Background())
			loop.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || own == "root" && !strings.Contains(err.Error(), "at the loss own") {
			t.Errorf("own loss, %s: %v", own, err)
		}
	}
	for _, rate := range []wrongRate{-0.5, wrongRate(math.NaN()), wrongRate(math.Inf(1))} {
		loop := loopOf(t, tiny)
		loop.settings.Schedule = rate
		if err := loop.Run(context.Background()); err == nil ||
			!strings.HasPrefix(err.Error(), "step 1, objective supervised: ") || !strings.Contains(err.Error(), fmt.Sprintf("by %v; want a number from 0 on", float64(rate))) {
			t.Errorf("a schedule of %v: %v", rate, err)
		}
	}
	broken := loopOf(t, tiny)
	broken.Params().Get("encoder/dense1/weight").Float32s()[5] = float32(math.Inf(1))
	if _, _, err := broken.State(); err == nil || !strings.Contains(err.Error(), `element 5 of parameter "encoder/dense1/weight" is +Inf`) {
		t.Errorf("a checkpoint of parameters that are not finite: %v", err)
	}
}

// unset is a data set whose later images have NaN.
type unset struct{ datasets.Dataset }

func (u unset) Image(i int, dst []float32) {
	if u.Dataset.Image(i, dst); i >= 64 {
		dst[0] = float32(math.NaN())
	}
}

// wrongRate is a schedule of a constant rate.
type wrongRate float64

func (w wrongRate) Rate(_, _ float64) float64 { return float64(w) }

// still is a loss of the images alone, which no parameter can lower.
type still struct{}

func (still) Weighting() losses.Weight                     { return losses.Constant(1) }
func (still) Add(in *losses.Input) (*gorgonia.Node, error) { return gorgonia.Sum(in.Images) }

func TestIdleLoss(t *testing.T) {
	task, settings := taskOf(t, tiny)
	for _, idle := range []bool{false, true} {
		if idle {
			task.Losses = append(task.Losses, losses.Choice{Name: "still", Value: still{}})
		}
		l := must.Get(New(task, settings))(t)
		defer l.Close()
		if got := slices.Contains(l.Notes(),
			"the loss still depends on no parameter that trains; it is only logged"); got != idle || len(l.Notes()) > 0 != idle {
			t.Errorf("notes %q", l.Notes())
		}
	}
}

// ownLoss is a loss with a fault of a user's own loss.
type ownLoss string

func (ownLoss) Weighting() losses.Weight { return losses.Constant(1) }

func (l ownLoss) Add(in *losses.Input) (*gorgonia.Node, error) {
	g, y := in.Codes.Graph(), in.Codes
	switch l {
	case "root": // finite, with a gradient that is not
		y = gorgonia.Must(gorgonia.Sqrt(gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Sub(y, y))))))
	case "matrix":
		w := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(2, 2), gorgonia.WithName("w"), gorgonia.WithInit(gorgonia.Ones()))
		y = gorgonia.Must(gorgonia.Add(y, gorgonia.Must(gorgonia.Sum(w))))
	case "random":
		y = gorgonia.Must(gorgonia.HadamardProd(y, gorgonia.GaussianRandomNode(g, tensor.Float32, 0, 1, y.Shape()...)))
	}
	return gorgonia.Sum(y)
}

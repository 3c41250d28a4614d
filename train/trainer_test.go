package train

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/graph/machine"
)

// trainerOf prepares the training of a config.
func trainerOf(t testing.TB, c Config) *Trainer {
	t.Helper()
	e, err := NewExperiment(c)
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := e.Trainer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trainer.Close)
	return trainer
}

// Every embedded experiment loads, survives being written and read, suits its
// metrics, and takes a step.
func TestEmbedded(t *testing.T) {
	for _, name := range configs.Names() {
		t.Run(name, func(t *testing.T) {
			source, err := configs.Read(name)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Load(name, source)
			if err != nil {
				t.Fatal(err)
			}
			checkRoundTrip(t, c)
			e, err := NewExperiment(c)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.suits(c.Metrics.Final, e.Data.Len()); err != nil {
				t.Error(err)
			}
			trainer, err := e.Trainer()
			if err != nil {
				t.Fatal(err)
			}
			defer trainer.Close()
			var loss float64
			enough := errors.New("enough")
			trainer.AddHook(Hook{Name: "first", Step: func(r *StepReport) error {
				loss = r.Values[0]
				return enough
			}})
			if err := trainer.Fit(context.Background()); !errors.Is(err, enough) {
				t.Fatal(err)
			}
			if !(loss > 0) || !finite(loss) {
				t.Errorf("the first loss is %v", loss)
			}
		})
	}
}

// checkRoundTrip compares the texts of a config and of what is read from its text.
func checkRoundTrip(t *testing.T, c Config) {
	t.Helper()
	text, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load("again", text)
	if err != nil {
		t.Fatalf("the config cannot be read back: %v\n%s", err, text)
	}
	second, err := again.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if string(second) != string(text) {
		t.Errorf("the config becomes\n%s\nafter\n%s", second, text)
	}
}

func TestStepAllocations(t *testing.T) {
	source, err := configs.Read("lsbd-vae/square-small")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load("square-small", source)
	if err != nil {
		t.Fatal(err)
	}
	trainer := trainerOf(t, c)
	ctx := context.Background()
	epoch := func() {
		if err := trainer.fitEpoch(ctx); err != nil {
			t.Fatal(err)
		}
	}
	epoch() // buffers are allocated here
	var before, after runtime.MemStats
	steps := trainer.step
	runtime.ReadMemStats(&before)
	for range 3 {
		epoch()
	}
	runtime.ReadMemStats(&after)
	n := float64(trainer.step - steps)
	objects, bytes := float64(after.Mallocs-before.Mallocs)/n, float64(after.TotalAlloc-before.TotalAlloc)/n
	t.Logf("%.1f objects, %.0f bytes a step", objects, bytes)
	if objects > 100 || bytes > 64<<10 {
		t.Errorf("a step allocates %.1f objects, %.0f bytes; want at most 100 and 64 KiB", objects, bytes)
	}
}

// What a step reports: which objective, how many images, which losses.
func TestReports(t *testing.T) {
	c := load(t, "losses=[reconstruction, {kl: {weight: 2}}, kl, {lsbd: {weight: 10}}]", "train.epochs=1")
	trainer := trainerOf(t, c)
	sums, images := map[string]float64{}, map[string]int{}
	step := 0
	trainer.AddHook(Hook{Name: "check", Step: func(r *StepReport) error {
		step++
		labelled := step <= 2
		want, names := "unsupervised", "loss reconstruction kl kl-2"
		total := r.Values[1] + 2*r.Values[2] + r.Values[3]
		if labelled {
			want, names = "supervised", "loss reconstruction kl kl-2 lsbd"
			total += 10 * r.Values[4]
		}
		if r.Step != step || r.InEpoch != step || r.Of != tinySteps || r.Epoch != 1 || r.Images != 32 || r.Objective != want || strings.Join(r.Names, " ") != names {
			t.Errorf("step %d: %+v", step, r)
		}
		if math.Abs(r.Values[0]-total) > 1e-5*total {
			t.Errorf("step %d: loss %v, its parts add up to %v", step, r.Values[0], total)
		}
		sums[want] += r.Values[0] * 32
		images[want] += 32
		return nil
	}, Epoch: func(r *EpochReport) error {
		if r.Epoch != 1 || r.Of != 1 || r.Step != tinySteps || r.Images != 256 || len(r.Losses) != 2 {
			t.Errorf("epoch: %+v", r)
		}
		for _, l := range r.Losses {
			if want := sums[l.Objective] / float64(images[l.Objective]); math.Abs(l.Values[0]-want) > 1e-12*want {
				t.Errorf("%s: mean loss %v, want %v", l.Objective, l.Values[0], want)
			}
		}
		return nil
	}})
	if err := trainer.Fit(context.Background()); err != nil {
		t.Fatal(err)
	}
	if step != tinySteps {
		t.Errorf("%d steps", step)
	}
	for name, want := range map[string]int{"supervised": 2, "unsupervised": 6} {
		if at, _ := trainer.optimizers[name].optimizer.State(); *at != want {
			t.Errorf("the optimiser of %s took %d steps, want %d", name, *at, want)
		}
	}
}

// A hook's error ends training and says which hook it was.
func TestHookError(t *testing.T) {
	trainer := trainerOf(t, load(t))
	broken := errors.New("broken")
	trainer.AddHook(Hook{Name: "mine", Step: func(r *StepReport) error {
		if r.Step == 3 {
			return broken
		}
		return nil
	}})
	if err := trainer.Fit(context.Background()); !errors.Is(err, broken) || err.Error() != "mine: broken" || trainer.step != 3 {
		t.Errorf("%v after %d steps", err, trainer.step)
	}
}

func TestNotFinite(t *testing.T) {
	trainer := trainerOf(t, load(t, "train.optimizer.adam.lr=1e30"))
	err := trainer.Fit(context.Background())
	var first *machine.NotFinite
	if !errors.As(err, &first) {
		t.Fatalf("error %v, want one that names a node", err)
	}
	for _, want := range []string{"step 2 (epoch 1), objective supervised", "node", first.Node, "learning rate"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	broken := trainerOf(t, load(t))
	broken.Model.Params().Get("encoder/dense1/weight").Float32s()[5] = float32(math.Inf(1))
	if _, _, err := broken.checkpoint("", false); err == nil || !strings.Contains(err.Error(), `element 5 of parameter "encoder/dense1/weight" is +Inf`) {
		t.Errorf("a checkpoint of parameters that are not finite: %v", err)
	}
}

// A cut epoch takes so many steps, and a run of cut epochs resumes to the same bits.
func TestEpochSteps(t *testing.T) {
	c := load(t, "train.epoch_steps=3")
	whole, dir := t.TempDir(), t.TempDir()
	if r := trainIn(t, whole, c, false); r.Epochs != 3 || r.Steps != 9 {
		t.Errorf("%d epochs of %d steps together, want 3 of 9", r.Epochs, r.Steps)
	}
	for stop, resume := 1, false; ; stop, resume = stop+2, true {
		if _, err := Run(endAfter(stop), c, Options{Dir: dir, Resume: resume}); err == nil {
			break
		}
	}
	sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
	long := load(t, "train.epoch_steps=100")
	if r := trainIn(t, t.TempDir(), long, false); r.Steps != 3*tinySteps || trainerOf(t, long).epochSteps() != tinySteps {
		t.Errorf("%d steps, want %d: an epoch ends with its data", r.Steps, 3*tinySteps)
	}
}

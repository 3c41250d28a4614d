package train

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/tfevents"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/watch"
)

// events reads the TensorBoard file of a run.
func events(t testing.TB, dir string) (list []*tfevents.Event) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files of events: %v, %v", files, err)
	}
	f := must.Get(os.Open(files[0]))(t)
	defer f.Close()
	for r := tfevents.NewReader(f); ; {
		e, err := r.Next()
		if err == io.EOF {
			return list
		}
		must.OK(t, err)
		list = append(list, e)
	}
}

// stepsOf lists the steps of the events of a tag.
func stepsOf(list []*tfevents.Event, tag string) (steps []int64) {
	for _, e := range list {
		if e.Tag() == tag {
			steps = append(steps, e.Step)
		}
	}
	return steps
}

// A run with figures writes them to the TensorBoard file, with pictures of at most ten evaluations. Repeated stops, and
// a continuation after the end, give the same file.
func TestBoardPictures(t *testing.T) {
	long.NotShort(t)
	c := load(t, "train.epochs=23", "train.epoch_steps=1", "train.figures=true", "metrics.every=2", "metrics.images=40")
	dir := t.TempDir()
	whole, parts := filepath.Join(dir, "whole"), filepath.Join(dir, "parts")
	trainIn(t, whole, c, false)
	want := events(t, whole)
	pictured := []int64{2, 6, 10, 14, 18, 22} // 11 evaluations after 2, 4, ... epochs
	for _, tag := range []string{"reconstructions", "traversals"} {
		must.EqualSlices(t, stepsOf(want, tag), pictured, tag, "after steps")
	}
	drawn, err := filepath.Glob(filepath.Join(whole, "figures", "*.png"))
	if err != nil || len(drawn) < 4 {
		t.Fatal(drawn, err)
	}
	for _, file := range drawn {
		tag := watch.FigureTag + strings.TrimSuffix(filepath.Base(file), ".png")
		at := slices.IndexFunc(want, func(e *tfevents.Event) bool { return e.Tag() == tag })
		if at < 0 {
			t.Errorf("no %s", tag)
			continue
		}
		v := want[at].Values[0]
		stored, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(v.Image.PNG, stored) || v.Description == "" {
			t.Errorf("%s is not the figure %s, %v: %q", tag, file, err, v.Description)
		}
		if size, err := png.DecodeConfig(bytes.NewReader(v.Image.PNG)); err != nil || size.Width != v.Image.Width ||
			size.Height != v.Image.Height {
			t.Errorf("%s: %d x %d, want %+v, %v", tag, v.Image.Width, v.Image.Height, size, err)
		}
	}
	trainInParts(t, parts, c, 9, 4) // more looks each time, because evaluations must end too
	for i := range 2 {
		if i > 0 {
			trainIn(t, parts, c, true)
		}
		got := events(t, parts)
		for _, tag := range []string{"reconstructions", "traversals", "figures/losses", "figures/torus", tfevents.SessionStartTag, tfevents.SessionEndTag} {
			if a, b := stepsOf(got, tag), stepsOf(want, tag); !slices.Equal(a, b) || len(b) == 0 {
				t.Errorf("stopped and continued: %s after steps %v, want %v", tag, a, b)
			}
		}
	}
}

// Settings are written once, and again after a change. The file also states how a run ended.
func TestBoardSession(t *testing.T) {
	dir := t.TempDir()
	broken := errors.New("broken")
	fail := engine.Hook{Name: "mine", OnStep: func(_ context.Context, _ *engine.Loop, r *engine.StepReport) error {
		if r.Step == tinySteps {
			return broken
		}
		return nil
	}}
	status := func() byte { // HParamsPluginData.session_end_info.status
		list := events(t, dir)
		e := list[len(list)-1]
		if e.Tag() != tfevents.SessionEndTag {
			return 0
		}
		return e.Values[0].Plugin.Content[3]
	}
	if _, err := Run(t.Context(), load(t), Options{Dir: dir, Hooks: []engine.Hook{fail}}); !errors.Is(err, broken) ||
		status() != byte(tfevents.Failed) {
		t.Errorf("%v, status %d", err, status())
	}
	if _, err := Run(endAfter(12), load(t), Options{Dir: dir, Resume: true}); !errors.Is(err, ErrStopped) || status() != 0 {
		t.Errorf("%v, status %d; a stopped run has not ended", err, status())
	}
	trainIn(t, dir, load(t), true)
	first := events(t, dir)
	if status() != byte(tfevents.Succeeded) || !bytes.Contains(first[1].Values[0].Plugin.Content, []byte("train.epochs")) {
		t.Errorf("status %d, events %+v", status(), first)
	}
	trainIn(t, dir, load(t, "train.epochs=4"), true)
	list := events(t, dir)
	if !slices.Equal(stepsOf(list, tfevents.SessionStartTag), []int64{0}) || status() != byte(tfevents.Succeeded) {
		t.Errorf("%d events of settings, status %d", len(stepsOf(list, tfevents.SessionStartTag)), status())
	}
	at := slices.IndexFunc(list, func(e *tfevents.Event) bool { return e.Tag() == tfevents.SessionStartTag })
	settings := must.Get(watch.Settings(string(must.Read(t, filepath.Join(dir, "config.yaml")))))(t)
	if want := tfevents.SessionStart(settings, list[0].Time()); !bytes.Equal(list[at].Values[0].Plugin.Content, want.Plugin.Content) {
		t.Error("the settings are not those of the longer training")
	}
}

// Pictures of evaluations change no bits of training.
func TestBoardBits(t *testing.T) {
	long.NotShort(t)
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for at, figures := range map[string]string{a: "train.figures=true", b: "train.figures=false"} {
		must.Get(Run(context.Background(), load(t, "metrics.every=1", figures), Options{Dir: at}))(t)
	}
	sameBits(t, "with pictures", bits(t, a), bits(t, b))
}

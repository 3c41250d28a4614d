package train

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
)

func TestRehearse(t *testing.T) {
	long.NotShort(t)
	t.Setenv("TMPDIR", t.TempDir())
	one, err := Rehearse(t.Context(), loadRecorded(t), false)
	if err != nil || !(one.Begin > 0 && one.Training > 0 && one.Step > 0) || one.Steps < 1 || !(one.Encode > 0 || runtime.GOOS == "windows") || one.Learn != 0 {
		t.Fatalf("%+v, %v", one, err)
	}
	many, err := Rehearse(t.Context(), loadRecorded(t, "train.epochs=300000"), true)
	if err != nil || !(many.Training >= 100*one.Training) || many.Encode != 0 || many.Measure != 0 || many.Draw != 0 {
		t.Errorf("%+v for 100000 times as many epochs as in %+v, %v", many, one, err)
	}
	drawn, err := Rehearse(t.Context(), loadRecorded(t, "train.figures=true", "metrics.final=[mig]", "metrics.during=fast",
		"metrics.every=1"), false)
	if err != nil || !(drawn.Draw > 0 && drawn.Measure > 0 && drawn.During > 0) {
		t.Errorf("with figures and metrics: %+v, %v", drawn, err)
	}
	if with := many.With(drawn); with.Training != many.Training || with.Draw != drawn.Draw || with.Seconds() <= many.Training {
		t.Errorf("%+v with what follows training of %+v: %+v", many, drawn, with)
	}
	if _, err := Rehearse(t.Context(), loadRecorded(t, "losses=[lsbd]"), false); err == nil {
		t.Error("a loss that does not fit")
	}
	if r, err := Rehearse(t.Context(), seenConfig(t, "byol"), false); err != nil || r.Training <= 0 {
		t.Errorf("of views: %+v, %v", r, err)
	}
	if r, err := Rehearse(t.Context(), seenConfig(t, "byol", "train.epochs=0"), false); err != nil || r.Step != 0 {
		t.Errorf("without training: %+v, %v", r, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Rehearse(ended, loadRecorded(t), false); !errors.Is(err, ErrStopped) {
		t.Errorf("ended: %v", err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

package train

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	r := &StepReport{Epoch: 2, Names: []string{"loss", "kl"}, Values: []float64{12.345, 1.5}}
	for _, c := range []struct {
		columns int
		want    string
	}{
		{80, "epoch 2/9  loss 12.35 (kl 1.5)  1234 images/s"},
		{45, "epoch 2/9  loss 12.35 (kl 1.5)  1234 images/s"},
		{44, "epoch 2/9  loss 12.35  1234 images/s"},
		{36, "epoch 2/9  loss 12.35  1234 images/s"},
		{35, "epoch 2/9  loss 12.35"},
		{5, "epoch 2/9"},
		{-50, "epoch 2/9"},
	} {
		if got := describe(r, 9, 1234, c.columns); got != c.want {
			t.Errorf("%d columns: %q, want %q", c.columns, got, c.want)
		}
	}
}

// The bar counts the steps of this sitting, and gives way to other text.
func TestBar(t *testing.T) {
	trainer := trainerOf(t, load(t, "train.epochs=2"))
	var w bytes.Buffer
	if err := trainer.fitEpoch(context.Background()); err != nil {
		t.Fatal(err)
	}
	hook, makeRoom := barHook(trainer, &w, 200)
	trainer.AddHook(hook)
	if err := trainer.Fit(context.Background()); err != nil {
		t.Fatal(err)
	}
	text := w.String()
	if !regexp.MustCompile(`epoch 2/2  loss \d+\.\d \(reconstruction \S+, kl \S+, lsbd \S+\)  \d+ images/s +\d+% \|`).MatchString(text) || !strings.Contains(text, "/8, ") {
		t.Errorf("bar: %q", text)
	}
	makeRoom()
	if text = w.String(); strings.TrimRight(text[strings.LastIndex(text, "\r")+1:], " ") != "" {
		t.Errorf("the line is not empty: %q", text[strings.LastIndex(text, "\r"):])
	}
}

func TestLine(t *testing.T) {
	var w bytes.Buffer
	trainer := trainerOf(t, load(t, "train.epochs=1000000000"))
	trainer.AddHook(lineHook(trainer, &w))
	if err := trainer.fitEpoch(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := trainer.fitEpoch(context.Background()); err != nil { // too soon for another line
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^epoch 1/1000000000  supervised loss \S+ \(reconstruction \S+, kl \S+, lsbd \S+\); unsupervised loss \S+ \(.*\)  \d+ images/s  \d+h\d+m\d+s left\n$`).MatchString(w.String()) {
		t.Errorf("progress: %q", w.String())
	}
}

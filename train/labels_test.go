package train

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/plain"
)

// regularised is a small experiment with an encoder only.
const regularised = `
name: regularised
seed: 1
dataset: {square: {size: 16, side: 4}}
supervision: {labels: {fraction: 1}}
model: {encoder: {encoder: {mlp: {hidden: [16]}}, latent: 2}}
losses: [{variance: {weight: 10}}, contraction]
train: {epochs: 2, batch: 64, figures: false}
`

// TestRegularised checks that regularisers alone train an encoder, with the labels of their own batch. Resuming gives
// the same bits.
func TestRegularised(t *testing.T) {
	for name, overrides := range map[string][]string{
		"all labels":   {},
		"some labels":  {"supervision.labels.fraction=0.3"},
		"similarities": {"supervision={similarity: {count: 50}}", "losses=[{variance: {weight: 10}}, dip-i]"},
	} {
		t.Run(name, func(t *testing.T) {
			c := must.Get(Load("regularised.yaml", []byte(regularised), overrides...))(t)
			whole, dir := t.TempDir(), t.TempDir()
			first := trainIn(t, whole, c, false)
			if v := first.Losses["unsupervised"]["variance"]; !(v > 0) || math.IsInf(v, 0) {
				t.Errorf("variance %v, want a positive number", v)
			}
			trainInParts(t, dir, c, 1, 2)
			sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
		})
	}
}

// TestExplained checks that a run prints an explanation of its sentences.
func TestExplained(t *testing.T) {
	c, err := Load("explained.yaml", []byte(regularised),
		`losses=[{logic: {sentence: "forall[mean] i, j: y.row(i) = y.row(j) -> z.row(i) =[squared] z.row(j)"}}]`)
	must.OK(t, err)
	var log bytes.Buffer
	must.Get(Run(context.Background(), c, Options{Dir: t.TempDir() + "/run", Log: plain.Logger(&log)}))(t)
	if want := "logic: ∀ i, j: y.row(i) = y.row(j) → z.row(i) = z.row(j); 0 if and only if the sentence is true"; !strings.Contains(log.String(), want) {
		t.Errorf("the log does not say %q:\n%s", want, log.String())
	}
}

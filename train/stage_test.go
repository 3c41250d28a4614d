package train

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// signed is a program's own model in two stages. The hierarchy of its code comes from the signs of an autoencoder's
// first column.
type signed struct {
	Forget bool `yaml:"forget" doc:"learn labels of too few images"`
}

func (s *signed) New(data models.Data, seed uint64) (models.Model, error) {
	m := models.NewCOFHAE()
	m.Encoder = s.ae().Encoder
	m.Hierarchy = "mimosa"
	return m.New(data, seed)
}

func (s *signed) ae() *models.AE {
	ae := models.NewAE()
	ae.Latent = 2
	ae.Encoder.Name, ae.Encoder.Value = "mlp", smallMLP()
	return ae
}

func (s *signed) Stage() *models.Stage {
	return &models.Stage{Name: "signs", Key: "forget", Model: models.Choice{Name: "ae", Value: s.ae()},
		Losses: []string{"reconstruction"}, Learn: s.learn}
}

func (s *signed) Known() models.Settings { return s }

func (s *signed) learn(_ context.Context, codes []float32, width int, say func(string)) (*models.Learned, error) {
	say("by the sign of the first column")
	l := &models.Learned{Hierarchy: hierarchy.Hierarchy{{}, {Options: []hierarchy.Hierarchy{{}, {{}}}}}}
	for code := range slices.Chunk(codes, width) {
		option := int32(1)
		if code[0] > 0 {
			option = 2
		}
		l.Labels = append(l.Labels, option)
	}
	if s.Forget {
		l.Labels = l.Labels[1:]
	}
	return l, nil
}

// A model with stages needs no code in package train. The results of its stage are stored under the stage's name and
// not learned again.
func TestStagedModelFromOutside(t *testing.T) {
	n := len(models.Registry.Entries)
	t.Cleanup(func() { models.Registry.Entries = models.Registry.Entries[:n] })
	must.OK(t, models.Register(registry.Entry[models.Settings]{Name: "signed", Doc: "two stages",
		New: func() models.Settings { return &signed{} }}))
	overrides := []string{"model=signed", "supervision=none", "losses=[reconstruction, {assignment: {weight: 1}}]", "metrics=[h-error]"}
	dir := filepath.Join(t.TempDir(), "run")
	var log bytes.Buffer
	must.Get(Run(t.Context(), sticksConfig(t, overrides...), Options{Dir: dir, Log: plain.Logger(&log)}))(t)
	if !strings.Contains(log.String(), "signs: by the sign of the first column\n") {
		t.Errorf("the log does not say what is learned: %s", &log)
	}
	for _, file := range []string{"signs/hierarchy.json", "signs/assignments.npy"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
	e, _, err := OpenExperiment(dir)
	must.OK(t, err)
	if l := e.Learned; l == nil || len(l.Labels) != e.Data.Len() || l.Components != nil || len(l.Hierarchy.Categoricals()) != 1 {
		t.Fatalf("learned %+v", l)
	}
	for i, label := range e.Learned.Labels {
		if held := slices.Contains(e.HeldOut, i); held != (label == -1) {
			t.Fatalf("image %d, held out %v, has the label %d", i, held, label)
		}
	}
	for override, want := range map[string]string{
		"model={signed: {forget: true}}":     "signs gave 359 labels, 0 components and 0 parts of 360 images; want 1 labels of each",
		"losses=[{assignment: {weight: 1}}]": "signs needs the loss reconstruction",
	} {
		c := sticksConfig(t, append(slices.Clone(overrides), override)...)
		must.ErrorOf(Run(t.Context(), c, Options{Dir: filepath.Join(t.TempDir(), "x")}))(t, want, override)
	}
}

// smallMLP is a network of one layer.
func smallMLP() *nn.MLP {
	m := nn.NewMLP()
	m.Hidden = []int{16}
	return m
}

package train

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestPlanned(t *testing.T) {
	t.Chdir(t.TempDir())
	c := load(t, "metrics.during=fast", "train.hold_out=0.25", "supervision={labels: {fraction: 0.5}}",
		"losses=[reconstruction, kl, variance]", "model={vae: {encoder: {mlp: {hidden: [16]}}, latent: 4}}",
		"train.batch=50", "metrics.final=[mig]")
	p := must.Get(Planned(context.Background(), c))(t)
	d, s, m := p.Dataset, p.Schedule, p.Memory
	if d.Name != "square" || d.Images != 256 || d.Height != 16 || d.Width != 16 || d.Channels != 1 || d.HeldOut != 64 ||
		d.Labelled < 80 || d.Labelled > 128 || d.AllBytes != 256*256*4 {
		t.Errorf("data set %+v", d)
	}
	if s.Epochs != 3 || s.EpochSteps != 8 || s.Steps != 24 || s.EpochImages != 384 || s.Batch != 50 {
		t.Errorf("steps %+v", s)
	}
	parameters := 0
	for _, part := range p.Network {
		parameters += part.Parameters
	}
	must.Equal(t, parameters, (256*16+16)+2*(16*4+4)+(4*16+16)+(16*256+256), "parameters", p.Network)
	if m.Parameters != float64(4*parameters) || m.Moments != 2*m.Parameters ||
		!(m.Scratch > 0 && m.Batches > 3*50*256*4 && m.Training > m.Footprint.Total() && m.Peak >= m.Training+m.Encoding && m.Usable < m.Machine) {
		t.Errorf("memory %+v", m)
	}
	forward := 50 * 2.0 * (256*16 + 2*16*4 + 4*16 + 16*256) // only the matrices
	if x := p.Time; x.Steps < 1 || x.Step <= 0 || x.Training < x.Step*24 || runtime.GOOS != "windows" && (x.Encode <= 0 || x.Measure <= 0) ||
		x.Draw != 0 || x.Total != x.Seconds() || x.FLOP < 3*forward || x.FLOP > 4*forward {
		t.Errorf("time %+v, want %v FLOP or a little more", x, 3*forward)
	}
	if x := p.Measures; !slices.Equal(x.Final, []string{"mig"}) || x.FinalImages != 256 || x.FinalHeldOut != 64 || x.Images != 64 || x.Every < 1 ||
		!slices.Contains(x.During, "mig") {
		t.Errorf("measures %+v", x)
	}
	if !slices.Contains(p.Writes, "codes.npy") || slices.Contains(p.Writes, "report.html") {
		t.Errorf("writes %v", p.Writes)
	}
	if found, err := os.ReadDir("."); err != nil || len(found) > 0 {
		t.Errorf("it has written %v (%v)", found, err)
	}
}

// A plan ends with its context, and has the errors of training.
func TestPlannedErrors(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Planned(ended, load(t)); !errors.Is(err, ErrStopped) {
		t.Errorf("error %v", err)
	}
	for _, overrides := range [][]string{{"supervision=none"}, {"metrics=[r4c]"}} {
		_, err := Planned(context.Background(), load(t, overrides...))
		if err == nil || !errors.As(err, new(*config.Error)) {
			t.Errorf("%v: error %v", overrides, err)
		}
	}
}

func TestBatchNote(t *testing.T) {
	for images, want := range map[int]string{1: "the largest batch has 1 image", 5: "the largest batch has 5 images", 9: ""} {
		if got := BatchNote(8, PlanSchedule{EpochImages: images, Batch: images}); !strings.HasSuffix(got, want) || (got == "") != (want == "") {
			t.Errorf("%d images: %q; want %q", images, got, want)
		}
	}
}

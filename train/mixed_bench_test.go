package train

import (
	"context"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/engine"
)

// BenchmarkMixed times steps of alternating runs in single and in mixed precision.
//
//	go test ./train -run '^$' -bench Mixed -cpu 1
func BenchmarkMixed(b *testing.B) {
	if err := engine.Mixed.Check(); err != nil {
		b.Skip(err)
	}
	const deep = "losses.2.conditional-tc.discriminator.hidden=[1000, 1000, 1000, 1000, 1000, 1000]"
	for _, c := range []struct {
		name, config string
		overrides    []string
	}{
		{"dense VAE", "lsbd-vae/square-small", nil},
		{"conv VAE", "vae/square", nil},
		{"conv VAE, colours", "vae/sprites", []string{"dataset.sprites.channels=3"}},
		{"LSBD-VAE", "lsbd-vae/square", nil},
		{"BYOL", "byol/sprites", nil},
		{"COFHAE", "cofhae/chopsticks", []string{"dataset.chopsticks.samples=10000"}},
		{"COFHAE, 6 layers", "cofhae/chopsticks", []string{"dataset.chopsticks.samples=10000", deep}},
		{"small residual VAE", "vae/room-resnet", nil},
		{"resnet18", "vae/sprites", []string{"dataset.sprites.channels=3", "model.vae.encoder=resnet18", "model.vae.decoder=conv64", "train.batch=64"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var loops [2]*engine.Loop
			var least [2]time.Duration
			for i, precision := range []string{"float32", "mixed"} {
				_, loops[i] = loopOfConfig(b, c.config, append(c.overrides, "train.precision="+precision, "train.epoch_steps=3",
					"train.epochs=1000000000")...)
				defer loops[i].Close()
				var before time.Time
				loops[i].AddHook(engine.Hook{OnStep: func(_ context.Context, l *engine.Loop, _ *engine.StepReport) error {
					if t := time.Since(before); l.Step()%3 != 1 && (least[i] == 0 || t < least[i]) { // not the first step of an epoch, which shuffles the images
						least[i] = t
					}
					before = time.Now()
					return nil
				}})
			}
			round := func() {
				for _, l := range loops {
					must.OK(b, l.RunEpoch(context.Background()))
				}
			}
			for b.Loop() {
				round()
			}
			single, mixed := least[0].Seconds(), least[1].Seconds()
			b.ReportMetric(1e3*single, "ms/float32-step")
			b.ReportMetric(1e3*mixed, "ms/mixed-step")
			b.ReportMetric(single/mixed, "speedup")
		})
	}
}

package engine

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// standard is an encoder that first normalises images with the batch moments.
const standard = "{layers: [{norm: batch}, {dense: 8}]}"

// standardised are tasks of every model with this encoder, on 100 images.
var standardised = map[string]string{
	"encoder":      "supervision: {labels: {fraction: 1}}\nmodel: {encoder: {encoder: ENCODER, latent: 4}}\nlosses: [variance]",
	"ae":           "model: {ae: {encoder: ENCODER, decoder: mlp, latent: 3}}\nlosses: [reconstruction]",
	"vae":          "model: {vae: {encoder: ENCODER, decoder: mlp, latent: 3}}\nlosses: [reconstruction, kl]",
	"vae, groups":  "supervision: {pairs: {count: 10}}\nmodel: {vae: {encoder: ENCODER, decoder: mlp, latent: 4}}\nlosses: [reconstruction, kl, lsbd: {planes: {row: [0, 1]}}]",
	"second batch": "model: {vae: {encoder: ENCODER, decoder: mlp, latent: 3}}\nlosses: [reconstruction, kl, tc: {estimator: adversarial, discriminator: {hidden: [8], renew: true, second_batch: true}}]",
	"delta-vae":    "model: {delta-vae: {encoder: ENCODER, decoder: mlp}}\nlosses: [reconstruction, kl]",
	"lsbd-vae":     "supervision: {pairs: {count: 13}}\nmodel: {lsbd-vae: {encoder: ENCODER, decoder: mlp}}\nlosses: [reconstruction, kl, lsbd]",
	"cofhae":       "dataset: {chopsticks: {variant: inter, depth: 2, samples: 100}}\nsupervision: {labels: {fraction: 1}}\nmodel: {cofhae: {encoder: ENCODER, decoder: mlp}}\nlosses: [reconstruction, assignment, conditional-tc: {discriminator: {hidden: [8]}}]",
	"byol":         "views: {pipeline: [flip, crop], count: 2}\nmodel: {byol: {encoder: ENCODER, hidden: 8, projected: 4, predictor: 8}}\nlosses: [cosine-regression]",
	"byol, labels": "supervision: {labels: {fraction: 0.5}}\nviews: {pipeline: [flip, crop], count: 2}\nmodel: {byol: {encoder: ENCODER, hidden: 8, projected: 4, predictor: 8, code_views: first}}\nlosses: [cosine-regression, variance]",
	"simsiam":      "views: {pipeline: [flip, crop], count: 2}\nmodel: {simsiam: {encoder: ENCODER, hidden: 8, projected: 4, predictor: 8}}\nlosses: [cosine-regression]",
	"barlow-twins": "views: {pipeline: [flip, crop], count: 2}\nmodel: {barlow-twins: {encoder: ENCODER, hidden: 8}}\nlosses: [cross-correlation]",
	"moco":         "views: {pipeline: [flip, crop], count: 2}\nmodel: {moco: {encoder: ENCODER, width: 4, queue: 60}}\nlosses: [info-nce]",
	"moco-v2":      "views: {pipeline: [flip, crop], count: 2}\nmodel: {moco-v2: {encoder: ENCODER, width: 4, queue: 60}}\nlosses: [info-nce]",
	"one view":     "views: {pipeline: [flip, crop], count: 1}\nmodel: {ae: {encoder: ENCODER, decoder: mlp, latent: 3}}\nlosses: [reconstruction]",
}

// moving computes running moments by hand: the means of channels, then their variances.
type moving []float64

// follow updates the moments with a batch.
func (m moving) follow(pixels []float32) {
	channels := len(m) / 2
	n := float64(len(pixels) / channels)
	for c := range channels {
		mean, square := 0.0, 0.0
		for i := c; i < len(pixels); i += channels {
			mean += float64(pixels[i]) / n
		}
		for i := c; i < len(pixels); i += channels {
			square += (float64(pixels[i]) - mean) * (float64(pixels[i]) - mean)
		}
		m[c], m[channels+c] = 0.9*m[c]+0.1*mean, 0.9*m[channels+c]+0.1*square/(n-1)
	}
}

// furthest returns the greatest difference of running moments.
func (m moving) furthest(running []float32) (most float64) {
	for i, v := range running {
		most = max(most, math.Abs(float64(v)-m[i]))
	}
	return most
}

// The running moments of every model are the moments of its batches in order. They come from each view separately, only
// from the queries in MoCo, from labelled and unlabelled batches, and from the smaller last batch. Targets and second
// batches do not count.
func TestRunningMoments(t *testing.T) {
	for name, source := range standardised {
		if !strings.HasPrefix(source, "dataset") {
			source = "dataset: {square: {size: 10, side: 3}}\n" + source
		}
		source += "\ntrain: {epochs: 2, batch: 30}"
		l := loopOf(t, strings.ReplaceAll(source, "ENCODER", standard))
		params := l.Params()
		running := params.Get("encoder/norm1/running").Float32s()
		hand, steps, sizes := make(moving, len(running)), 0, map[int]bool{}
		for c := len(hand) / 2; c < len(hand); c++ {
			hand[c] = 1
		}
		l.AddHook(Hook{Name: "by hand", OnStep: func(_ context.Context, l *Loop, r *StepReport) error {
			for shape, p := range l.programs {
				if p.objective.Name != r.Objective || shape.images != r.Images {
					continue
				}
				switch {
				case p.views == nil:
					hand.follow(p.images)
				case strings.HasPrefix(name, "moco"):
					hand.follow(p.views[0])
				default:
					hand.follow(p.views[0])
					hand.follow(p.views[1])
				}
				steps++
			}
			sizes[r.Images] = true
			if d := hand.furthest(running); !(d < 1e-5) {
				t.Errorf("%s: after step %d the running moments differ by %v from those by hand", name, r.Step, d)
				l.Stop("")
			}
			return nil
		}})
		if err := l.Run(context.Background()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if steps != l.Step() || steps < 8 || len(sizes) < 2 {
			t.Errorf("%s: %d steps were followed, of %d, with batches of %v images", name, steps, l.Step(), sizes)
		}
		if i := slices.IndexFunc(params.Names(),
			func(n string) bool { return strings.HasPrefix(n, "target/") && strings.HasSuffix(n, "/running") }); i >= 0 {
			t.Errorf("%s: a target has running moments: %s", name, params.Names()[i])
		}
	}
}

// Batches of one row have no variance. The running variance stays, and the loop reports that nothing is learned.
func TestMomentsOfOneRow(t *testing.T) {
	const source = "dataset: {square: {size: 10, side: 3}}\nmodel: {ae: {encoder: {layers: [{dense: 5}, {norm: batch}]}, decoder: mlp, latent: 3}}\nlosses: [reconstruction]\ntrain: {epochs: 1, batch: 1}"
	l := loopOf(t, source)
	before := slices.Clone(l.Params().Get("encoder/dense1/weight").Float32s())
	must.OK(t, l.Run(context.Background()))
	running := l.Params().Get("encoder/norm1/running").Float32s()
	for c := range 5 {
		if running[5+c] != 1 || running[c] == 0 {
			t.Errorf("channel %d has the running moments %v and %v, want some mean and 1", c, running[c], running[5+c])
		}
	}
	if !slices.Equal(before, l.Params().Get("encoder/dense1/weight").Float32s()) {
		t.Error("what is before the norm has learned")
	}
	note := func(n string) bool { return strings.HasPrefix(n, "batch norm of one row gives the same result") }
	if !slices.ContainsFunc(l.Notes(), note) || slices.ContainsFunc(loopOf(t, source, "train.batch=2").Notes(), note) {
		t.Errorf("notes %q", l.Notes())
	}
	// 100 images in batches of 99: the last batch has one row, and changes no variance.
	last := loopOf(t, source, "train.batch=99")
	var variance float32
	last.AddHook(Hook{Name: "variance", OnStep: func(_ context.Context, l *Loop, r *StepReport) error {
		now := l.Params().Get("encoder/norm1/running").Float32s()[5]
		if r.Images == 1 && now != variance || r.Images != 1 && now == variance {
			t.Errorf("a batch of %d images moves the running variance from %v to %v", r.Images, variance, now)
		}
		variance = now
		return nil
	}})
	if err := last.Run(context.Background()); err != nil || last.Step() != 2 {
		t.Errorf("%v after %d steps", err, last.Step())
	}
}

package models

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/models/latent"
)

// Codes from the prior lie in the model's spaces and have the prior's second moments. Frames of spheres have orthogonal
// points.
func TestPrior(t *testing.T) {
	pose := factor.Factor{Name: "pose", Size: 24, Kind: factor.Categorical, Rotations: rotation.Octahedral()}
	posed := data(pose)
	posed.Rotations = 1
	acted := data(row)
	acted.Actions = []supervision.Action{{Name: "up", Step: 1}}
	for name, c := range map[string]struct {
		settings Settings
		data     Data
	}{
		"vae":      {&VAE{Networks: small(4), Latent: 3}, data(row)},
		"cylinder": {&DeltaVAE{Networks: small(4), Latent: latent.Of(latent.NewSphere(), &latent.Euclidean{Dim: 3})}, data(row)},
		"quessard": {&Quessard{Networks: small(4), Dim: 4}, acted},
		"frames":   {&LSBDVAE{Networks: small(4), Latent: latent.Of(sphere(), sphere()), Orthogonal: true}, posed},
	} {
		m, err := c.settings.New(c.data, 1)
		if err != nil {
			t.Fatal(name, err)
		}
		width := 0
		for _, s := range m.Spaces() {
			width += s.Width
		}
		const n = 20000
		r, code, sums := rng.New(7, "prior"), make([]float32, width), make([]float64, width)
		for range n {
			m.(Generative).Prior(r, code)
			for _, s := range m.Spaces() {
				square := 0.0
				for j := s.First; j < s.First+s.Width; j++ {
					square += float64(code[j]) * float64(code[j])
					sums[j] += float64(code[j]) * float64(code[j])
				}
				if s.Unit && !(math.Abs(square-1) <= 1e-5) {
					t.Fatalf("%s: a point of length %v", name, math.Sqrt(square))
				}
			}
			if name == "frames" && !(math.Abs(float64(code[0]*code[3]+code[1]*code[4]+code[2]*code[5])) <= 1e-5) {
				t.Fatalf("frames: %v is no pair of points at a right angle", code)
			}
		}
		for _, s := range m.Spaces() {
			want := 1.0
			if s.Unit {
				want = 1 / float64(s.Width)
			}
			for j := s.First; j < s.First+s.Width; j++ {
				if got := sums[j] / n; !(math.Abs(got-want) <= 0.05*want) {
					t.Errorf("%s: column %d has the second moment %v, want %v", name, j, got, want)
				}
			}
		}
	}
}

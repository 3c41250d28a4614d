package engine

import (
	"fmt"
	"testing"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
)

// BenchmarkScoreMatching times a step of the energy-based model on 64 images of 64x64x1, and a step of a VAE with the
// same encoder. The encoder is conv64 with relu (the default) and with softplus, whose slope depends on the image.
// Compare with PyTorch: tools/peer/scorematching.py.
//
//	go test ./train/engine -run '^$' -bench ScoreMatching
func BenchmarkScoreMatching(b *testing.B) {
	bernoulli := losses.NewReconstruction()
	bernoulli.Likelihood = "bernoulli"
	elbo := []losses.Choice{{Name: "reconstruction", Value: bernoulli}, mustLoss(b, "kl")}
	const batch, features = 64, float64(32*32*16*32 + 16*16*16*32*32 + 8*8*16*32*64 + 4*4*16*64*64 + 1024*256 + 256*10)
	for _, a := range []graph.Activation{graph.ReLU, graph.Softplus} {
		e := nn.NewConvEncoder()
		e.Activation = a.String()
		vae, energy := models.NewVAE(), models.NewICEBeeM()
		vae.Encoder.Value, energy.Encoder.Value = e, e
		atThreads(b, fmt.Sprintf("%v/vae", a), func(b *testing.B) {
			benchmarkStep(b, vae, 1, models.Objective{Name: "unsupervised"}, elbo, batch, 1, stepFlops(batch, 1, 10, 20))
		})
		atThreads(b, fmt.Sprintf("%v/ice-beem", a), func(b *testing.B) {
			benchmarkStep(b, energy, 1, models.Objective{Name: "unsupervised"}, []losses.Choice{mustLoss(b, "score-matching")},
				batch, 1, 5*2*batch*features)
		})
	}
}

package models

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
)

// PairVAE holds the settings that all models of image pairs have in common. These models are a [VAE] for pairs of
// images that differ in few factors (supervision changes). The two posteriors of a pair share dimensions. With the
// losses reconstruction and kl the models minimise, in nats per image,
//
//	1/2 sum_j (-E_q~(z_j|x_1, x_2)[log p(x_j|z_j)] + beta KL(q~(z_j|x_1, x_2) || N(0, I))),  j = 1, 2.
//
// In the private dimensions of the pair, q~_j is the posterior of image j. In the shared dimensions it is a single
// posterior for both images. z_1 and z_2 have independent noise in all dimensions. On single images, the models are a
// plain VAE. The code is mu of one image, [batch, Latent], without sharing.
//
// The dimensions with the largest divergences delta_i = 2 KL(q_1i || q_2i) are private. Their number is K. The adaptive
// models instead take the dimensions with delta_i >= (min delta + max delta)/2. This choice has no gradient.
type PairVAE struct {
	Networks
	Latent    int  `yaml:"latent" doc:"dimensions of the code"`
	Symmetric bool `yaml:"symmetric" doc:"compare the two posteriors by the mean of the divergences in both directions"`
}

func newPairSettings() PairVAE { return PairVAE{Networks: newNetworks(), Latent: 10} }

func (s *PairVAE) Validate() error { return validLatent(s.Latent) }

// GVAE is the group VAE of pairs that differ in K factors (Hosoya 2019; Locatello et al. 2020, section 4). Shared
// dimensions have the average of the means and the average of the variances. See [PairVAE].
type GVAE struct {
	PairVAE
	K int `yaml:"k" doc:"number of private dimensions of a pair: the dimensions with the largest divergences"`
}

func newGVAE() *GVAE { return &GVAE{newPairSettings(), 1} }

func (s *GVAE) Validate() error { return s.validPrivate(s.K) }

func (s *GVAE) New(data Data, seed uint64) (Model, error) {
	return s.model("gvae", mergeRule{Private: s.K}, data, seed)
}

// AdaGVAE is a [GVAE] that finds each pair's private dimensions (Locatello et al. 2020, section 4, equations 5 to 7).
type AdaGVAE struct{ PairVAE }

// NewAdaGVAE returns the default settings.
func NewAdaGVAE() *AdaGVAE { return &AdaGVAE{newPairSettings()} }

func (s *AdaGVAE) New(data Data, seed uint64) (Model, error) {
	return s.model("ada-gvae", mergeRule{Private: adaptive}, data, seed)
}

// MLVAE is the multi-level VAE of pairs that differ in K factors (Bouchacourt et al. 2018; Locatello et al. 2020,
// section 4). Shared dimensions have the precision-weighted mean. Their variance is the harmonic mean of the variances,
// as in the authors' code. This is twice the variance of a product of densities. See [PairVAE].
type MLVAE struct {
	PairVAE
	K       int  `yaml:"k" doc:"number of private dimensions of a pair: the dimensions with the largest divergences"`
	Product bool `yaml:"product" doc:"share the product of both densities, with half the variance, as in the paper"`
}

func newMLVAE() *MLVAE { return &MLVAE{PairVAE: newPairSettings(), K: 1} }

func (s *MLVAE) Validate() error { return s.validPrivate(s.K) }

func (s *MLVAE) New(data Data, seed uint64) (Model, error) {
	return s.model("ml-vae", mergeRule{Private: s.K, Precise: true, Product: s.Product}, data, seed)
}

// AdaMLVAE is an [MLVAE] that finds the private dimensions of every pair (Locatello et al. 2020, section 4).
type AdaMLVAE struct {
	PairVAE
	Product bool `yaml:"product" doc:"share the product of both densities, with half the variance, as in the paper"`
}

func newAdaMLVAE() *AdaMLVAE { return &AdaMLVAE{PairVAE: newPairSettings()} }

func (s *AdaMLVAE) New(data Data, seed uint64) (Model, error) {
	return s.model("ada-ml-vae", mergeRule{Private: adaptive, Precise: true, Product: s.Product}, data, seed)
}

// SlowVAE is a [VAE] of pairs of images or longer groups, for the losses reconstruction, kl and slow. The loss slow
// acts on the step from one image of a group to the next (Klindt et al. 2021, equation 5).
type SlowVAE struct {
	Networks
	Latent int `yaml:"latent" doc:"dimensions of the code"`
}

func newSlowVAE() *SlowVAE { return &SlowVAE{newNetworks(), 10} }

func (s *SlowVAE) Validate() error { return validLatent(s.Latent) }

func (s *SlowVAE) New(data Data, seed uint64) (Model, error) {
	return newPairVAE("slow-vae", s.Networks, s.Latent, nil, data, seed)
}

// validPrivate checks the settings of a model with a fixed number of private dimensions.
func (s *PairVAE) validPrivate(k int) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if k < 0 || k > s.Latent {
		return config.Invalid("k", "%d of %d dimensions are private; want 0 to %d", k, s.Latent, s.Latent)
	}
	return nil
}

func (s *PairVAE) model(name string, r mergeRule, data Data, seed uint64) (Model, error) {
	r.Symmetric = s.Symmetric
	return newPairVAE(name, s.Networks, s.Latent, &r, data, seed)
}

// pairVAE is a VAE of pairs.
type pairVAE struct {
	vae
	name string
	rule *mergeRule // nil: the images of a pair share no dimensions
}

func newPairVAE(name string, n Networks, latent int, r *mergeRule, data Data, seed uint64) (Model, error) {
	m := &pairVAE{vae{mixed: mixed{autoencoder: newAutoencoder(n, data, seed, latent)}}, name, r}
	return m, Materialise(m, data)
}

func (m *pairVAE) Objectives() []Objective {
	return []Objective{{Name: "pairs", Labelled: true}, {Name: "unsupervised"}}
}

func (m *pairVAE) Build(g *nn.Graph, o Objective, n, group int) (*Program, error) {
	switch {
	case !o.Labelled || m.rule == nil:
		return m.vae.Build(g, o, n, group)
	case group != 2 || n%2 != 0:
		return nil, fmt.Errorf("%s learns from pairs of images, and there are groups of %d; want pairs, such as supervision: {changes: {k: random}}", m.name, group)
	}
	images, err := m.images(g, n)
	if err != nil {
		return nil, err
	}
	mean, logVariance, discrete, err := m.heads(g, images)
	if err != nil {
		return nil, err
	}
	if mean, logVariance, err = m.share(mean, logVariance); err != nil {
		return nil, err
	}
	p, err := m.sampleAndDecode(g, images, mean, logVariance, discrete)
	if err == nil {
		p.Outputs.Shared = true
	}
	return p, err
}

// share gives both posteriors of a pair the same distribution in the shared dimensions.
func (m *pairVAE) share(mean, logVariance *gorgonia.Node) (sharedMean, sharedLogVariance *gorgonia.Node, err error) {
	mask, err := pairMask(mean, logVariance, *m.rule)
	if err != nil {
		return nil, nil, err
	}
	if sharedMean, err = sharedMeans(mask, mean, logVariance, *m.rule); err != nil {
		return nil, nil, err
	}
	sharedLogVariance, err = sharedLogVariances(mask, logVariance, *m.rule)
	return sharedMean, sharedLogVariance, err
}

// adaptive, as the number of private dimensions, leaves the choice to the divergences of the pair.
const adaptive = -1

// mergeRule says how a pair of Gaussian posteriors shares dimensions.
type mergeRule struct {
	Private   int  // number of private dimensions; adaptive: the dimensions whose divergence exceeds the threshold
	Symmetric bool // divergences are the mean of both directions
	Precise   bool // ML-VAE: means weighted by precisions, and the mean of precisions
	Product   bool // ML-VAE: the product of the densities, which has half the variance of Precise
}

// Limits of exponents in divergences. A divergence beyond them is the largest of its row in any case.
const (
	maxLogRatio     = 40
	maxLogPrecision = 300
)

// pairMask returns 1 for a private dimension of a pair and 0 for a shared one, with equal rows 2p and 2p+1 for pair
// p. The inputs are means and log variances of Gaussian posteriors, [2B, d]. The divergence in dimension i is
//
//	delta_i = v_1/v_2 + (mu_2 - mu_1)^2/v_2 - 1 + log v_2 - log v_1 = 2 KL(q_1 || q_2),
//
// or the mean of both directions. The adaptive mask is delta >= (min delta + max delta)/2 over the dimensions of the
// pair, and 0 if all delta are equal. Otherwise the k dimensions with the largest delta are private. Of equal delta,
// the first wins. The node has no gradient.
func pairMask(mean, logVariance *gorgonia.Node, r mergeRule) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "private dimensions",
		Key:   graph.Key(r.Private, r.Symmetric),
		Shape: pairShape,
		New:   graph.Bodies(newPrivateMask[float32](r), newPrivateMask[float64](r)),
		Diff:  []bool{false, false},
	}, mean, logVariance)
}

// pairShape checks inputs of one shape [2B, d].
func pairShape(in []tensor.Shape) (tensor.Shape, error) {
	rows, _, err := graph.Matrix("means of pairs", in[0])
	if err != nil {
		return nil, err
	}
	for _, s := range in {
		if rows%2 != 0 || !slices.Equal(s, in[0]) {
			return nil, graph.Wanted("inputs of one shape [2 pairs, d]", in)
		}
	}
	return in[0], nil
}

// privateMask is the operation of [pairMask], in double precision for both types.
type privateMask[T graph.Float] struct {
	rule  mergeRule
	d     int
	delta []float64
	order []int
}

func newPrivateMask[T graph.Float](r mergeRule) func([]tensor.Shape) *privateMask[T] {
	return func(in []tensor.Shape) *privateMask[T] {
		return &privateMask[T]{r, in[0][1], make([]float64, in[0][1]), make([]int, in[0][1])}
	}
}

func (f *privateMask[T]) Forward(in [][]T, out []T) {
	for first := 0; first < len(out); first += 2 * f.d {
		for i := range f.delta {
			a, b := first+i, first+f.d+i
			f.delta[i] = divergence(in[0][a], in[1][a], in[0][b], in[1][b])
			if f.rule.Symmetric {
				f.delta[i] = (f.delta[i] + divergence(in[0][b], in[1][b], in[0][a], in[1][a])) / 2
			}
		}
		mask := out[first : first+f.d]
		clear(mask)
		if f.rule.Private == adaptive {
			low, high := slices.Min(f.delta), slices.Max(f.delta)
			for i, v := range f.delta {
				if high > low && v >= (low+high)/2 {
					mask[i] = 1
				}
			}
		} else {
			f.largest(mask)
		}
		copy(out[first+f.d:], mask)
	}
}

// largest marks the k largest divergences.
func (f *privateMask[T]) largest(mask []T) {
	for i := range f.order {
		f.order[i] = i
	}
	slices.SortFunc(f.order, func(a, b int) int { return cmp.Or(cmp.Compare(f.delta[b], f.delta[a]), a-b) })
	for _, i := range f.order[:f.rule.Private] {
		mask[i] = 1
	}
}

func (f *privateMask[T]) Backward(_ [][]T, _, _ []T, _ [][]T) {}

// divergence returns 2 KL(N(mu1, v1) || N(mu2, v2)), given log variances.
func divergence[T graph.Float](mu1, l1, mu2, l2 T) float64 {
	ratio, step := min(float64(l1)-float64(l2), maxLogRatio), float64(mu2)-float64(mu1)
	return math.Exp(ratio) + step*step*math.Exp(min(-float64(l2), maxLogPrecision)) - 1 - ratio
}

// sharedMeans returns the means of a pair's posteriors. If the mask is 0, both rows get the shared mean
//
//	(mu_1 + mu_2)/2, or for a precise rule (mu_1/v_1 + mu_2/v_2)/(1/v_1 + 1/v_2).
//
// All inputs are [2B, d]. The node is differentiable in means and log variances, not in the mask.
func sharedMeans(mask, mean, logVariance *gorgonia.Node, r mergeRule) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "shared means",
		Key:   graph.Key(r.Precise),
		Shape: pairShape,
		New:   graph.Bodies(newSharing[float32, means[float32]](r), newSharing[float64, means[float64]](r)),
		Diff:  []bool{false, true, true},
	}, mask, mean, logVariance)
}

// sharedLogVariances returns the log variances of a pair's posteriors. If the mask is 0, both rows get the shared log
// variance
//
//	log (v_1 + v_2)/2, or for a precise rule log 2 v_1 v_2/(v_1 + v_2), or for a product log v_1 v_2/(v_1 + v_2).
//
// Both inputs are [2B, d]. The node is differentiable in the log variances at any value.
func sharedLogVariances(mask, logVariance *gorgonia.Node, r mergeRule) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "shared log variances",
		Key:   graph.Key(r.Precise, r.Product),
		Shape: pairShape,
		New:   graph.Bodies(newSharing[float32, logVariances[float32]](r), newSharing[float64, logVariances[float64]](r)),
		Diff:  []bool{false, true},
	}, mask, logVariance)
}

// sharing holds the rule and the width for sharedMeans and sharedLogVariances.
type sharing struct {
	rule mergeRule
	d    int
}

func newSharing[T graph.Float, B means[T] | logVariances[T]](r mergeRule) func([]tensor.Shape) B {
	return func(in []tensor.Shape) B { return B{sharing{r, in[0][1]}} }
}

// eachDimension calls f for the two elements of each dimension of each pair.
func (s sharing) eachDimension(n int, f func(a, b int)) {
	for first := 0; first < n; first += 2 * s.d {
		for a := first; a < first+s.d; a++ {
			f(a, a+s.d)
		}
	}
}

// ratio returns v_1/(v_1 + v_2), given log variances.
func ratio[T graph.Float](l1, l2 T) float64 { return 1 / (1 + math.Exp(float64(l2)-float64(l1))) }

type means[T graph.Float] struct{ sharing }

func (f means[T]) Forward(in [][]T, out []T) {
	mask, mu, l := in[0], in[1], in[2]
	f.eachDimension(len(out), func(a, b int) {
		if out[a], out[b] = mu[a], mu[b]; mask[a] != 0 {
			return
		}
		w := 0.5
		if f.rule.Precise {
			w = ratio(l[a], l[b])
		}
		out[a] = T((1-w)*float64(mu[a]) + w*float64(mu[b]))
		out[b] = out[a]
	})
}

func (f means[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	mask, mu, l := in[0], in[1], in[2]
	f.eachDimension(len(dout), func(a, b int) {
		da, db, dl := float64(dout[a]), float64(dout[b]), 0.0
		if mask[a] == 0 {
			w, g := 0.5, da+db
			if f.rule.Precise {
				w = ratio(l[a], l[b])
				dl = g * w * (1 - w) * (float64(mu[b]) - float64(mu[a]))
			}
			da, db = (1-w)*g, w*g
		}
		if din[1] != nil {
			din[1][a], din[1][b] = T(da), T(db)
		}
		if din[2] != nil {
			din[2][a], din[2][b] = T(dl), T(-dl)
		}
	})
}

type logVariances[T graph.Float] struct{ sharing }

func (f logVariances[T]) Forward(in [][]T, out []T) {
	mask, l := in[0], in[1]
	f.eachDimension(len(out), func(a, b int) {
		if out[a], out[b] = l[a], l[b]; mask[a] != 0 {
			return
		}
		x, y := float64(l[a]), float64(l[b])
		sum := max(x, y) + math.Log1p(math.Exp(-math.Abs(x-y))) // log (v_1 + v_2)
		switch {
		case f.rule.Product:
			sum = x + y - sum
		case f.rule.Precise:
			sum = math.Ln2 + x + y - sum
		default:
			sum -= math.Ln2
		}
		out[a], out[b] = T(sum), T(sum)
	})
}

func (f logVariances[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	mask, l := in[0], in[1]
	f.eachDimension(len(dout), func(a, b int) {
		da, db := float64(dout[a]), float64(dout[b])
		if mask[a] == 0 {
			w, g := ratio(l[a], l[b]), da+db
			if f.rule.Precise {
				w = 1 - w
			}
			da, db = w*g, (1-w)*g
		}
		din[1][a], din[1][b] = T(da), T(db)
	})
}

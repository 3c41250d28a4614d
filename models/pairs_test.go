package models

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/latent"
)

// TestPairOperations checks gradients, and values for distant posteriors.
func TestPairOperations(t *testing.T) {
	mask := gradcheck.Input{Shape: []int{4, 3}, Values: []float64{0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0}, Constant: true}
	far := gradcheck.Input{Shape: []int{4, 3}, Values: []float64{-90, 3, 100, 200, 0, 100, 1, -500, 0, 2, 300, 0}}
	var cases []gradcheck.Case
	for name, r := range map[string]mergeRule{"gvae": {}, "ml-vae": {Precise: true}, "product": {Precise: true, Product: true}} {
		for spread, l := range map[string]gradcheck.Input{"near": gradcheck.In(4, 3), "far": far} {
			cases = append(cases,
				gradcheck.Case{Name: name + " means " + spread, Inputs: []gradcheck.Input{mask, gradcheck.In(4, 3), l},
					Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) { return sharedMeans(in[0], in[1], in[2], r) }},
				gradcheck.Case{Name: name + " log variances " + spread, Inputs: []gradcheck.Input{mask, l},
					Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) { return sharedLogVariances(in[0], in[1], r) }})
		}
	}
	gradcheck.CheckAll(t, cases)
}

// masksOf returns the private dimensions of one pair, from means and log variances of both images.
func masksOf(t *testing.T, r mergeRule, rows ...[]float32) []float32 {
	t.Helper()
	d := len(rows[0])
	g := nn.NewGraph(nn.NewParams(1))
	mu := must.Get(g.Input("mu", 2, d))(t)
	l := must.Get(g.Input("log variance", 2, d))(t)
	copy(nn.Data(mu), slices.Concat(rows[0], rows[1]))
	copy(nn.Data(l), slices.Concat(rows[2], rows[3]))
	mask := must.Get(pairMask(mu, l, r))(t)
	v := values(t, mask)[0]
	if !slices.Equal(v[:d], v[d:]) {
		t.Errorf("the rows of a pair have the masks %v", v)
	}
	return v[:d]
}

func TestPairMask(t *testing.T) {
	zero := []float32{0, 0, 0, 0}
	for name, c := range map[string]struct {
		rule       mergeRule
		mu, l1, l2 []float32 // of the second image; the first has mean 0
		want       []float32
	}{
		"equal":              {mergeRule{Private: adaptive}, zero, zero, zero, zero},
		"one differs":        {mergeRule{Private: adaptive}, []float32{0, 0, 1e-3, 0}, zero, zero, []float32{0, 0, 1, 0}},
		"at the threshold":   {mergeRule{Private: adaptive}, []float32{0, 1, float32(math.Sqrt2), 1}, zero, zero, []float32{0, 1, 1, 1}},
		"known":              {mergeRule{Private: 2}, []float32{3, 1, 2, 0}, zero, zero, []float32{1, 0, 1, 0}},
		"ties":               {mergeRule{Private: 2}, []float32{1, 1, 1, 1}, zero, zero, []float32{1, 1, 0, 0}},
		"none":               {mergeRule{Private: 0}, []float32{1, 2, 3, 4}, zero, zero, zero},
		"all":                {mergeRule{Private: 4}, zero, zero, zero, []float32{1, 1, 1, 1}},
		"huge log variances": {mergeRule{Private: adaptive}, zero, []float32{3e38, 0, 0, 0}, zero, []float32{1, 0, 0, 0}},
		"tiny variances":     {mergeRule{Private: adaptive}, []float32{0, 0, 0, 9}, []float32{-2000, -2000, 0, 0}, []float32{-2000, -2000, 0, -2000}, []float32{0, 0, 0, 1}},
	} {
		must.EqualSlices(t, masksOf(t, c.rule, zero, c.mu, c.l1, c.l2), c.want, name, "private dimensions")
	}
}

// pairGolden holds reference values; see testdata/README.md.
type pairGolden struct {
	Columns            int
	Mu, LogVar, Eps, C []float64
	Ada                []float64    `json:"private_ada"`
	Symmetric          []float64    `json:"private_ada_symmetric"`
	First              []float64    `json:"private_k1"`
	Second             []float64    `json:"private_k2"`
	GVAE               sharedGolden `json:"gvae_ada"`
	GVAE2              sharedGolden `json:"gvae_k2"`
	MLVAE              sharedGolden `json:"mlvae_ada"`
	MLVAE2             sharedGolden `json:"mlvae_k2"`
	Product            sharedGolden `json:"product_ada"`
	Product2           sharedGolden `json:"product_k2"`
}

type sharedGolden struct {
	KL, Linear      float64
	Mean, LogVar, Z []float64
	GradMu          []float64 `json:"grad_mu"`
	GradLogVar      []float64 `json:"grad_logvar"`
}

func TestPairGolden(t *testing.T) {
	var want pairGolden
	must.ReadJSON(t, "testdata/ada_pairs.json", &want)
	ml, product := mergeRule{Private: adaptive, Precise: true}, mergeRule{Private: adaptive, Precise: true, Product: true}
	known := func(r mergeRule, k int) mergeRule { r.Private = k; return r }
	for name, c := range map[string]struct {
		rule   mergeRule
		mask   []float64
		shared *sharedGolden
	}{
		"gvae": {mergeRule{Private: adaptive}, want.Ada, &want.GVAE}, "gvae 2": {mergeRule{Private: 2}, want.Second, &want.GVAE2},
		"ml-vae": {ml, want.Ada, &want.MLVAE}, "ml-vae 2": {known(ml, 2), want.Second, &want.MLVAE2},
		"product": {product, want.Ada, &want.Product}, "product 2": {known(product, 2), want.Second, &want.Product2},
		"symmetric": {mergeRule{Private: adaptive, Symmetric: true}, want.Symmetric, nil}, "one": {mergeRule{Private: 1}, want.First, nil},
	} {
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			checkGolden(t, name, dt, &want, c.rule, c.mask, c.shared)
		}
	}
}

// checkGolden compares a rule with reference values.
func checkGolden(t *testing.T, name string, dt tensor.Dtype, in *pairGolden, r mergeRule, mask []float64, want *sharedGolden) {
	t.Helper()
	g := gorgonia.NewGraph()
	rows, d := len(in.Mu)/in.Columns, in.Columns
	input := func(name string, values []float64) *gorgonia.Node {
		backing := tensor.WithBacking(slices.Clone(values))
		if dt == tensor.Float32 {
			backing = tensor.WithBacking(numeric.Convert[float32](values))
		}
		return gorgonia.NewMatrix(g, dt, gorgonia.WithShape(rows, d), gorgonia.WithName(name),
			gorgonia.WithValue(tensor.New(tensor.WithShape(rows, d), backing)))
	}
	node := gradcheck.Must(t)
	mu, l, eps := input("mu", in.Mu), input("log variance", in.LogVar), input("eps", in.Eps)
	private := node(pairMask(mu, l, r))
	mean, logVariance := node(sharedMeans(private, mu, l, r)), node(sharedLogVariances(private, l, r))
	z := node(latent.GaussianSample(mean, node(graph.Scale(0.5, logVariance)), eps))
	linear := node(gorgonia.Mean(node(gorgonia.Sum(node(gorgonia.HadamardProd(input("c", in.C), z)), 1))))
	kl := node(losses.KLGaussianLogVariance(mean, logVariance))
	total := node(gorgonia.Add(kl, linear))
	grads := must.Get(gorgonia.Grad(total, mu, l))(t)
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	must.OK(t, vm.RunAll())
	for p := range rows / 2 {
		for i := range d {
			if got := elementsOf(private)[2*p*d+i]; got != mask[p*d+i] {
				t.Errorf("%s, %v: pair %d, dimension %d: private %v, want %v", name, dt, p, i, got, mask[p*d+i])
			}
		}
	}
	if want == nil {
		return
	}
	compare := func(what string, n *gorgonia.Node, tolerance float64, want ...float64) {
		most := 1.0
		for _, v := range want {
			most = max(most, math.Abs(v))
		}
		if dt == tensor.Float32 {
			tolerance = 1e-5 * most
		}
		for i, got := range elementsOf(n) {
			if !(math.Abs(got-want[i]) <= tolerance) {
				t.Errorf("%s, %v: element %d of %s is %v, want %v", name, dt, i, what, got, want[i])
			}
		}
	}
	compare("means", mean, 1e-9, want.Mean...)
	compare("log variances", logVariance, 1e-9, want.LogVar...)
	compare("samples", z, 1e-9, want.Z...)
	compare("kl", kl, 1e-9, want.KL)
	compare("linear", linear, 1e-9, want.Linear)
	compare("gradients of mu", grads[0], 1e-7, want.GradMu...)
	compare("gradients of log variances", grads[1], 1e-7, want.GradLogVar...)
}

// elementsOf returns a node's value in double precision.
func elementsOf(n *gorgonia.Node) []float64 {
	switch x := n.Value().Data().(type) {
	case float64:
		return []float64{x}
	case float32:
		return []float64{float64(x)}
	case []float64:
		return x
	case []float32:
		return numeric.Convert[float64](x)
	}
	return nil
}

// pairRun holds the losses of a pair model on images, their gradients and the outputs.
type pairRun struct {
	total, mean, logVariance []float32
	gradients                [][]float32
}

// runPairs runs an objective on 2n images, with noise row by row.
func runPairs(t *testing.T, m Model, labelled bool, images, noise []float32) pairRun {
	t.Helper()
	n := len(images) / 64
	g := nn.NewGraph(m.Params())
	p := built(t, g, m, Objective{Name: "o", Labelled: labelled}, n, 2)
	copy(nn.Data(p.Outputs.Images), images)
	copy(nn.Data(p.Noise[0]), noise)
	node := gradcheck.Must(t)
	total := node(gorgonia.Add(node(losses.BernoulliReconstruction(p.Outputs.Images, p.Outputs.Logits)), node(p.Outputs.Posteriors[0].KL())))
	_, learnables, err := g.Reached(total)
	must.OK(t, err)
	grads := must.Get(gorgonia.Grad(total, learnables...))(t)
	v := values(t, append([]*gorgonia.Node{total, p.Outputs.Codes, p.Outputs.LogVariance}, grads...)...)
	return pairRun{v[0], v[1], v[2], v[3:]}
}

// near reports whether numbers agree up to rounding.
func near(a, b []float32) bool {
	most := float32(1e-3)
	for _, v := range a {
		most = max(most, v, -v)
	}
	return len(a) == len(b) && !slices.ContainsFunc(a, func(v float32) bool { return v != v }) && func() bool {
		for i, v := range a {
			if d := v - b[i]; !(d <= 1e-4*most && d >= -1e-4*most) {
				return false
			}
		}
		return true
	}()
}

// pairInputs draws images in [0, 1] and noise for n rows of 3 dimensions.
func pairInputs(n int) (images, noise []float32) {
	s := rng.New(4, "pairs")
	images, noise = make([]float32, 64*n), make([]float32, 3*n)
	for i := range images {
		images[i] = s.Float32()
	}
	s.Normals(noise)
	return images, noise
}

func pairModel(t *testing.T, s Settings) Model {
	t.Helper()
	return newModel(t, s, data(row, column), 1)
}

// TestPairsOfEqualImages checks that a pair of equal images has the loss of a VAE on the image, except with a product
// of densities.
func TestPairsOfEqualImages(t *testing.T) {
	one, noise := pairInputs(1)
	images, twice := slices.Concat(one, one), slices.Concat(noise, noise)
	base := PairVAE{Networks: small(16), Latent: 3}
	vae := runPairs(t, pairModel(t, &VAE{Networks: small(16), Latent: 3}), false, images, twice)
	for name, s := range map[string]Settings{"gvae": &GVAE{base, 1}, "ada-gvae": &AdaGVAE{base},
		"ml-vae": &MLVAE{PairVAE: base, K: 1}, "ada-ml-vae": &AdaMLVAE{PairVAE: base}, "product": &AdaMLVAE{base, true}} {
		got := runPairs(t, pairModel(t, s), true, images, twice)
		if near(got.total, vae.total) == (name == "product") {
			t.Errorf("%s: loss %v, of a VAE %v", name, got.total, vae.total)
		}
	}
}

// TestAllPrivate checks that a model with all dimensions private is a VAE on all images, with the same gradients.
func TestAllPrivate(t *testing.T) {
	images, noise := pairInputs(6)
	base := PairVAE{Networks: small(16), Latent: 3}
	vae := runPairs(t, pairModel(t, &VAE{Networks: small(16), Latent: 3}), false, images, noise)
	for name, s := range map[string]Settings{"gvae": &GVAE{base, 3}, "ml-vae": &MLVAE{base, 3, true},
		"slow-vae": &SlowVAE{Networks: small(16), Latent: 3}} {
		got := runPairs(t, pairModel(t, s), true, images, noise)
		same := near(got.total, vae.total)
		for i := range vae.gradients {
			same = same && near(vae.gradients[i], got.gradients[i])
		}
		if !same {
			t.Errorf("%s: loss %v, of a VAE %v, or the gradients differ", name, got.total, vae.total)
		}
	}
	shared := runPairs(t, pairModel(t, &GVAE{base, 0}), true, images, noise)
	for p := range 3 {
		at := 6 * p
		if !slices.Equal(shared.mean[at:at+3], shared.mean[at+3:at+6]) ||
			!slices.Equal(shared.logVariance[at:at+3], shared.logVariance[at+3:at+6]) {
			t.Errorf("no dimension is private, and pair %d has the means %v", p, shared.mean[at:at+6])
		}
	}
}

// TestSwappedImages checks that symmetric divergences allow a swap of the two images.
func TestSwappedImages(t *testing.T) {
	images, noise := pairInputs(40)
	swap := func(x []float32) []float32 {
		y, d := slices.Clone(x), len(x)/40
		for row := range 40 {
			copy(y[row*d:(row+1)*d], x[(row^1)*d:])
		}
		return y
	}
	base := PairVAE{Networks: small(16), Latent: 3}
	for _, symmetric := range []bool{true, false} {
		base.Symmetric = symmetric
		m := pairModel(t, &AdaGVAE{base})
		for _, name := range m.Params().Names() { // vary the log variances
			if strings.Contains(name, "log-variance") {
				for i, v := range m.Params().Get(name).Float32s() {
					m.Params().Get(name).Float32s()[i] = 8 * v
				}
			}
		}
		a, b := runPairs(t, m, true, images, noise), runPairs(t, m, true, swap(images), swap(noise))
		if near(a.mean, swap(b.mean)) != symmetric || near(a.logVariance, swap(b.logVariance)) != symmetric {
			t.Errorf("symmetric %v: swapped outputs are swapped %v", symmetric, near(a.mean, swap(b.mean)))
		}
	}
}

func TestPairMistakes(t *testing.T) {
	base := PairVAE{Networks: small(16), Latent: 3}
	for want, s := range map[string]interface{ Validate() error }{
		"k: 4 of 3 dimensions are private; want 0 to 3":  &GVAE{base, 4},
		"k: -1 of 3 dimensions are private; want 0 to 3": &MLVAE{PairVAE: base, K: -1},
		"latent: 0 dimensions":                           &AdaGVAE{},
		"latent: -1 dimensions":                          &SlowVAE{small(16), -1},
	} {
		must.Error(t, s.Validate(), want)
	}
	m := pairModel(t, &AdaGVAE{base})
	must.ErrorOf(m.Build(nn.NewGraph(m.Params()), Objective{Labelled: true}, 6, 3))(t, "there are groups of 3; want pairs")
	g := gorgonia.NewGraph()
	mu := gradcheck.Node(g, tensor.Float32, "mu", 3, 2)
	must.ErrorOf(pairMask(mu, mu, mergeRule{}))(t, "want inputs of one shape [2 pairs, d]")
}

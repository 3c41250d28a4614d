package conformance

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/models/latent"
)

// allLatents tests every registered latent space with [CheckLatent].
func allLatents(t *testing.T) {
	for _, e := range latent.Registry.Entries {
		t.Run(e.Name, func(t *testing.T) { verdict(t, CheckLatent(e)) })
	}
}

// CheckLatent returns the faults of an entry of the registry of latent spaces, with the settings of its New:
//
//   - wrong shapes of locations, samples and noise, and parameters without the given prefix in their names;
//   - samples that depend on more than location, scale and noise, or that ignore the noise;
//   - locations, samples, points of the prior and transported points outside the space, if it is
//     [latent.Embedded];
//   - a negative KL, or, if the space has [latent.Densities], a KL that differs from the mean of log q - log p
//     over 8192 samples by more than four standard errors plus 1 %;
//   - gradients of samples, KL and transported points that differ from central differences, in float64;
//   - transformations that do not act as a group: 0 moves a point; transport moves a group that is one point,
//     transformed; b after a differs from the product of a and b (sums of angles, products of rotations); or a
//     circular factor's whole turn moves a point.
func CheckLatent(e registry.Entry[latent.Space]) error {
	f := &findings{part: "latent space " + e.Name}
	func() {
		defer f.guard()
		s, ok := entryOf(f, e)
		if !ok {
			return
		}
		x := &latentCheck{findings: f, space: s, width: s.Width()}
		if !x.build() {
			return
		}
		x.sampling()
		x.prior()
		x.divergence()
		x.gradients()
		x.group()
	}()
	return f.err()
}

// latentRows is the number of posteriors in a batch. latentRounds is the number of samples per posterior.
const latentRows, latentRounds = 256, 32

// latentCheck checks one latent space, and holds a batch of posteriors.
type latentCheck struct {
	*findings
	space latent.Space
	width int

	noise               []float32
	sample, kl          *gorgonia.Node
	locations, scales   []float64
	locationOf, scaleOf *gorgonia.Node
}

// build makes the posteriors of random features.
func (x *latentCheck) build() bool {
	if x.width < 1 {
		x.add("Width is %d; want 1 or more", x.width)
		return false
	}
	g := nn.NewGraph(nn.NewParams(seed))
	features, err := g.Input("features", latentRows, 6)
	if err != nil {
		x.add("features: %w", err)
		return false
	}
	rng.New(seed, "features").Normals(nn.Data(features))
	if x.locationOf, x.scaleOf, err = x.space.Heads(g, features, "space"); err != nil {
		x.add("Heads: %w", err)
		return false
	}
	for _, name := range g.Params.Names() {
		if !strings.HasPrefix(name, "space/") {
			x.add("Heads makes the parameter %q; want names that begin with the given one and a slash", name)
		}
	}
	noise, err := g.Input("noise", x.space.NoiseShape(latentRows)...)
	if err != nil {
		x.add("NoiseShape: %w", err)
		return false
	}
	x.noise = nn.Data(noise)
	if x.sample, err = x.space.Sample(x.locationOf, x.scaleOf, noise); err != nil {
		x.add("Sample: %w", err)
		return false
	}
	if x.kl, err = x.space.KL(x.locationOf, x.scaleOf); err != nil {
		x.add("KL: %w", err)
		return false
	}
	if !x.kl.IsScalar() {
		x.add("KL has shape %v; want a scalar, the mean over the batch", x.kl.Shape())
	}
	for name, n := range map[string]*gorgonia.Node{"Heads: the location": x.locationOf, "Sample": x.sample} {
		if want := []int{latentRows, x.width}; !slices.Equal([]int(n.Shape()), want) {
			x.add("%s has shape %v; want %v", name, n.Shape(), want)
		}
	}
	if len(x.errs) > 0 {
		return false
	}
	values, err := run(x.locationOf, x.scaleOf)
	if err != nil {
		x.add("posteriors: %w", err)
		return false
	}
	x.locations, x.scales = values[0], values[1]
	x.on("location", x.locations)
	return true
}

// on adds faults for non-finite points, and for points outside the space.
func (x *latentCheck) on(name string, points []float64) {
	if i := notFinite(points); i >= 0 {
		x.add("%s: column %d is %v", name, i%x.width, points[i])
		return
	}
	s, ok := x.space.(latent.Embedded)
	if !ok {
		return
	}
	for p := range slices.Chunk(points, x.width) {
		if d := s.Distance(p); !(d <= 1e-4) {
			x.add("%s: a point is %.3g away from the space; want it to be on it", name, d)
			return
		}
	}
}

// sampled draws noise, seeded by round, and returns samples and KL.
func (x *latentCheck) sampled(round int) (points []float64, kl float64, ok bool) {
	rng.New(seed, fmt.Sprint("noise ", round)).Normals(x.noise)
	values, err := run(x.sample, x.kl)
	if err != nil {
		x.add("sampling: %w", err)
		return nil, 0, false
	}
	return values[0], values[1][0], true
}

// sampling checks that samples depend on location, scale and noise.
func (x *latentCheck) sampling() {
	first, _, ok := x.sampled(0)
	if !ok {
		return
	}
	x.on("sample", first)
	if again, _, ok := x.sampled(0); ok && !slices.Equal(first, again) {
		x.add("the same noise gives other samples; want them to depend on location, scale and noise alone")
	}
	if other, _, ok := x.sampled(1); ok && slices.Equal(first, other) {
		x.add("samples do not depend on the noise")
	}
}

// prior checks points of the prior.
func (x *latentCheck) prior() {
	draw := func(seed uint64) []float64 {
		s, point := rng.New(seed, "prior"), make([]float32, x.width)
		var points []float64
		for range 100 {
			x.space.Prior(s, point)
			points = append(points, wide(point)...)
		}
		return points
	}
	points := draw(seed)
	x.on("Prior", points)
	if !slices.Equal(points, draw(seed)) {
		x.add("Prior gives other points for the same stream; want all chance from the stream")
	}
	if slices.Equal(points[:x.width], points[x.width:2*x.width]) {
		x.add("Prior gives the same point again; want it drawn from the stream")
	}
}

// divergence compares KL with the mean of log q - log p over samples.
func (x *latentCheck) divergence() {
	var sum, squares, count, kl float64
	d, known := x.space.(latent.Densities)
	scale := len(x.scales) / latentRows
	for round := range latentRounds {
		points, value, ok := x.sampled(round)
		if !ok {
			return
		}
		kl = value
		for row := range latentRows {
			if !known {
				break
			}
			z := points[row*x.width : (row+1)*x.width]
			v := d.LogPosterior(x.locations[row*x.width:(row+1)*x.width], x.scales[row*scale:(row+1)*scale], z) - d.LogPrior(z)
			sum, squares, count = sum+v, squares+v*v, count+1
		}
	}
	if !(kl >= -1e-4) || math.IsInf(kl, 0) {
		x.add("KL is %v nats; want a number that is not negative", kl)
	}
	if !known {
		return
	}
	mean := sum / count
	deviation := math.Sqrt(math.Max(0, squares/count-mean*mean) / count)
	if !(math.Abs(kl-mean) <= 4*deviation+0.01*math.Max(1, math.Abs(mean))) {
		x.add("KL is %.4g nats; want the mean of log q - log p over samples, %.4g +- %.2g", kl, mean, deviation)
	}
}

// gradients compares gradients of a few rows with central differences.
func (x *latentCheck) gradients() {
	const rows = 6
	width := len(x.scales) / latentRows
	inputs := []doubleInput{
		{"location", []int{rows, x.width}, x.locations[:rows*x.width]},
		{"scale", append([]int{rows}, x.scaleOf.Shape()[1:]...), x.scales[:rows*width]},
	}
	noise := doubleInput{"noise", x.space.NoiseShape(rows), nil}
	s := rng.New(seed, "noise in float64")
	for range tensor.Shape(noise.shape).TotalSize() {
		noise.values = append(noise.values, s.NormFloat64())
	}
	moves := doubleInput{"transformation", []int{rows, x.space.Columns()}, nil}
	if c := x.space.Columns(); c > 0 {
		single := make([]float32, rows*c)
		fillTransformations(single, c, 2, s)
		moves.values = wide(single)
	}
	err := checkGradients(inputs, func(g *gorgonia.ExprGraph, in []*gorgonia.Node) (*gorgonia.Node, error) {
		z, err := x.space.Sample(in[0], in[1], noise.node(g))
		if err != nil {
			return nil, fmt.Errorf("method Sample: %w", err)
		}
		kl, err := x.space.KL(in[0], in[1])
		if err != nil {
			return nil, fmt.Errorf("KL: %w", err)
		}
		var transformation *gorgonia.Node
		if moves.values != nil {
			transformation = moves.node(g)
		}
		t, err := x.space.Transport(z, transformation, 2)
		if err != nil {
			return nil, fmt.Errorf("method Transport: %w", err)
		}
		return sumOf(kl, z, t.Moved)
	})
	if err != nil {
		x.add("in float64: %w", err)
	}
}

// sumOf adds to a scalar the pulls on other nodes.
func sumOf(total *gorgonia.Node, nodes ...*gorgonia.Node) (*gorgonia.Node, error) {
	for i, n := range nodes {
		p, err := pull(n, fmt.Sprint("part ", i))
		if err != nil {
			return nil, err
		}
		if total, err = gorgonia.Add(total, p); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// doubleInput is an input in float64.
type doubleInput struct {
	name   string
	shape  []int
	values []float64
}

func (d doubleInput) node(g *gorgonia.ExprGraph) *gorgonia.Node {
	v := tensor.New(tensor.WithShape(d.shape...), tensor.WithBacking(slices.Clone(d.values)))
	return gorgonia.NewTensor(g, tensor.Float64, len(d.shape), gorgonia.WithShape(d.shape...), gorgonia.WithName(d.name), gorgonia.WithValue(v))
}

// checkGradients compares the gradients of a scalar in its inputs with central differences.
func checkGradients(inputs []doubleInput, build func(g *gorgonia.ExprGraph, in []*gorgonia.Node) (*gorgonia.Node, error)) error {
	g := gorgonia.NewGraph()
	nodes := make(gorgonia.Nodes, len(inputs))
	for i, in := range inputs {
		nodes[i] = in.node(g)
	}
	total, err := build(g, nodes)
	if err != nil {
		return err
	}
	grads, err := gorgonia.Grad(total, nodes...)
	if err != nil {
		return err
	}
	values, err := run(append(grads, total)...)
	if err != nil {
		return err
	}
	var errs []error
	for i, n := range nodes {
		data := n.Value().Data().([]float64)
		for at, x := range data {
			const step = 1e-5
			var sides [2]float64
			for side, by := range []float64{step, -step} {
				data[at] = x + by
				moved, err := run(total)
				if err != nil {
					return err
				}
				sides[side] = moved[0][0]
			}
			data[at] = x
			want := (sides[0] - sides[1]) / (2 * step)
			if got := values[i][at]; !(math.Abs(got-want) <= 1e-5*math.Max(1, math.Abs(want))) {
				errs = append(errs, fmt.Errorf("the gradient in element %d of %s is %.6g; central differences give %.6g", at, inputs[i].name, got, want))
				break
			}
		}
	}
	return errors.Join(errs...)
}

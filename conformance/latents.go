package conformance

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/models/latent"
)

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
	return faultsOfEntry("latent space", e, func(f *findings, s latent.Space) {
		x := &latentCheck{findings: f, space: s, width: s.Width()}
		x.build()
		x.run(x.sampling, x.prior, x.divergence, x.gradients, x.group)
	})
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

func (x *latentCheck) build() {
	if x.width < 1 {
		x.fatal("Width is %d; want 1 or more", x.width)
	}
	g := nn.NewGraph(nn.NewParams(seed))
	features, err := g.Input("features", latentRows, 6)
	x.must(err, "features")
	rng.New(seed, "features").Normals(nn.Data(features))
	x.locationOf, x.scaleOf, err = x.space.Heads(g, features, "space")
	x.must(err, "Heads")
	for _, name := range g.Params.Names() {
		if !strings.HasPrefix(name, "space/") {
			x.add("Heads makes the parameter %q; want names that begin with the given one and a slash", name)
		}
	}
	noise, err := g.Input("noise", x.space.NoiseShape(latentRows)...)
	x.must(err, "NoiseShape")
	x.noise = nn.Data(noise)
	x.sample, err = x.space.Sample(x.locationOf, x.scaleOf, noise)
	x.must(err, "Sample")
	x.kl, err = x.space.KL(x.locationOf, x.scaleOf)
	x.must(err, "KL")
	if !x.kl.IsScalar() {
		x.add("KL has shape %v; want a scalar, the mean over the batch", x.kl.Shape())
	}
	for name, n := range map[string]*gorgonia.Node{"Heads: the location": x.locationOf, "Sample": x.sample} {
		if want := []int{latentRows, x.width}; !slices.Equal([]int(n.Shape()), want) {
			x.add("%s has shape %v; want %v", name, n.Shape(), want)
		}
	}
	if len(x.errs) > 0 {
		panic(stopped{})
	}
	values := x.results("posteriors", x.locationOf, x.scaleOf)
	x.locations, x.scales = values[0], values[1]
	x.checkInside("location", x.locations)
}

// checkInside records faults for non-finite points, and for points outside the space.
func (x *latentCheck) checkInside(name string, points []float64) {
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

// drawSamples draws noise seeded by round, and returns samples and KL.
func (x *latentCheck) drawSamples(round int) (points []float64, kl float64) {
	rng.New(seed, fmt.Sprint("noise ", round)).Normals(x.noise)
	values := x.results("sampling", x.sample, x.kl)
	return values[0], values[1][0]
}

func (x *latentCheck) sampling() {
	samples, _ := x.drawSamples(0)
	x.checkInside("sample", samples)
	if repeated, _ := x.drawSamples(0); !slices.Equal(samples, repeated) {
		x.add("the same noise gives other samples; want them to depend on location, scale and noise alone")
	}
	if different, _ := x.drawSamples(1); slices.Equal(samples, different) {
		x.add("samples do not depend on the noise")
	}
}

func (x *latentCheck) prior() {
	points := x.drawPrior("prior", 100)
	x.checkInside("Prior", points)
	if !slices.Equal(points, x.drawPrior("prior", 100)) {
		x.add("Prior gives other points for the same stream; want all chance from the stream")
	}
	if slices.Equal(points[:x.width], points[x.width:2*x.width]) {
		x.add("Prior gives the same point again; want it drawn from the stream")
	}
}

func (x *latentCheck) drawPrior(stream string, n int) (points []float64) {
	s, point := rng.New(seed, stream), make([]float32, x.width)
	for range n {
		x.space.Prior(s, point)
		points = append(points, numeric.Convert[float64](point)...)
	}
	return points
}

// divergence compares KL with the mean of log q - log p over samples.
func (x *latentCheck) divergence() {
	var sum, squares, count, kl float64
	d, hasDensities := x.space.(latent.Densities)
	scale := len(x.scales) / latentRows
	for round := range latentRounds {
		var points []float64
		points, kl = x.drawSamples(round)
		for row := 0; hasDensities && row < latentRows; row++ {
			z := points[row*x.width : (row+1)*x.width]
			v := d.LogPosterior(x.locations[row*x.width:(row+1)*x.width], x.scales[row*scale:(row+1)*scale], z) - d.LogPrior(z)
			sum, squares, count = sum+v, squares+v*v, count+1
		}
	}
	if !(kl >= -1e-4) || math.IsInf(kl, 0) {
		x.add("KL is %v nats; want a number that is not negative", kl)
	}
	if !hasDensities {
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
	s, columns := rng.New(seed, "noise in float64"), x.space.Columns()
	noise := make([]float64, tensor.Shape(x.space.NoiseShape(rows)).TotalSize())
	for i := range noise {
		noise[i] = s.NormFloat64()
	}
	inputs := []gradcheck.Input{
		{Shape: []int{rows, x.width}, Values: x.locations[:rows*x.width]},
		{Shape: append([]int{rows}, x.scaleOf.Shape()[1:]...), Values: x.scales[:rows*len(x.scales)/latentRows]},
		{Shape: x.space.NoiseShape(rows), Values: noise, Constant: true},
	}
	if columns > 0 {
		moves := make([]float32, rows*columns)
		fillTransformations(moves, columns, 2, s)
		inputs = append(inputs, gradcheck.Input{Shape: []int{rows, columns}, Values: numeric.Convert[float64](moves),
			Constant: true})
	}
	x.must(gradcheck.Verify(gradcheck.Case{Name: "location (0), scale (1)", Inputs: inputs, Tolerance: 1e-5,
		Samples: math.MaxInt, Floor32: 0.1, Tolerance32: 1e-4,
		Machines: []gradcheck.Machine{}, // a space from outside may use operations of Gorgonia that its machines compute wrongly
		Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
			z, err := x.space.Sample(in[0], in[1], in[2])
			if err != nil {
				return nil, fmt.Errorf("method Sample: %w", err)
			}
			kl, err := x.space.KL(in[0], in[1])
			if err != nil {
				return nil, fmt.Errorf("KL: %w", err)
			}
			var transformation *gorgonia.Node
			if columns > 0 {
				transformation = in[3]
			}
			t, err := x.space.Transport(z, transformation, 2)
			if err != nil {
				return nil, fmt.Errorf("method Transport: %w", err)
			}
			return addPulls(kl, z, t.Moved)
		}}), "gradients")
}

// addPulls adds the pulls on other nodes to a scalar.
func addPulls(total *gorgonia.Node, nodes ...*gorgonia.Node) (*gorgonia.Node, error) {
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

// groupRows is the number of transported points, in groups of four.
const groupRows = 32

// move transports points in groups of m. With turns, the transformations are angles of a circular factor.
func (x *latentCheck) move(points, transformations []float64, turns bool, m int) (moved []float64) {
	g := nn.NewGraph(nn.NewParams(seed))
	rows := len(points) / x.width
	z, err := g.Input("points", rows, x.width)
	x.must(err, "points")
	fill(nn.Data(z), points)
	var moves *gorgonia.Node
	if columns := len(transformations) / rows; columns > 0 {
		moves, err = g.Input("transformations", rows, columns)
		x.must(err, "transformations")
		fill(nn.Data(moves), transformations)
		if turns {
			moves, err = x.space.Turn(moves)
			x.must(err, "Turn")
			if want := []int{rows, x.space.Columns()}; !slices.Equal([]int(moves.Shape()), want) {
				x.fatal("Turn returns shape %v; want %v", moves.Shape(), want)
			}
		}
	}
	t, err := x.space.Transport(z, moves, m)
	x.must(err, "Transport")
	if t.Moved == nil || t.Points == nil {
		x.fatal("Transport returns no points; want Points and Moved")
	}
	values := x.results("Transport", t.Moved, t.Points)
	if farApart(values[1], points, 1e-6) >= 0 {
		x.add("Transport returns other Points than it was given")
	}
	x.checkInside("Transport", values[0])
	return values[0]
}

func fill(dst []float32, values []float64) {
	for i, v := range values {
		dst[i] = float32(v)
	}
}

func (x *latentCheck) group() {
	points, s := x.drawPrior("group", groupRows), rng.New(seed, "group transformations")
	columns := x.space.Columns()
	if x.space.Turns() {
		x.groupOf(points, 1, true, s)
		return
	}
	if columns > 0 {
		x.groupOf(points, columns, false, s)
		return
	}
	moved := x.move(points, nil, false, 4)
	for i := range moved {
		if firstRow := i - i/x.width%4*x.width; math.Abs(moved[i]-moved[firstRow]) > 1e-5 {
			x.fatal("Transport without transformations gives the members of a group different points; want their common one")
		}
	}
	x.checkFixed(moved, nil, false, 4, "a group without transformations")
}

// groupOf checks groups of four transformations: 0, a, b, and b after a.
func (x *latentCheck) groupOf(points []float64, columns int, turns bool, s *rng.Stream) {
	product := columns == 1 || columns == 4
	transformations, withoutA := drawGroups(columns, product, s)
	moved := x.move(points, transformations, turns, 4)
	changed := false
	for g := range slices.Chunk(moved, 4*x.width) {
		changed = changed || farApart(g[x.width:2*x.width], g[:x.width], 1e-3) >= 0
	}
	if !changed {
		x.add("Transport by transformations that are not 0 moves no point")
	}
	x.checkFixed(moved, transformations, turns, 4, "a group")
	if product {
		var pairs []float64 // a applied to the common point, then b after a
		for g := range groupRows / 4 {
			point := func(member int) []float64 { return moved[(4*g+member)*x.width : (4*g+member+1)*x.width] }
			pairs = slices.Concat(pairs, point(1), point(3))
		}
		x.checkFixed(pairs, withoutA, turns, 2, "the points of a, and of b after a, with b between them")
	}
	if turns {
		x.wholeTurns(points)
	}
}

// drawGroups draws the transformations 0, a, b and c of each group, and 0 and b alone. c is b after a if the
// transformations have a product, and b otherwise.
func drawGroups(columns int, product bool, s *rng.Stream) (transformations, withoutA []float64) {
	for range groupRows / 4 {
		single := make([]float32, 3*columns)
		fillTransformations(single, columns, 3, s)
		t := numeric.Convert[float64](single)
		if columns == 4 { // axes of any direction
			for _, axisColumn := range []int{4, 8} {
				axis(t[axisColumn:axisColumn+3], s)
			}
		}
		zero, a, b := t[:columns], t[columns:2*columns], t[2*columns:]
		c := b
		if product {
			c = compose(a, b)
		}
		transformations = slices.Concat(transformations, zero, a, b, c)
		withoutA = slices.Concat(withoutA, zero, b)
	}
	return transformations, withoutA
}

// wholeTurns checks that a whole turn of a circular factor does not move points.
func (x *latentCheck) wholeTurns(points []float64) {
	turns := make([]float64, groupRows)
	for i := range turns {
		turns[i] = 2 * math.Pi * float64(i%4)
	}
	round := x.move(points, turns, true, 4)
	for g := range groupRows / 4 {
		common := round[4*g*x.width : (4*g+1)*x.width]
		for member := range 4 {
			if farApart(round[(4*g+member)*x.width:(4*g+member+1)*x.width], common, 1e-4) >= 0 {
				x.fatal("a whole turn of a circular factor moves a point; want it back where it was")
			}
		}
	}
}

// checkFixed checks that transport does not move a group that consists of transformations of one point.
func (x *latentCheck) checkFixed(points, transformations []float64, turns bool, m int, label string) {
	repeated := x.move(points, transformations, turns, m)
	if i := farApart(repeated, points, 1e-4); i >= 0 {
		x.add("transformations do not act as a group: Transport moves %s, by %.3g; want it to stay",
			label, math.Abs(repeated[i]-points[i]))
	}
}

// axis draws a unit vector.
func axis(dst []float64, s *rng.Stream) {
	var square float64
	for i := range dst {
		dst[i] = s.NormFloat64()
		square += dst[i] * dst[i]
	}
	for i := range dst {
		dst[i] /= math.Sqrt(square)
	}
}

// compose returns the transformation b after a: a sum of angles, or a product of rotations given by axes and angles.
func compose(a, b []float64) []float64 {
	if len(a) == 1 {
		return []float64{a[0] + b[0]}
	}
	quaternion := func(t []float64) (w float64, v [3]float64) {
		sin, cos := math.Sincos(t[3] / 2)
		return cos, [3]float64{sin * t[0], sin * t[1], sin * t[2]}
	}
	wa, va := quaternion(a)
	wb, vb := quaternion(b)
	w := wa*wb - va[0]*vb[0] - va[1]*vb[1] - va[2]*vb[2]
	var v [3]float64
	for i := range v {
		j, k := (i+1)%3, (i+2)%3
		v[i] = wb*va[i] + wa*vb[i] + vb[j]*va[k] - vb[k]*va[j]
	}
	sin := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
	if sin < 1e-12 {
		return []float64{1, 0, 0, 0}
	}
	return []float64{v[0] / sin, v[1] / sin, v[2] / sin, 2 * math.Atan2(sin, w)}
}

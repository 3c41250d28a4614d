package models

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/latent"
)

// TestDecodesTransported checks that the model decodes images of labelled groups from g_m . zbar, not from the samples.
func TestDecodesTransported(t *testing.T) {
	m := newModel(t, &LSBDVAE{Networks: small(16), Latent: latent.Of(latent.NewSphere(), latent.NewEuclidean())}, data(row), 3)
	g := nn.NewGraph(m.Params())
	p := built(t, g, m, Objective{Name: "supervised", Labelled: true}, 4, 2)
	rng.New(1, "images").Normals(nn.Data(p.Outputs.Images))
	copy(nn.Data(p.Transformations[0].Node), []float32{0, 1, 0, 2})
	for i, n := range p.Noise {
		rng.New(uint64(i), "noise").Normals(nn.Data(n))
	}
	decoded := func(part func(losses.Transport) *gorgonia.Node) *gorgonia.Node {
		z := must.Get(graph.ConcatColumns(part(p.Outputs.Transports[0]), part(p.Outputs.Transports[1])))(t)
		return must.Get(m.(Decoder).Decode(g, z))(t)
	}
	v := values(t, p.Outputs.Logits, decoded(func(x losses.Transport) *gorgonia.Node { return x.Moved }),
		decoded(func(x losses.Transport) *gorgonia.Node { return x.Points }))
	if !slices.Equal(v[0], v[1]) || slices.Equal(v[0], v[2]) {
		t.Error("the logits are not those of the transported points")
	}
}

// TestStopGradient checks that the reconstruction of labelled groups trains the encoder, unless the option prevents it.
func TestStopGradient(t *testing.T) {
	for _, stop := range []bool{false, true} {
		m := newModel(t, &LSBDVAE{Networks: small(16), Latent: latent.Of(latent.NewSphere()), StopGradient: stop}, data(row), 3)
		g := nn.NewGraph(m.Params())
		p := built(t, g, m, Objective{Name: "supervised", Labelled: true}, 4, 2)
		loss := must.Get(losses.BernoulliReconstruction(p.Outputs.Images, p.Outputs.Logits))(t)
		weight := must.Get(g.Param("encoder/dense1/weight", tensor.Shape{64, 16}, nn.Zeros))(t)
		if _, err := gorgonia.Grad(loss, weight); (err != nil) != stop {
			t.Errorf("stop_gradient %v: gradient of the encoder's weight: %v", stop, err)
		}
	}
}

// TestLSBDOfMoves checks the loss on a group with equal images and equal noise. Without moves the points agree and
// the loss is 0. With a move the loss is known.
func TestLSBDOfMoves(t *testing.T) {
	m := newModel(t, &LSBDVAE{Networks: small(16), Latent: latent.Of(latent.NewSphere(), latent.NewSphere())}, data(row, object, column), 3)
	g := nn.NewGraph(m.Params())
	p := built(t, g, m, Objective{Name: "supervised", Labelled: true}, 4, 2)
	if got := [2]int{p.Transformations[0].Columns[0], p.Transformations[1].Columns[0]}; got != [2]int{0, 2} {
		t.Errorf("circles follow factors %v, want row (0) and column (2)", got)
	}
	loss := must.Get(losses.LSBD(p.Outputs.Transports[0].Points, p.Outputs.Transports[0].Moved))(t)
	images := nn.Data(p.Outputs.Images)
	for i := range images {
		images[i] = float32(i%64) / 64
	}
	still := values(t, loss)[0][0]
	nn.Data(p.Transformations[0].Node)[1] = math.Pi / 2
	turned := values(t, loss)[0][0]
	// the two points are at a right angle to their correct positions, so each is pi/4 from the mean
	want := float32(2-2*math.Cos(math.Pi/4)) / 2
	if !(still <= 1e-6) || !(math.Abs(float64(turned-want)) <= 1e-4) {
		t.Errorf("the loss is %v without a move and %v with one, want 0 and %v", still, turned, want)
	}
}

// TestLSBDTurns checks how moves act: by omega times the angle of a factor, about an axis of S^2, and as rotations of
// the groups. Both members of a group have equal images and noise, so only moves separate the points from their common
// point.
func TestLSBDTurns(t *testing.T) {
	twice := latent.NewSphere()
	twice.Omega = 2
	about := latent.NewSphere()
	about.Dim, about.Omega, about.Axis = 2, -2, []float64{0, 3, 0}
	free := latent.NewSphere()
	free.Dim = 2
	of := data(row)
	of.Rotations = 1
	for _, c := range []struct {
		name  string
		space *latent.Sphere
		data  Data
		moves []float32 // moves of the second member
		axis  []float64
	}{
		{"circle of weight 2", twice, data(row), []float32{math.Pi / 4}, nil},
		{"sphere with an axis", about, data(row), []float32{math.Pi / 4}, []float64{0, 1, 0}},
		{"sphere under rotations", free, of, []float32{0, 0, 2, math.Pi / 2}, []float64{0, 0, 1}},
	} {
		spaces := latent.Of(c.space)
		if c.data.Rotations > 0 {
			spaces = latent.Of(c.space, latent.NewSphere())
		}
		m := must.Get((&LSBDVAE{Networks: small(16), Latent: spaces}).New(c.data, 3))(t)
		g := nn.NewGraph(m.Params())
		p := built(t, g, m, Objective{Name: "supervised", Labelled: true}, 2, 2)
		moves := nn.Data(p.Transformations[0].Node)
		copy(moves[len(moves)/2:], c.moves)
		images := nn.Data(p.Outputs.Images)
		for i := range images {
			images[i] = float32(i%64) / 64
		}
		if len(c.moves) == 4 && !slices.Equal(p.Transformations[0].Columns, []int{1, 2, 3, 4}) {
			t.Errorf("%s: moves from columns %v, want 1 to 4", c.name, p.Transformations[0].Columns)
		}
		v := values(t, p.Outputs.Transports[0].Points, p.Outputs.Transports[0].Moved)
		z, y := v[0], v[1]
		// y_2 = g y_1 for a quarter turn g, so the two are at right angles except along the axis
		d := len(z) / 2
		along, got, length := 0.0, 0.0, 0.0
		for i := range d {
			length += float64(y[i]) * float64(y[i])
			got += float64(y[i]) * float64(y[d+i])
			if c.axis != nil {
				along += float64(y[i]) * c.axis[i]
			}
		}
		if !(math.Abs(got-along*along) <= 1e-5) || !(math.Abs(along) <= 0.99) || !(math.Abs(length-1) <= 1e-5) {
			t.Errorf("%s: moved points of length %v have the inner product %v, want 1 and %v", c.name, length, got, along*along)
		}
	}
}

// sphere returns the settings of S^2.
func sphere() *latent.Sphere {
	s := latent.NewSphere()
	s.Dim = 2
	return s
}

// TestPosesMoveSpheres checks which transformations act on which spaces: the columns of the factors pose (5 to 8 with
// one pose) and hue.
func TestPosesMoveSpheres(t *testing.T) {
	pose, second := factor.Factor{Name: "pose", Size: 24, Kind: factor.Categorical, Rotations: rotation.Octahedral()}, factor.Factor{}
	second = pose
	second.Name = "second"
	circle, ball, line := latent.NewSphere(), sphere(), latent.NewEuclidean()
	about := sphere()
	about.Axis = []float64{0, 0, 1}
	for name, c := range map[string]struct {
		spaces  latent.List
		of      []factor.Factor
		factors []string
		want    [][]int
	}{
		"sphere and circle":           {latent.Of(ball, circle), []factor.Factor{pose, row}, nil, [][]int{{2, 3, 4, 5}, {1}}},
		"the other order":             {latent.Of(circle, ball), []factor.Factor{pose, row}, nil, [][]int{{1}, {2, 3, 4, 5}}},
		"one pose, two spheres":       {latent.Of(ball, circle, sphere()), []factor.Factor{row, pose}, nil, [][]int{{2, 3, 4, 5}, {0}, {2, 3, 4, 5}}},
		"a sphere with an axis":       {latent.Of(about, ball), []factor.Factor{row, pose}, nil, [][]int{{0}, {2, 3, 4, 5}}},
		"two poses":                   {latent.Of(ball, sphere(), line), []factor.Factor{pose, object, second}, nil, [][]int{{3, 4, 5, 6}, {7, 8, 9, 10}, nil}},
		"two poses, the second twice": {latent.Of(ball, sphere(), sphere()), []factor.Factor{pose, second}, []string{"second", "second", "pose"}, [][]int{{6, 7, 8, 9}, {6, 7, 8, 9}, {2, 3, 4, 5}}},
		"pose alone":                  {latent.Of(ball), []factor.Factor{pose, row}, []string{"pose"}, [][]int{{2, 3, 4, 5}}},
		"hue alone":                   {latent.Of(circle), []factor.Factor{pose, row}, []string{"row"}, [][]int{{1}}},
	} {
		d := data(c.of...)
		d.Rotations = len(poseNames(c.of))
		got, err := (&LSBDVAE{Latent: c.spaces, Factors: c.factors}).moves(d)
		if err != nil || !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%s: columns %v, %v; want %v", name, got, err, c.want)
		}
	}
}

// TestOrthogonalSpheres checks that the locations of spheres under one rotation are orthogonal unit vectors, and that
// transport keeps their samples' angles: the Gram-Schmidt process commutes with rotations.
func TestOrthogonalSpheres(t *testing.T) {
	pose := factor.Factor{Name: "pose", Size: 24, Kind: factor.Categorical, Rotations: rotation.Octahedral()}
	d := data(pose)
	d.Rotations = 1
	for _, orthogonal := range []bool{false, true} {
		m := newModel(t, &LSBDVAE{Networks: small(16), Latent: latent.Of(sphere(), sphere(), sphere()), Orthogonal: orthogonal}, d, 3)
		g := nn.NewGraph(m.Params())
		p := built(t, g, m, Objective{Name: "supervised", Labelled: true}, 4, 2)
		rng.New(1, "images").Normals(nn.Data(p.Outputs.Images))
		z := values(t, p.Outputs.Codes)[0]
		for r := range 4 {
			row := z[9*r : 9*r+9]
			for a := range 3 {
				for b := range a + 1 {
					product := float64(row[3*a]*row[3*b] + row[3*a+1]*row[3*b+1] + row[3*a+2]*row[3*b+2])
					if a == b {
						product--
					}
					if (a == b || orthogonal) && !(math.Abs(product) <= 1e-5) || a != b && !orthogonal && !(math.Abs(product) >= 1e-3) {
						t.Errorf("orthogonal %v: spheres %d and %d have the inner product %v off", orthogonal, a, b, product)
					}
				}
			}
		}
	}
}

func TestLSBDVAERefuses(t *testing.T) {
	circle, line := latent.NewSphere(), latent.NewEuclidean()
	ball := sphere()
	pose := factor.Factor{Name: "pose", Size: 24, Kind: factor.Categorical, Rotations: rotation.Octahedral()}
	other := factor.Factor{Name: "other", Size: 24, Kind: factor.Categorical, Rotations: rotation.Octahedral()}
	for _, c := range []struct {
		name, want string
		spaces     latent.List
		factors    []string
		of         []factor.Factor
	}{
		{"too few circles", `"column" has no space`, latent.Of(circle), nil, []factor.Factor{row, column}},
		{"too many circles", "needs a circular factor, but none is left", latent.Of(circle, circle), nil, []factor.Factor{row, object}},
		{"no circles", `"row" has no space`, latent.Of(line), nil, []factor.Factor{row}},
		{"unknown factor", `no factor "colum"; did you mean "column"?`, latent.Of(circle), []string{"colum"}, []factor.Factor{row, column}},
		{"factor that does not turn", `"object" is categorical`, latent.Of(circle), []string{"object"}, []factor.Factor{row, object}},
		{"pose without a sphere", `factor "pose" is a rotation in space and has no sphere to act on; want {sphere: {dim: 2}}`, latent.Of(circle), nil, []factor.Factor{pose, row}},
		{"one sphere for two poses", `factor "other" is a rotation in space and has no sphere`, latent.Of(ball), nil, []factor.Factor{pose, other}},
		{"three spheres for two poses", "latent space 2 (sphere) needs a rotation in space, but none is left", latent.Of(ball, ball, ball), nil, []factor.Factor{pose, other}},
		{"two spheres for a pose named once", "latent space 1 (sphere) needs a rotation in space, but none is left", latent.Of(ball, ball), []string{"pose"}, []factor.Factor{pose}},
		{"a circle for a named pose", `factor "pose" is a rotation in space and has no sphere`, latent.Of(circle), []string{"row", "pose"}, []factor.Factor{pose, row}},
		{"a circle without a factor", "needs a circular factor, but none is left", latent.Of(ball, circle), nil, []factor.Factor{pose}},
		{"factor that does not turn, beside a pose", "want a circular factor or rotations: pose, row", latent.Of(ball), []string{"object"}, []factor.Factor{pose, object, row}},
		{"sphere without rotations", "axis and angle", latent.Of(ball), nil, []factor.Factor{row}},
	} {
		s := &LSBDVAE{Networks: small(16), Latent: c.spaces, Factors: c.factors}
		d := data(c.of...)
		d.Rotations = len(poseNames(c.of))
		must.ErrorOf(s.New(d, 1))(t, c.want, c.name)
	}
	for want, spaces := range map[string]latent.List{"no two spheres are moved by one rotation": latent.Of(ball),
		"one rotation moves 4 spheres; want at most 3": latent.Of(ball, ball, ball, ball)} {
		d := data(pose)
		d.Rotations = 1
		must.ErrorOf((&LSBDVAE{Networks: small(16), Latent: spaces, Orthogonal: true}).New(d, 1))(t, want)
	}
	if _, err := (&LSBDVAE{Networks: small(16), Latent: latent.Of(circle), Factors: []string{"column"}}).New(data(row, column), 1); err != nil {
		t.Errorf("one named factor of two: %v", err)
	}
}

// TestLSBDOfGroups checks the term for groups of M images against its formula. One image appears M times with the moves
// a_m. It has points z and the common point Pi(sum_m R(-a_m) z). The angle of each point to the common point is the
// angle of a_m to the direction of this sum.
func TestLSBDOfGroups(t *testing.T) {
	for _, moves := range [][]float64{{0, 0.3}, {0, 0.3, -0.5}, {0, 0.3, -0.5, 1.2}, {0, 1, 2, -1, -2, 0.1, 0.2, 0.4}} {
		n := len(moves)
		m := newModel(t, &LSBDVAE{Networks: small(16), Latent: latent.Of(latent.NewSphere(), &latent.Euclidean{Dim: 2})}, data(row, object), 3)
		g := nn.NewGraph(m.Params())
		p := built(t, g, m, Objective{Name: "supervised", Labelled: true}, 2*n, n) // two groups of M
		loss := must.Get(losses.LSBD(p.Outputs.Transports[0].Points, p.Outputs.Transports[0].Moved))(t)
		images := nn.Data(p.Outputs.Images)
		for i := range images {
			images[i] = float32(i%64) / 64
		}
		var sin, cos, want float64
		angles := nn.Data(p.Transformations[0].Node)
		for i, a := range moves {
			angles[i] = float32(a) // the second group does not move, and adds 0 to the mean over groups
			s, c := math.Sincos(-a)
			sin, cos = sin+s, cos+c
		}
		for _, a := range moves {
			want += (2 - 2*math.Cos(math.Atan2(sin, cos)+a)) / float64(n) / 2
		}
		if got := float64(values(t, loss)[0][0]); !(math.Abs(got-want) <= 1e-6) {
			t.Errorf("M = %d: the loss is %v, want %v", n, got, want)
		}
		both := values(t, p.Outputs.Transports[1].Points, p.Outputs.Transports[1].Moved)
		for i, z := range both[0] { // the identity acts: the mean of the group
			if y := both[1][i]; !(math.Abs(float64(z-y)) <= 1e-6) {
				t.Errorf("M = %d: the common identity of one image is %v off", n, z-y)
			}
		}
	}
}

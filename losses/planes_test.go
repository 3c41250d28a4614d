package losses

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/internal/must"
)

var turningFactors = []factor.Factor{
	{Name: "row", Size: 8, Kind: factor.Circular},
	{Name: "shape", Size: 3, Kind: factor.Categorical},
	{Name: "hue", Size: 8, Kind: factor.Circular},
	{Name: "pose", Size: 24, Kind: factor.Categorical, Rotations: rotation.Octahedral()},
}

// turningOutputs makes a model's outputs from codes, the angles of the factors and rotations in space.
func turningOutputs(in []*gorgonia.Node, group int) *Input {
	return &Input{Outputs: Outputs{Codes: in[0], Sample: in[0]}, Batch: Batch{Group: group, Transformations: &Transformations{
		Factors: turningFactors, Rotations: 1,
		Angles:   func(k int) (*gorgonia.Node, error) { return in[1+k/2], nil },
		Rotation: func(int) (*gorgonia.Node, error) { return in[3], nil },
	}}}
}

// TestLSBDOfPlanes checks values and gradients of lsbd on columns of codes, with two groups of three rows.
func TestLSBDOfPlanes(t *testing.T) {
	const n, m = 6, 3
	rows := [n]float64{0, 1, 2.5, 0, -1, 0.5}
	hues := [n]float64{0, 0, 0.5, 0, 2, 1}
	rotations := make([]float64, 4*n)
	for i, angle := range hues {
		copy(rotations[4*i:], []float64{1, 2, 2, angle})
	}
	constant := func(columns int, values []float64) gradcheck.Input {
		return gradcheck.Input{Shape: []int{n, columns}, Values: values, Constant: true}
	}
	codes := func(f func(i int) []float64) gradcheck.Input {
		in := gradcheck.Input{Shape: []int{n, len(f(0))}}
		for i := range n {
			in.Values = append(in.Values, f(i)...)
		}
		return in
	}
	// Circles of radii 2 and 3 with a different start in each group. The second circle is in columns 3 and 0.
	perfect := codes(func(i int) []float64 {
		a, b := rows[i]+float64(i/m), hues[i]-float64(i/m)
		return []float64{3 * math.Sin(b), 2 * math.Cos(a), 2 * math.Sin(a), 3 * math.Cos(b)}
	})
	radial := codes(func(i int) []float64 { // the radius changes with the row
		r := 1 + float64(i)
		return []float64{0, r * math.Cos(rows[i]), r * math.Sin(rows[i]), 0}
	})
	onSphere := codes(func(i int) []float64 { return []float64{7, 2 * math.Cos(rows[i]), 2 * math.Sin(rows[i]), 1} })
	inPose := codes(func(i int) []float64 { // g p with another p in each group, in columns 2, 1, 0
		g := rotation.AboutAxis([3]float64{1, 2, 2}, hues[i])
		p := rotation.Apply(&g, [3]float64{1, float64(i / m), -2})
		return []float64{p[2], p[1], p[0], 9}
	})
	still := codes(func(int) []float64 { return []float64{0, 1, 0, 0} }) // constant codes
	settings := func(change func(l *LSBDLoss)) *LSBDLoss {
		l := NewLSBD()
		l.Planes = factor.SubCodes{"row": {1, 2}}
		if change != nil {
			change(l)
		}
		must.OK(t, l.Validate())
		return l
	}
	both := func(l *LSBDLoss) { l.Planes = factor.SubCodes{"row": {1, 2}, "hue": {3, 0}} }
	unprojected := func(l *LSBDLoss) { l.Project = false }
	about := func(l *LSBDLoss) {
		l.Planes = nil
		l.Spheres = []SphereBlock{{Columns: []int{1, 2, 3}, Factor: "row", Axis: [3]float64{0, 0, 2}}}
	}
	posed := func(l *LSBDLoss) { l.Planes, l.Spheres = nil, []SphereBlock{{Columns: []int{2, 1, 0}, Factor: "pose"}} }
	inSpace := func(l *LSBDLoss) { l.Planes, l.Spheres = nil, []SphereBlock{{Columns: []int{2, 1, 0}}} }
	// Mean squared distance from constant unit points to their group's transformed common point.
	stillWant := 0.0
	for g := 0; g < n; g += m {
		var sum [2]float64
		for i := g; i < g+m; i++ {
			sum[0], sum[1] = sum[0]+math.Cos(rows[i]), sum[1]-math.Sin(rows[i])
		}
		r := math.Hypot(sum[0], sum[1])
		for i := g; i < g+m; i++ {
			stillWant += (2 - 2*(math.Cos(rows[i])*sum[0]/r-math.Sin(rows[i])*sum[1]/r)) / n
		}
	}
	radialWant := 0.0 // radii 1 to 6, with means 2 and 5
	for i := range n {
		d := 1 + float64(i) - []float64{2, 5}[i/m]
		radialWant += d * d / n
	}
	for _, c := range []struct {
		name  string
		codes gradcheck.Input
		l     *LSBDLoss
		want  float64 // NaN: check only the gradient
	}{
		{"perfect", perfect, settings(both), 0},
		{"perfect, not projected", perfect, settings(func(l *LSBDLoss) { both(l); unprojected(l) }), 0},
		{"still", still, settings(nil), stillWant},
		{"radii, projected", radial, settings(nil), 0},
		{"radii", radial, settings(unprojected), radialWant},
		{"zero codes", codes(func(int) []float64 { return make([]float64, 4) }), settings(unprojected), 0},
		{"random", gradcheck.Input{Shape: []int{n, 4}, Lo: -2, Hi: 2}, settings(both), math.NaN()},
		{"perfect, about an axis", onSphere, settings(about), 0},
		{"perfect, about an axis, not projected", onSphere, settings(func(l *LSBDLoss) { about(l); unprojected(l) }), 0},
		{"sphere about an axis", gradcheck.Input{Shape: []int{n, 4}, Lo: -2, Hi: 2}, settings(about), math.NaN()},
		{"perfect in space", inPose, settings(posed), 0},
		{"perfect in space, not projected", inPose, settings(func(l *LSBDLoss) { posed(l); unprojected(l) }), 0},
		{"sphere of a pose", gradcheck.Input{Shape: []int{n, 4}, Lo: -2, Hi: 2}, settings(posed), math.NaN()},
		{"sphere in space", gradcheck.Input{Shape: []int{n, 4}, Lo: -2, Hi: 2}, settings(inSpace), math.NaN()},
		{"space", gradcheck.Input{Shape: []int{n, 4}, Lo: -2, Hi: 2}, settings(func(l *LSBDLoss) { inSpace(l); unprojected(l) }), math.NaN()},
	} {
		check := gradcheck.Case{Name: c.name, Inputs: []gradcheck.Input{c.codes, constant(1, rows[:]), constant(1, hues[:]),
			constant(4, rotations)},
			Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) { return c.l.Add(turningOutputs(in, m)) }}
		if !math.IsNaN(c.want) {
			check.Want, check.Floor32 = func([][]float64) []float64 { return []float64{c.want} }, 1
		}
		gradcheck.Check(t, check)
	}
}

func TestPlanesErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	in := make([]*gorgonia.Node, 4)
	for i, columns := range []int{4, 1, 1, 4} {
		in[i] = gorgonia.NewMatrix(g, gorgonia.Float64, gorgonia.WithShape(6, columns), gorgonia.WithName("in"))
	}
	for want, l := range map[string]*LSBDLoss{
		`planes.rwo: there is no factor "rwo" that is circular; did you mean "row"?`:                                                               {Planes: factor.SubCodes{"rwo": {0, 1}}},
		`planes.shape: factor "shape" is categorical, and has no angle`:                                                                            {Planes: factor.SubCodes{"shape": {0, 1}}},
		`planes.row: column 4 does not exist: the codes have 4 columns, 0 to 3`:                                                                    {Planes: factor.SubCodes{"row": {0, 4}}},
		`spheres.0: rotation: there is no rotation 1: the supervision groups have 1`:                                                               {Spheres: []SphereBlock{{Columns: []int{0, 1, 2}, Rotation: 1}}},
		`spheres.0: factor: there is no factor "poze" that is circular, or of rotations in space; did you mean "pose"?`:                            {Spheres: []SphereBlock{{Columns: []int{0, 1, 2}, Factor: "poze"}}},
		`spheres.0: factor: factor "shape" is categorical, and has no angle; want a factor that is circular, or of rotations in space`:             {Spheres: []SphereBlock{{Columns: []int{0, 1, 2}, Factor: "shape"}}},
		`spheres.0: factor: there is no factor "heu" that is circular, or of rotations in space; did you mean "hue"?`:                              {Spheres: []SphereBlock{{Columns: []int{0, 1, 2}, Factor: "heu"}}},
		`it needs transported codes of labelled groups, which this model does not have; want planes, such as {row: [0, 1]}, or the model lsbd-vae`: {},
	} {
		l.On = OnSample
		must.ErrorOf(l.Add(turningOutputs(in, 2)))(t, want)
	}
	o := turningOutputs(in, 2)
	o.Transformations = nil
	must.ErrorOf((&LSBDLoss{Planes: factor.SubCodes{"row": {0, 1}}, On: OnSample}).Add(o))(t,
		"transformations within labelled groups", "without groups")
	for want, change := range map[string]func(l *LSBDLoss){
		"[0 1 2] has 3 columns; want 2":                                 func(l *LSBDLoss) { l.Planes = factor.SubCodes{"row": {0, 1, 2}} },
		"planes.row: want distinct columns, numbered from 0, got [1 1]": func(l *LSBDLoss) { l.Planes = factor.SubCodes{"row": {1, 1}} },
		"want paper, as planes or spheres are named":                    func(l *LSBDLoss) { l.Planes, l.Variant = factor.SubCodes{"row": {0, 1}}, "public-code" },
	} {
		l := NewLSBD()
		change(l)
		must.Error(t, l.Validate(), want)
	}
	for want, s := range map[string]*SphereBlock{
		"[0 1] has 2 columns; want 3": {Columns: []int{0, 1}},
		"-1 is negative":              {Columns: []int{0, 1, 2}, Rotation: -1},
		"length is 0":                 {Columns: []int{0, 1, 2}, Factor: "row"},
	} {
		must.Error(t, s.Validate(), want)
	}
}

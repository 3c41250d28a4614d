package report

import (
	"io"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
)

// posedCodes returns codes of 60 poses and 4 hues. They consist of a circle and two spheres, z = Q R v and Q R w. The
// level of the last row is unknown.
func posedCodes(q [9]float64, v, w [3]float64) *metrics.Input {
	table := rotation.Icosahedral()
	in := &metrics.Input{Codes: matrix.Matrix{Rows: 240, Cols: 8}, Factors: []factor.Factor{
		{Name: "hue", Size: 4}, {Name: "pose", Size: 60, Kind: factor.Categorical, Rotations: table}}}
	for i := range 240 {
		g := rotation.Product(&q, &table[i%60])
		y, z := rotation.Apply(&g, v), rotation.Apply(&g, w)
		sin, cos := math.Sincos(math.Pi / 2 * float64(i/60))
		in.Codes.Data = append(append(append(in.Codes.Data, cos, sin), y[:]...), z[:]...)
		in.Levels = append(in.Levels, i/60, i%60)
	}
	in.Levels[len(in.Levels)-1] = factor.Unknown
	return in
}

func offBy(a, b []float64) (most float64) {
	for i := range a {
		most = max(most, math.Abs(a[i]-b[i]))
	}
	return most
}

// SphereOf finds the axis and the rotation of the codes.
func TestSphereOf(t *testing.T) {
	q := rotation.Random(rng.New(1, "q"), 1)[0]
	for _, mirrored := range []bool{false, true} {
		if mirrored {
			for i := range q[:3] {
				q[i] = -q[i]
			}
		}
		v := [3]float64{0.36, 0.8, -0.48}
		in := posedCodes(q, v, [3]float64{0, 0, -1})
		s, second := SphereOf(in, 2), SphereOf(in, 5)
		if off := offBy(s.Axis[:], v[:]); s.Factor != 1 || !(off <= 1e-9) || !(math.Abs(second.Axis[2]-1) <= 1e-9) {
			t.Errorf("axes %v and %v of factor %d, want %v and (0, 0, 1) of 1", s.Axis, second.Axis, s.Factor, v)
		}
		for r := range 239 {
			got, want := s.toObject(in.Codes.Row(r)), rotation.Apply(&in.Factors[1].Rotations[r%60], v)
			if off := offBy(got[:], want[:]); !(off <= 1e-9) {
				t.Fatalf("row %d points to %v, want %v", r, got, want)
			}
		}
	}
	in := posedCodes(q, [3]float64{1, 0, 0}, [3]float64{})
	in.Factors[1].Rotations = nil
	if s := SphereOf(in, 2); s.Factor != -1 || s.Q != [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1} {
		t.Errorf("without a pose the sphere is %+v", s)
	}
}

// The map moves the first sphere to all directions, and the second sphere rigidly with it. Traversals rotate both.
func TestDecodedSpheres(t *testing.T) {
	q := rotation.Random(rng.New(2, "q"), 1)[0]
	in := posedCodes(q, [3]float64{0, 1, 0}, [3]float64{0.8, 0.6, 0})
	spheres := []Sphere{SphereOf(in, 2), SphereOf(in, 5)}
	var codes [][]float64
	d := Decoder{Height: 4, Width: 4, Channels: 1, Decode: func(z []float32) ([]float32, error) {
		codes = nil
		for i := 0; i < len(z); i += 8 {
			row := make([]float64, 8)
			for j, v := range z[i : i+8] {
				row[j] = float64(v)
			}
			codes = append(codes, row)
		}
		return make([]float32, len(codes)*16), nil
	}}
	rigid := func(name string) {
		for n, z := range codes {
			length, angle := z[2]*z[2]+z[3]*z[3]+z[4]*z[4], z[2]*z[5]+z[3]*z[6]+z[4]*z[7]
			if !(math.Abs(length-1) <= 1e-6) || !(math.Abs(angle-0.6) <= 1e-6) {
				t.Errorf("%s: code %d has the squared length %v and the inner product %v of its spheres, want 1 and 0.6", name, n, length, angle)
			}
		}
	}
	show(t, "sphere map", func(w io.Writer) error { return SphereMap(w, in.Codes.Row(0), spheres, d) })
	rigid("map")
	for n, want := range map[int][3]float64{
		0:              {0, math.Sin(75 * math.Pi / 180), -math.Cos(75 * math.Pi / 180)}, // the back, nearly up
		2*12 + 6:       {0, math.Sin(15 * math.Pi / 180), math.Cos(15 * math.Pi / 180)},  // towards the viewer
		len(codes) - 3: {math.Cos(75 * math.Pi / 180), -math.Sin(75 * math.Pi / 180), 0}, // to the right, nearly down
	} {
		if got := spheres[0].toObject(codes[n]); !(offBy(got[:], want[:]) <= 1e-6) {
			t.Errorf("map, place %d: direction %v, want %v", n, got, want)
		}
	}
	spaces := []models.Space{{Width: 2, Circle: true}, {First: 2, Width: 3, Sphere: true}, {First: 5, Width: 3, Sphere: true}}
	show(t, "sphere traversals", func(w io.Writer) error {
		return CodeTraversals(w, &decode.Codes{Known: in.Codes, Spaces: spaces}, spheres, d)
	})
	rigid("traversals")
	if len(codes) != 4*traversalSteps {
		t.Fatalf("%d codes, want rows for the circle and three axes", len(codes))
	}
	start, quarter := spheres[0].toObject(in.Codes.Row(0)), spheres[0].toObject(codes[3*traversalSteps+3])
	if want := [3]float64{-start[1], start[0], start[2]}; !(offBy(quarter[:], want[:]) <= 1e-6) {
		t.Errorf("a quarter turn about z takes %v to %v, want %v", start, quarter, want)
	}
}

// Perfect codes on a sphere look like the key next to them.
func TestLatentSpheres(t *testing.T) {
	long.NotShort(t)
	q := rotation.Random(rng.New(3, "q"), 1)[0]
	in := posedCodes(q, [3]float64{0, 1, 0}, [3]float64{0.8, 0.6, 0})
	spheres := []Sphere{SphereOf(in, 2), SphereOf(in, 5)}
	img := show(t, "latent spheres", func(w io.Writer) error { return LatentSpheres(w, "spheres", in, spheres) })
	if s := img.Bounds().Size(); s.X < 2*s.Y*2/3 {
		t.Errorf("two rows of four panels measure %v", s)
	}
	one := posedCodes(q, [3]float64{1, 0, 0}, [3]float64{})
	one.Factors[1].Rotations = nil
	show(t, "spheres by hue", func(w io.Writer) error { return LatentSpheres(w, "spheres", one, []Sphere{SphereOf(one, 2)}) })
	one.Factors[0].Kind = factor.Ordinal
	for name, err := range map[string]error{
		"no sphere": LatentSpheres(failing{}, "", in, nil), "no factor that turns": LatentSpheres(failing{}, "", one, []Sphere{SphereOf(one, 2)}),
		"no map": SphereMap(failing{}, nil, nil, Decoder{}),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Equal and opposite directions have a rotation too.
func TestLeastTurn(t *testing.T) {
	for _, from := range [][3]float64{{1, 0, 0}, {0, 0, -1}, {0.6, 0, 0.8}, {0, 1, 0}} {
		for _, to := range [][3]float64{from, {-from[0], -from[1], -from[2]}, {0, 0.6, -0.8}} {
			g := smallestRotation(from, to)
			if got := rotation.Apply(&g, from); !(offBy(got[:], to[:]) <= 1e-12) || !factor.IsRotation(&g) {
				t.Errorf("%v goes to %v, want %v", from, got, to)
			}
		}
	}
}

// The columns of a pose have the direction of its y axis, and not its level.
func TestPoseColumns(t *testing.T) {
	in := posedCodes([9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, [3]float64{0, 1, 0}, [3]float64{})
	columns := levelColumns(in)
	if len(columns) != 4 || columns[2].Name != "pose: y of its y axis" {
		t.Fatalf("%d columns, the third of them %q", len(columns), columns[2].Name)
	}
	for c := range 3 {
		if off := offBy(columns[1+c].Values[:239], column(in.Codes, 2+c)[:239]); !(off <= 1e-12) || !math.IsNaN(columns[1+c].Values[239]) {
			t.Errorf("%s is %v off, and %v of an unknown pose", columns[1+c].Name, off, columns[1+c].Values[239])
		}
	}
}

func TestVector(t *testing.T) {
	minus := math.Copysign(0, -1)
	must.Equal(t, vector([3]float64{minus, 0.25, -1}), "(0.00, 0.25, -1.00)")
	must.Equal(t, vector([3]float64{-0.004, -0.006, 0}), "(0.00, -0.01, 0.00)")
}

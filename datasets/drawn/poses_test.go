package drawn

import (
	"maps"
	"math"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// buildPoses builds the data set with changed defaults.
func buildPoses(t *testing.T, change func(p *Poses)) datasets.Dataset {
	t.Helper()
	p := NewPoses()
	change(p)
	return must.Get(p.Build(1))(t)
}

func imageOf(d datasets.Dataset, i int) []float32 {
	h, w, c := d.ImageShape()
	pixels := make([]float32, h*w*c)
	d.Image(i, pixels)
	return pixels
}

// Images are ordered by pose, then by hue. Images of one pose differ like pure colours of their hues.
func TestPosesFactors(t *testing.T) {
	d := buildPoses(t, func(p *Poses) { p.Rotations, p.Hues = "icosahedral", 6 })
	grey := buildPoses(t, func(p *Poses) { p.Rotations, p.Hues = "icosahedral", 1 })
	factors := d.Factors()
	if len(factors) != 2 || factors[0].Name != "pose" || factors[0].Size != 60 || len(factors[0].Rotations) != 60 ||
		factors[1].Size != 6 || d.Len() != 360 || len(grey.Factors()) != 1 {
		t.Fatalf("%d images with the factors %+v, and %+v in grey", d.Len(), factors, grey.Factors())
	}
	if factors[0].Rotations[7] != rotation.Icosahedral()[7] {
		t.Error("level 7 of the pose is another rotation than that of the group")
	}
	levels := make([]int, 2)
	for _, i := range []int{0, 5, 6, 359} {
		d.FactorsAt(i, levels)
		if levels[0] != i/6 || levels[1] != i%6 {
			t.Fatalf("image %d has the levels %v", i, levels)
		}
		shade, colour := imageOf(grey, i/6), [6][3]float32{{1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 1, 1}, {0, 0, 1}, {1, 0, 1}}[i%6]
		lit := 0
		for at, v := range imageOf(d, i) {
			if want := shade[at/3] * colour[at%3]; !(math.Abs(float64(v-want)) <= 1e-6) {
				t.Fatalf("image %d, pixel %d, channel %d is %v, want %v", i, at/3, at%3, v, want)
			}
			if v > 0 {
				lit++
			}
		}
		if lit < 500 {
			t.Errorf("image %d has %d numbers above 0", i, lit)
		}
	}
}

// turned returns an image of one channel, rotated counter-clockwise by a quarter turn.
func turned(image []float32, size int) []float32 {
	out := make([]float32, len(image))
	for row := range size {
		for column := range size {
			out[row*size+column] = image[column*size+size-1-row]
		}
	}
	return out
}

func farthest(a, b []float32) (most float64) {
	for i := range a {
		most = max(most, math.Abs(float64(a[i]-b[i])))
	}
	return most
}

// A quarter turn g of the world about the camera's axis turns the image of R into the image of g R, if the light moves
// with the camera. The rotation R g in object axes does not.
func TestPosesTurnImages(t *testing.T) {
	quarter := [9]float64{0, -1, 0, 1, 0, 0, 0, 0, 1}
	for _, camera := range []string{"perspective", "orthographic"} {
		for object := range maps.Keys(poseObjects) {
			d := buildPoses(t, func(p *Poses) {
				p.Object, p.Rotations, p.Hues, p.Size, p.Camera, p.Light = object, "octahedral", 1, 32, camera, [3]float64{0, 0, 2}
			})
			table, body := d.Factors()[0].Rotations, 0.0
			for i := range table {
				g, h := rotation.Product(&quarter, &table[i]), rotation.Product(&table[i], &quarter)
				want := turned(imageOf(d, i), 32)
				if off := farthest(imageOf(d, rotation.Nearest(table, &g)), want); !(off <= 1.01/255) { // shades may round the other way
					t.Fatalf("%s, %s: pose %d turned by 90 degrees is %v off", object, camera, i, off)
				}
				body = max(body, farthest(imageOf(d, rotation.Nearest(table, &h)), want))
			}
			if !(body >= 0.3) {
				t.Errorf("%s, %s: the turn in axes of the object is %v off, so that the test says nothing", object, camera, body)
			}
		}
	}
}

// The light does not move with the object. The half of a cone facing the light is brighter.
func TestPosesLight(t *testing.T) {
	d := buildPoses(t, func(p *Poses) { p.Rotations, p.Hues, p.Size, p.Light = "octahedral", 1, 32, [3]float64{1, 0, 0} })
	var left, right float64
	for at, v := range imageOf(d, 0) { // upright
		if at%32 < 16 {
			left += float64(v)
		} else {
			right += float64(v)
		}
	}
	if !(right >= 1.5*left) {
		t.Errorf("lit from the right, the left half of a cone has the brightness %v and the right one %v", left, right)
	}
}

// Rotations about the y axis of the object do not change the image, because it depends only on the direction of this
// axis.
func TestPosesSymmetry(t *testing.T) {
	for _, object := range []string{"cone", "vase", "bottle"} {
		p := NewPoses()
		p.Object = object
		parts := must.Get(p.parts())(t)
		far := 0.0
		for _, v := range parts[0].Mesh.Vertices {
			far = max(far, math.Sqrt(v[0]*v[0]+v[1]*v[1]+v[2]*v[2]))
		}
		if !(math.Abs(far-1) <= 1e-6) {
			t.Errorf("%s: the farthest vertex is at the distance %v, want 1", object, far)
		}
		var table [][9]float64
		for _, g := range rotation.Random(rng.New(4, "poses"), 10) {
			for _, angle := range []float64{0, 0.7, 2, 3.3} {
				about := rotation.AboutAxis([3]float64{0, 1, 0}, angle)
				table = append(table, rotation.Product(&g, &about))
			}
		}
		paint := posePainter(p.scene(parts), table, 64)
		first, other := make([]uint8, 64*64), make([]uint8, 64*64)
		for i := range table {
			paint(i, other)
			if i%4 == 0 {
				copy(first, other)
				continue
			}
			sum := 0.0
			for at := range first {
				sum += math.Abs(float64(first[at])-float64(other[at])) / 255
			}
			if !(sum <= 1.5) { // of about 1000 pixels that are not black
				t.Errorf("%s, pose %d: a turn about its axis changes the image by %v pixels", object, i/4, sum)
			}
		}
	}
}

// Random poses depend only on the seed.
func TestRandomPoses(t *testing.T) {
	p := NewPoses()
	p.Rotations, p.Count = "random", 10
	a, errA := p.Build(1)
	b, errB := p.Build(2)
	if errA != nil || errB != nil || a.Len() != 80 || a.Factors()[0].Rotations[3] == b.Factors()[0].Rotations[3] {
		t.Errorf("%v, %v; %d images, poses of different seeds", errA, errB, a.Len())
	}
}

// A mesh from a file is centred and scaled. Its faces are flat or smooth.
func TestPosesOfMesh(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pyramid.off")
	write := func(text string) {
		must.Write(t, file, text)
	}
	write("OFF\n5 4 0\n12 12 3\n8 12 3\n8 8 3\n12 8 3\n10 10 4\n3 0 1 4\n3 1 2 4\n3 2 3 4\n3 3 0 4\n") // a flat pyramid, seen from its tip
	var images [2][]float32
	for i, crease := range []float64{0, 40} {
		d := buildPoses(t, func(p *Poses) {
			p.Object, p.Mesh, p.Crease, p.Rotations, p.Hues, p.Camera, p.Light = "", file, crease, "octahedral",
				1, "orthographic", [3]float64{0, 0, 1}
		})
		images[i] = imageOf(d, 0)
		if inside, outside := images[i][12*64+12], images[i][8*64+8]; inside == 0 || outside != 0 { // the corner is at 0.97 of the radius
			t.Errorf("crease %v: brightness %v inside of a corner and %v outside", crease, inside, outside)
		}
	}
	if flat, smooth := images[0][32*64+34], images[1][32*64+34]; !(math.Abs(float64(flat)-(0.3+0.7*math.Sqrt(0.8))) <= 0.01) || !(smooth >= flat+0.04) {
		t.Errorf("near the tip the brightness is %v flat and %v smooth; want %v, and more", flat, smooth, 0.3+0.7*math.Sqrt(0.8))
	}
	for want, text := range map[string]string{
		"pyramid.off": "OFF\n1 1 0\n0 0 0\n3 0 1 2\n", `"0" faces; want a number of at least 1`: "OFF\n1 0 0\n0 0 0\n", "has no extent": "OFF\n3 1 0\n1 1 1\n1 1 1\n1 1 1\n3 0 1 2\n",
	} {
		write(text)
		p := NewPoses()
		p.Mesh, p.Crease = file, 0
		must.ErrorOf(p.Build(0))(t, want)
	}
}

// Light may come from any side, at any distance.
func TestPosesLightFrom(t *testing.T) {
	for _, light := range [][3]float64{{1, 1, 0}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1.4142135623730951}, {-1, 0, 0}, {0, 0, 2e-6}, {0, 999999, 0}} {
		p := NewPoses()
		p.Light = light
		if err := p.Validate(); err != nil {
			t.Errorf("light %v: %v", light, err)
		}
	}
}

func TestPosesErrors(t *testing.T) {
	for want, change := range map[string]func(p *Poses){
		`object: unknown object "cube"; want airplane, bottle, cone, vase`: func(p *Poses) { p.Object = "cube" },
		"count: the group icosahedral has 60 rotations, not 24":            func(p *Poses) { p.Rotations, p.Count = "icosahedral", 24 },
		"count: a Hopf grid has 72, 576, 4608 or 36864":                    func(p *Poses) { p.Count = 100 },
		"count: -1 is out of range; want 1 to 100000":                      func(p *Poses) { p.Rotations, p.Count = "random", -1 },
		`rotations: unknown choice "euler"; want octahedral`:               func(p *Poses) { p.Rotations = "euler" },
		"crease: 200 is out of range":                                      func(p *Poses) { p.Crease = 200 },
		"no-such.off":                                                      func(p *Poses) { p.Mesh = "no-such.off" },
		"hues: 0 is out of range":                                          func(p *Poses) { p.Hues = 0 },
		"size: 4 is out of range; want 8 to 512":                           func(p *Poses) { p.Size = 4 },
		`camera: unknown camera "fisheye"`:                                 func(p *Poses) { p.Camera = "fisheye" },
		"light: [0 0 1e-07] has no direction":                              func(p *Poses) { p.Light = [3]float64{0, 0, 1e-7} },
		"light: [0 1e+06 0] has no direction":                              func(p *Poses) { p.Light = [3]float64{0, 1e6, 0} },
		"light: [0 0 0] has no direction":                                  func(p *Poses) { p.Light = [3]float64{} },
		"light: [NaN 0 0] has no direction":                                func(p *Poses) { p.Light = [3]float64{math.NaN(), 0, 0} },
	} {
		p := NewPoses()
		change(p)
		must.ErrorOf(p.Build(0))(t, want)
	}
}

func BenchmarkPoses(b *testing.B) {
	d := must.Get(NewPoses().Build(0))(b)
	dst := make([]float32, 64*64*3)
	for i := range d.Len() { // each pose is drawn once
		d.Image(i, dst)
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		d.Image(i%d.Len(), dst)
		i += 7
	}
}

package drawn

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// turntableWith returns the default turntable with changes.
func turntableWith(change func(*Turntable)) *Turntable {
	t := NewTurntable()
	change(t)
	return t
}

func TestTurntableFactors(t *testing.T) {
	tests := []struct {
		change func(*Turntable)
		want   string
		shape  int
	}{
		{func(*Turntable) {}, "hue 64 circular, rotation 64 circular", 3},
		{func(t *Turntable) { t.Objects, t.Hues, t.Channels = 20, 1, 1 }, "object 20 categorical, rotation 64 circular", 1},
		{func(t *Turntable) { t.Draw, t.Objects, t.Hues, t.Views = "solid", 10, 1, 72 }, "object 10 categorical, rotation 72 circular", 3},
		{func(t *Turntable) { t.Objects, t.Hues, t.Views, t.Paint = 2, 3, 5, "light" }, "object 2 categorical, hue 3 circular, rotation 5 circular", 3},
		{func(t *Turntable) { t.Hues, t.Views = 1, 1 }, "rotation 1 circular", 3},
	}
	for _, test := range tests {
		d := datatest.Build(t, turntableWith(test.change))
		var got []string
		for _, f := range d.Factors() {
			got = append(got, fmt.Sprint(f.Name, " ", f.Size, " ", f.Kind))
		}
		if _, _, c := d.ImageShape(); strings.Join(got, ", ") != test.want || c != test.shape {
			t.Errorf("factors %v, %d channels; want %s, %d", got, c, test.want, test.shape)
		}
	}
}

// TestTurntableHues compares images of two hues. A hue of the object scales the channels of a white picture, and a hue
// of the light adds to the ambient light.
func TestTurntableHues(t *testing.T) {
	for _, paint := range []string{"object", "light"} {
		d := datatest.Build(t, turntableWith(func(t *Turntable) { t.Hues, t.Views, t.Paint, t.Draw = 6, 3, paint, "airplane" }))
		red, green, yellow := datatest.ImageAt(d, 0, 1), datatest.ImageAt(d, 2, 1), datatest.ImageAt(d, 1, 1)
		drawn := 0
		for p := 0; p < len(red); p += 3 {
			if red[p] > 0.2 {
				drawn++
			}
			if paint == "object" && (red[p+1] != 0 || red[p+2] != 0 || green[p+1] != red[p] || yellow[p] != red[p] || yellow[p+1] != red[p]) {
				t.Fatalf("pixel %d: red %v, green %v, yellow %v", p/3, red[p:p+3], green[p:p+3], yellow[p:p+3])
			}
			if paint == "light" && (yellow[p] != red[p] || yellow[p+1] != green[p+1] || yellow[p+2] != red[p+2]) {
				t.Fatalf("pixel %d: red %v, green %v, yellow %v", p/3, red[p:p+3], green[p:p+3], yellow[p:p+3])
			}
		}
		if drawn < 100 {
			t.Errorf("%s: %d pixels are lit; want an object", paint, drawn)
		}
	}
}

// TestTurntableKeepsObjectsInside checks that no rotation reaches the border, and that an object fills the picture's
// width at one rotation.
func TestTurntableKeepsObjectsInside(t *testing.T) {
	long.NotShort(t)
	for _, elevation := range []float64{0, 30, 90} {
		d := datatest.Build(t, turntableWith(func(t *Turntable) { t.Objects, t.Hues, t.Views, t.Elevation = 8, 1, 16, elevation }))
		for object := range 8 {
			widest := 0
			for view := range 16 {
				pixels := datatest.ImageAt(d, object, view)
				for p, v := range pixels {
					x, y := p/3%64, p/3/64
					if v > 0 && (x == 0 || y == 0 || x == 63 || y == 63) {
						t.Fatalf("elevation %v, object %d, view %d: pixel %d, %d", elevation, object, view, x, y)
					}
					if v > 0 {
						widest = max(widest, 2*max(x-32, 31-x))
					}
				}
			}
			if elevation == 0 && widest < 44 {
				t.Errorf("object %d is %d pixels wide", object, widest)
			}
		}
	}
}

// TestTurntableRound checks that the fraction of round solids is as requested, and that they look the same from all
// sides. The other solids do not depend on the fraction.
func TestTurntableRound(t *testing.T) {
	long.NotShort(t)
	const sides = 9
	objects := 10
	if long.Enabled() {
		objects = 20
	}
	of := func(part float64) datasets.Dataset {
		return datatest.Build(t, turntableWith(func(t *Turntable) {
			t.Draw, t.Objects, t.Hues, t.Views, t.Round, t.Size = "solid", objects, 1, sides, part, 32
		}))
	}
	none := of(0)
	for _, part := range []float64{0, 0.3, 0.5, 1} {
		d, round := of(part), 0
		for object := range objects {
			front, most := datatest.ImageAt(d, object, 0), 0.0
			for view := 1; view < sides; view++ {
				sum := 0.0
				for p, v := range datatest.ImageAt(d, object, view) {
					sum += math.Abs(float64(v - front[p]))
				}
				most = max(most, sum/float64(len(front)))
			}
			if most < 0.001 {
				round++
			} else if !slices.Equal(front, datatest.ImageAt(none, object, 0)) {
				t.Errorf("part %v: solid %d turns, and is not that of part 0", part, object)
			}
		}
		must.Equal(t, round, int(math.Round(part*float64(objects))), "part", part, "solids look the same from all sides")
	}
}

// TestTurntableTurns looks from above at a wedge that points right, and sees it turn counter-clockwise.
func TestTurntableTurns(t *testing.T) {
	path := must.Write(t, filepath.Join(t.TempDir(), "wedge.obj"), "v 0 0 -0.1\nv 1 0 0\nv 0 0 0.1\nf 1 2 3\n")
	d := datatest.Build(t, turntableWith(func(t *Turntable) { t.Path, t.Up, t.Elevation, t.Hues, t.Views = path, "y", 90, 1, 4 }))
	centre := func(view int) (x, y float64) {
		total := 0.0
		for p, v := range datatest.ImageAt(d, view) {
			x, y, total = x+float64(v)*(float64(p/3%64)-31.5), y+float64(v)*(31.5-float64(p/3/64)), total+float64(v)
		}
		return x / total, y / total
	}
	// The box's centre is at x = 0.5; the triangle's mass is left of it, where the base is.
	want := [4][2]float64{{-1, 0}, {0, -1}, {1, 0}, {0, 1}}
	for view, w := range want {
		x, y := centre(view)
		if length := math.Hypot(x, y); !(length >= 2) || !(math.Abs(x/length-w[0]) <= 0.1) || !(math.Abs(y/length-w[1]) <= 0.1) {
			t.Errorf("view %d: centre of mass %.2f, %.2f; want direction %v", view, x, y, w)
		}
	}
}

func TestTurntableFolder(t *testing.T) {
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	folder := t.TempDir()
	write := func(name, data string) {
		t.Helper()
		must.Write(t, filepath.Join(folder, name), data)
	}
	set := turntableWith(func(t *Turntable) { t.Path, t.Hues, t.Views, t.Size = folder, 2, 4, 16 })
	must.ErrorOf(set.Build(0))(t, "has no meshes, and 0 other files; want files that end in .off .obj .stl .ply")
	off := "OFF 4 2 0\n0 0 0\n1 0 0\n1 0 1\n0 1 1\n3 0 1 2\n3 0 2 3\n"
	write("b.off", off)
	write("a/c.obj", "v 0 0 0\nv 1 0 0\nv 0 1 1\nf 1 2 3")
	write("notes.txt", "no mesh")
	d := datatest.Build(t, set)
	one := *set
	one.Path = filepath.Join(folder, "b.off")
	alone := datatest.Build(t, &one)
	for hue := range 2 {
		for view := range 4 {
			if !slices.Equal(datatest.ImageAt(d, 1, hue, view), datatest.ImageAt(alone, hue, view)) {
				t.Errorf("hue %d, view %d differs from that of the file alone", hue, view)
			}
		}
	}
	write("b.off", off[:40])
	must.ErrorOf(set.Build(0))(t, filepath.Join(folder, "b.off")+":")
	write("b.off", "OFF 3 1 0\n0 0 0\n1 1 1\n2 2 2\n3 0 1 2\n")
	must.ErrorOf(set.Build(0))(t, "b.off: all b.off has are triangles without an area")
	mesh := filepath.Join(t.TempDir(), "m.off")
	must.Write(t, mesh, off)
	changing := turntableWith(func(t *Turntable) { t.Path, t.Size = filepath.Dir(mesh), 16 })
	must.Error(t, changing.Prepare(t.Context(), func(string, int64, int64) { must.Write(t, mesh, off+"#") }),
		"m.off: the file changes while it is read")
	set.Objects = 3
	must.ErrorOf(set.Build(0))(t, "has 2 meshes")
}

// The axis up of a file points up.
func TestTurntableUp(t *testing.T) {
	for axis, up := range map[int]string{1: "y", 2: "z"} {
		path := must.Write(t, filepath.Join(t.TempDir(), "pole.off"), datatest.Pole(axis))
		datatest.CheckUpright(t, datatest.Build(t, turntableWith(func(t *Turntable) { t.Path, t.Up, t.Hues, t.Views = path, up, 1, 8 })))
		t.Setenv(cache.RootVariable, must.MappedDir(t))
		datatest.CheckUpright(t, datatest.Build(t,
			turntableWith(func(t *Turntable) { t.Path, t.Up, t.Hues, t.Views = filepath.Dir(path), up, 1, 8 })))
	}
}

func TestTurntableValidate(t *testing.T) {
	for want, change := range map[string]func(*Turntable){
		"size: 4 is out of range":               func(t *Turntable) { t.Size = 4 },
		"views: 0 is out of range":              func(t *Turntable) { t.Views = 0 },
		"hues: 0 is out of range":               func(t *Turntable) { t.Hues = 0 },
		"channels: 1 channel has no hue":        func(t *Turntable) { t.Channels = 1 },
		"channels: 2 is out of range":           func(t *Turntable) { t.Channels = 2 },
		"elevation: 91 is out of range":         func(t *Turntable) { t.Elevation = 91 },
		"elevation: NaN":                        func(t *Turntable) { t.Elevation = math.NaN() },
		"light: 2 numbers":                      func(t *Turntable) { t.Light = t.Light[:2] },
		"light: a direction of length 0":        func(t *Turntable) { t.Light = make([]float64, 3) },
		"draw: unknown object":                  func(t *Turntable) { t.Draw = "car" },
		"first: -1 is out of range":             func(t *Turntable) { t.First = -1 },
		"first: 1 does not apply":               func(t *Turntable) { t.First, t.Path = 1, "x" },
		"objects: 9999 is out of range":         func(t *Turntable) { t.Objects = 9999 },
		"paint: unknown value":                  func(t *Turntable) { t.Paint = "sky" },
		"round: NaN is out of range":            func(t *Turntable) { t.Draw, t.Round = "solid", math.NaN() },
		"round: 1.1 is out of range":            func(t *Turntable) { t.Draw, t.Round = "solid", 1.1 },
		"round: 0.5 applies to built-in solids": func(t *Turntable) { t.Round = 0.5 },
		"up: unknown axis":                      func(t *Turntable) { t.Up = "x" },
		"crease: 181 is out of range":           func(t *Turntable) { t.Crease = 181 },
		"nowhere.off":                           func(t *Turntable) { t.Path = "nowhere.off" },
		"unknown extension \".go\" of a mesh":   func(t *Turntable) { t.Path = "turntable.go" },
	} {
		must.ErrorOf(turntableWith(change).Build(0))(t, want)
	}
}

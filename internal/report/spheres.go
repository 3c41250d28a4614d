package report

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/internal/colours"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/metrics"
)

// Sphere describes how three code columns follow a factor of rotations R: z = Q R v, for an orthogonal Q.
type Sphere struct {
	First  int        // first of the three columns
	Factor int        // index of the factor; -1: none
	Q      [9]float64 // 3 x 3, row-major; the identity without a factor
	Axis   [3]float64 // v, a unit vector in object coordinates
}

// SphereOf finds the factor of rotations that three code columns follow most closely, and fits Q and v.
func SphereOf(in *metrics.Input, first int) Sphere {
	sphere := Sphere{First: first, Factor: -1, Q: [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}}
	longest := 0.0
	for k, f := range in.Factors {
		if f.Rotations == nil {
			continue
		}
		var points []float64
		var levels []int
		for r := range in.Codes.Rows {
			if l := in.Levels[r*len(in.Factors)+k]; l != factor.Unknown {
				points, levels = append(points, in.Codes.Row(r)[first:first+3]...), append(levels, l)
			}
		}
		if len(levels) == 0 {
			continue
		}
		q, v := geometry.FollowRotations(points, func(i int) *[9]float64 { return &f.Rotations[levels[i]] })
		length := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
		if length > longest {
			longest = length
			sphere = Sphere{First: first, Factor: k, Q: q, Axis: [3]float64{v[0] / length, v[1] / length, v[2] / length}}
		}
	}
	return sphere
}

// LatentSpheres draws the codes on spheres of the latent space, one row per sphere. It shows the two halves as seen
// from the front (x right, y up) and from behind. With a factor of rotations R, it rotates the codes for the best
// agreement with the directions R v of an axis v of the object. Each code has the colour of its direction R v, and the
// last two panels are the key to these colours. Perfect codes look like the key. Without a factor of rotations, the
// first circular factor determines the colours. Without spheres, or if both kinds of factors are missing, LatentSpheres
// writes nothing.
func LatentSpheres(w io.Writer, title string, in *metrics.Input, spheres []Sphere) error {
	hue := slices.IndexFunc(in.Factors, func(f factor.Factor) bool { return f.Kind == factor.Circular })
	var plots [][]*plot.Plot
	for i, s := range spheres {
		if s.Factor < 0 && hue < 0 {
			continue
		}
		factorIndex := s.Factor
		if factorIndex < 0 {
			factorIndex = hue
		}
		var points [][3]float64
		var tints []color.RGBA
		for r := range in.Codes.Rows {
			level := in.Levels[r*len(in.Factors)+factorIndex]
			if level == factor.Unknown {
				continue
			}
			points = append(points, s.toObject(in.Codes.Row(r)))
			if f := in.Factors[factorIndex]; f.Rotations != nil {
				tints = append(tints, directionColour(rotation.Apply(&f.Rotations[level], s.Axis)))
			} else {
				tints = append(tints, colours.Cyclic(f.Angle(level)/(2*math.Pi)))
			}
		}
		name := fmt.Sprintf("sphere %d", i+1)
		row := hemispheres(name, points, tints)
		if s.Factor >= 0 {
			key, tints := colourKey()
			row = append(row, hemispheres(in.Factors[s.Factor].Name+": axis "+vector(s.Axis), key, tints)...)
		}
		plots = append(plots, row)
	}
	if len(plots) == 0 {
		return nil
	}
	return figure{title, 2.9*float64(len(plots[0])) + 0.2, 3.1*float64(len(plots)) + 0.5, vg.Points(6)}.render(w,
		panels(plots))
}

// toObject returns Q^T z of a code.
func (s *Sphere) toObject(code []float64) [3]float64 {
	back := rotation.Inverse(&s.Q)
	return rotation.Apply(&back, [3]float64(code[s.First:]))
}

// directionColour returns the colour of a direction: red to the right, green up, blue to the front.
func directionColour(v [3]float64) color.RGBA {
	c := color.RGBA{A: 255}
	for i, channel := range []*uint8{&c.R, &c.G, &c.B} {
		*channel = uint8(math.Round(235 * min(max((1+v[i])/2, 0), 1)))
	}
	return c
}

// colourKey returns directions on the whole sphere (a Fibonacci lattice) and their colours.
func colourKey() (points [][3]float64, tints []color.RGBA) {
	const n = 7000
	for i := range n {
		y := 1 - 2*(float64(i)+0.5)/n
		sin, cos := math.Sincos(2 * math.Pi * math.Phi * float64(i))
		r := math.Sqrt(1 - y*y)
		points = append(points, [3]float64{r * cos, y, r * sin})
		tints = append(tints, directionColour(points[i]))
	}
	return points, tints
}

// hemispheres draws points of the sphere from the front and from behind.
func hemispheres(name string, points [][3]float64, tints []color.RGBA) []*plot.Plot {
	var plots []*plot.Plot
	for _, side := range []float64{1, -1} {
		title := name + ", front"
		if side < 0 {
			title = name + ", back"
		}
		p := newPlot("", "")
		setTitle(p, title)
		p.HideAxes()
		half := &cloud{radius: vg.Points(1.9)}
		for i, q := range points {
			if q[2]*side >= 0 {
				half.add(q[0]*side, q[1], tints[i])
			}
		}
		p.Add(globe{}, half)
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -1.08, 1.08, -1.08, 1.08
		plots = append(plots, p)
	}
	return plots
}

type globe struct{} // draws the outline of the sphere, and circles of latitude and longitude every 30 degrees

func (globe) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := draw.LineStyle{Color: rule, Width: vg.Points(0.6)}
	curve := func(style draw.LineStyle, at func(angle float64) (x, y, z float64)) {
		const steps = 72
		var line []vg.Point
		for i := range steps + 1 {
			if px, py, pz := at(2 * math.Pi * float64(i) / steps); pz > -1e-9 {
				line = append(line, vg.Point{X: x(px), Y: y(py)})
			} else if len(line) > 0 {
				c.StrokeLines(style, line)
				line = nil
			}
		}
		if len(line) > 0 {
			c.StrokeLines(style, line)
		}
	}
	for degree := -60.0; degree <= 60; degree += 30 {
		sin, cos := math.Sincos(degree * math.Pi / 180)
		curve(style, func(a float64) (float64, float64, float64) { return cos * math.Sin(a), sin, -cos * math.Cos(a) }) // a starts behind the sphere
		curve(style, func(a float64) (float64, float64, float64) { return sin * math.Cos(a), math.Sin(a), cos * math.Cos(a) })
	}
	style.Color = faint
	curve(style, func(a float64) (float64, float64, float64) { return math.Cos(a), math.Sin(a), 0 })
}

// vector formats a vector without -0.00.
func vector(v [3]float64) string {
	return strings.ReplaceAll(fmt.Sprintf("(%.2f, %.2f, %.2f)", v[0], v[1], v[2]), "-0.00", "0.00")
}

package render

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor/rotation"
)

// Limits of a picture: pixels along a side, samples along a side of a pixel, and all samples (8 bytes each).
const (
	maxSide    = 4096
	maxSamples = 8
	maxBuffer  = 1 << 27
)

// Renderer draws pictures of one size. It is not safe for concurrent use. All renderers draw the same bits.
type Renderer struct {
	h, w, samples int
	rows, cols    int // number of samples

	depth    []float32 // by sample: nearness of the visible surface (1/depth, or -depth of an orthographic camera)
	triangle []int32   // by sample: triangle, numbered across all parts; -1: background

	lens     lens
	lights   []light
	parts    []placedPart
	vertices []vertex // of all parts
	drawn    box      // samples that have been drawn

	fragments []fragment // fragments of the pixel being shaded
}

// placedPart is a part in camera coordinates.
type placedPart struct {
	*Part
	matrix        [9]float64 // transforms vertices, including the scale
	turn          [9]float64 // transforms normals
	shift         vec
	firstTriangle int32    // number of its first triangle
	points        []vertex // vertices of the mesh
}

// light is a Light in camera coordinates.
type light struct{ direction, colour vec }

// vertex is a point in camera and picture coordinates.
type vertex struct {
	position vec     // in camera coordinates
	nearness float64 // grows towards the viewer, and is linear over the picture
	x, y     int32   // subsamples right of and below the centre; x may also be a flag
}

// subUnits is the number of subsamples along a side of a sample. Corners of triangles are rounded to subsamples.
const subUnits = 1 << subBits
const subBits = 8

// guard is the maximum x and y of vertices, which keeps the products of edge functions below 2^60.
const guard = 1 << 28

// Flags in x.
const (
	needsClipping = math.MinInt32     // before the near plane, or beyond guard
	notFinite     = math.MinInt32 + 1 // not finite
)

// box is a range of samples; bottom and right are excluded.
type box struct{ top, bottom, left, right int }

// NewRenderer returns a renderer of pictures of h x w pixels. Each pixel is the mean of samples x samples points. It
// returns an error if h or w is not in 1 .. 4096, if samples is not in 1 .. 8, or if the picture has more than 2^27
// samples.
func NewRenderer(h, w, samples int) (*Renderer, error) {
	if h < 1 || w < 1 || h > maxSide || w > maxSide {
		return nil, fmt.Errorf("a picture of %d x %d pixels; want 1 to %d by 1 to %d", h, w, maxSide, maxSide)
	}
	if samples < 1 || samples > maxSamples || h*w*samples*samples > maxBuffer {
		return nil, fmt.Errorf("%d samples along a side of a pixel of %d x %d; want 1 to %d, and at most %d in all",
			samples, h, w, maxSamples, maxBuffer)
	}
	r := &Renderer{h: h, w: w, samples: samples, rows: h * samples, cols: w * samples}
	r.depth, r.triangle = make([]float32, r.rows*r.cols), make([]int32, r.rows*r.cols)
	r.fragments = make([]fragment, 0, samples*samples)
	r.drawn = box{0, r.rows, 0, r.cols}
	return r, nil
}

// Draw draws a scene to dst: [h, w, 3] numbers from 0 to 255. It only allocates when a scene is larger than all
// previous ones. The scene must pass its Check: Draw skips triangles with NaN or infinite numbers, and panics for
// indices out of range.
//
// A sample belongs to the nearest triangle and, at equal depth, to the first one. A sample on an edge belongs to both
// sides, so triangles with a common edge leave no gap.
func (r *Renderer) Draw(s *Scene, dst []uint8) {
	_ = dst[:3*r.h*r.w]
	r.clearDrawn()
	r.transformScene(s)
	for i := range r.parts {
		p := &r.parts[i]
		for t, corners := range p.Mesh.Triangles {
			a, b, c := &p.points[corners[0]], &p.points[corners[1]], &p.points[corners[2]]
			if a.x > notFinite && b.x > notFinite && c.x > notFinite {
				r.fillTriangle(p.firstTriangle+int32(t), a, b, c)
			} else {
				r.clipTriangle(p.firstTriangle+int32(t), a, b, c)
			}
		}
	}
	r.shadePixels(s, dst)
}

// clearDrawn resets all samples to the background.
func (r *Renderer) clearDrawn() {
	left, right := r.drawn.left, r.drawn.right
	for row := r.drawn.top; row < r.drawn.bottom; row++ {
		depth, seen := r.depth[row*r.cols:][left:right], r.triangle[row*r.cols:][left:right]
		for i := range depth {
			depth[i] = float32(math.Inf(-1))
		}
		for i := range seen {
			seen[i] = -1
		}
	}
	r.drawn = box{r.rows, 0, r.cols, 0}
}

// transformScene transforms the parts and lights of a scene to camera coordinates.
func (r *Renderer) transformScene(s *Scene) {
	r.lens = s.Camera.lens(min(r.h, r.w) * r.samples)
	r.lights = r.lights[:0]
	for _, l := range s.Lights {
		r.lights = append(r.lights, light{apply(&r.lens.axes, vector(l.Direction).unit()), vector(l.Colour)})
	}
	total := 0
	for i := range s.Parts {
		total += len(s.Parts[i].Mesh.Vertices)
	}
	r.vertices = slices.Grow(r.vertices[:0], total)[:total]
	r.parts = r.parts[:0]
	firstTriangle, offset := int32(0), 0
	for i := range s.Parts {
		part := &s.Parts[i]
		p := placedPart{Part: part, firstTriangle: firstTriangle, turn: part.Turn}
		if part.Turn == [9]float64{} {
			p.turn = identity
		}
		p.turn = rotation.Product(&r.lens.axes, &p.turn)
		p.matrix = p.turn
		if part.Scale != 0 {
			for k := range p.matrix {
				p.matrix[k] *= part.Scale
			}
		}
		p.shift = apply(&r.lens.axes, vector(part.Shift).minus(r.lens.eye))
		n := len(part.Mesh.Vertices)
		p.points = r.vertices[offset : offset+n]
		r.project(&p)
		r.parts = append(r.parts, p)
		offset += n
		firstTriangle += int32(len(part.Mesh.Triangles))
	}
}

// project projects the vertices of a part onto the picture.
func (r *Renderer) project(p *placedPart) {
	for i, v := range p.Mesh.Vertices {
		p.points[i] = r.lens.project(apply(&p.matrix, vector(v)).plus(p.shift), r.lens.near)
	}
}

// project returns the picture coordinates of a point in camera coordinates, or a flag if the point is nearer than near.
func (l *lens) project(position vec, near float64) vertex {
	v := vertex{position: position, x: needsClipping}
	depth := -position.z
	if !(depth >= near) {
		if !position.finite() {
			v.x = notFinite
		}
		return v
	}
	k := l.focalLength
	if l.ortho {
		v.nearness = position.z
	} else {
		v.nearness = 1 / depth
		k *= v.nearness
	}
	x, y := math.RoundToEven(position.x*k), math.RoundToEven(position.y*k)
	switch {
	case math.Abs(x) <= guard && math.Abs(y) <= guard:
		v.x, v.y = int32(x), -int32(y)
	case !position.finite():
		v.x = notFinite
	}
	return v
}

// fragment is the part of a triangle that is visible in a pixel.
type fragment struct {
	id       int32
	count    int32 // number of samples
	col, row int32 // sums over the samples
}

// shadePixels shades the samples and averages them for each pixel.
func (r *Renderer) shadePixels(s *Scene, dst []uint8) {
	background := quantize(vector(s.Background))
	n := r.samples
	top, bottom := r.drawn.top/n, (r.drawn.bottom+n-1)/n
	left, right := r.drawn.left/n, (r.drawn.right+n-1)/n
	for y := range r.h {
		row := dst[3*r.w*y : 3*r.w*(y+1)]
		first, last := left, right
		if y < top || y >= bottom {
			first, last = r.w, r.w
		}
		for x := range first {
			*(*[3]uint8)(row[3*x:]) = background
		}
		for x := first; x < last; x++ {
			*(*[3]uint8)(row[3*x:]) = r.pixel(s, y, x, background)
		}
		for x := last; x < r.w; x++ {
			*(*[3]uint8)(row[3*x:]) = background
		}
	}
}

func (r *Renderer) pixel(s *Scene, y, x int, background [3]uint8) [3]uint8 {
	n := r.samples
	fragments := r.fragments[:0]
	last := -1
	for i := range n {
		row := n*y + i
		for j, id := range r.triangle[row*r.cols+n*x:][:n] {
			if last < 0 || fragments[last].id != id {
				last = 0
				for last < len(fragments) && fragments[last].id != id {
					last++
				}
				if last == len(fragments) {
					fragments = append(fragments, fragment{id: id})
				}
			}
			f := &fragments[last]
			f.count++
			f.col += int32(n*x + j)
			f.row += int32(row)
		}
	}
	if len(fragments) == 1 && fragments[0].id < 0 {
		return background
	}
	var sum vec
	for i := range fragments {
		f := &fragments[i]
		colour := vector(s.Background)
		if f.id >= 0 {
			colour = r.shade(f, s.Ambient)
		}
		sum = sum.plus(colour.times(float64(f.count)))
	}
	return quantize(sum.times(1 / float64(n*n)))
}

// quantize rounds a colour to numbers from 0 to 255.
func quantize(colour vec) [3]uint8 {
	return [3]uint8{toByte(colour.x), toByte(colour.y), toByte(colour.z)}
}

func toByte(v float64) uint8 { return uint8(float64(255*clamp(v)) + 0.5) }

func clamp(v float64) float64 {
	if v > 0 {
		if v < 1 {
			return v
		}
		return 1
	}
	return 0
}

// shade returns the colour of a triangle at the mean position of a fragment's samples.
func (r *Renderer) shade(f *fragment, ambient float64) vec {
	p := r.partOf(f.id)
	corners := &p.Mesh.Triangles[f.id-p.firstTriangle]
	a, b, c := &p.points[corners[0]], &p.points[corners[1]], &p.points[corners[2]]
	ab, ac := b.position.minus(a.position), c.position.minus(a.position)

	count := float64(f.count)
	x := (float64(f.col)/count - float64(r.cols-1)/2) * subUnits
	y := (float64(f.row)/count - float64(r.rows-1)/2) * subUnits
	origin, direction := r.lens.ray(x, y)

	normal := ab.cross(ac)
	if normal.dot(direction) > 0 { // the viewer sees the back
		normal = normal.times(-1)
	}
	if normals := p.Mesh.Normals; normals != nil {
		u, v, w := r.weights(a, b, c, x, y, origin, direction)
		smooth := vector(normals[corners[0]]).times(u).plus(vector(normals[corners[1]]).times(v)).plus(vector(normals[corners[2]]).times(w))
		smooth = apply(&p.turn, smooth)
		switch cos := smooth.dot(normal); {
		case cos > 0:
			normal = smooth
		case cos < 0:
			normal = smooth.times(-1)
		}
	}
	return r.reflect(vector(p.Colour), normal.unit(), ambient)
}

// reflect returns the light that a surface reflects.
func (r *Renderer) reflect(colour, normal vec, ambient float64) vec {
	sum := vec{ambient, ambient, ambient}
	for i := range r.lights {
		if cos := normal.dot(r.lights[i].direction); cos > 0 {
			sum = sum.plus(r.lights[i].colour.times(cos))
		}
	}
	return vec{clamp(colour.x * sum.x), clamp(colour.y * sum.y), clamp(colour.z * sum.z)}
}

func (r *Renderer) partOf(id int32) *placedPart {
	low, high := 0, len(r.parts)
	for high-low > 1 {
		if middle := (low + high) / 2; r.parts[middle].firstTriangle <= id {
			low = middle
		} else {
			high = middle
		}
	}
	return &r.parts[low]
}

// weights returns the barycentric weights of a triangle's corners at a point of the picture, times a positive number.
func (r *Renderer) weights(a, b, c *vertex, x, y float64, origin, direction vec) (u, v, w float64) {
	if a.x <= notFinite || b.x <= notFinite || c.x <= notFinite {
		return planeWeights(origin, direction, a.position, b.position, c.position)
	}
	// The same corners decided the coverage of samples: inside the triangle, the weights have the same sign.
	ax, ay := float64(a.x)-x, float64(a.y)-y
	bx, by := float64(b.x)-x, float64(b.y)-y
	cx, cy := float64(c.x)-x, float64(c.y)-y
	u, v, w = float64(bx*cy)-float64(by*cx), float64(cx*ay)-float64(cy*ax), float64(ax*by)-float64(ay*bx)
	if !r.lens.ortho {
		u, v, w = u*a.nearness, v*b.nearness, w*c.nearness
	}
	return math.Abs(u), math.Abs(v), math.Abs(w)
}

// planeWeights returns the barycentric weights of the point where a line of sight meets a triangle's plane (Moeller and
// Trumbore 1997). It moves the point into the triangle.
func planeWeights(origin, direction, a, b, c vec) (u, v, w float64) {
	ab, ac := b.minus(a), c.minus(a)
	p := direction.cross(ac)
	det := ab.dot(p)
	t := origin.minus(a)
	v, w = t.dot(p)/det, direction.dot(t.cross(ab))/det
	if !(math.Abs(v)+math.Abs(w) <= math.MaxFloat64) { // the triangle is seen edge-on
		return 1, 1, 1
	}
	v, w = max(v, 0), max(w, 0)
	return max(1-v-w, 0), v, w
}

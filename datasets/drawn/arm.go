package drawn

import (
	"cmp"
	"sync/atomic"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/datasets/internal/painting"
	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/datasets/internal/render/objects"
)

// Arm is a twin of MPI3D (Gondal et al. 2019) that we draw ourselves. A robot arm on a table holds an object at its
// tip, in Size x Size pixels with three channels. Its factors are, with the last one fastest,
//
//   - object_color: white, green, red, blue, brown, olive (categorical)
//   - object_shape: cone, cube, cylinder, hexagonal prism, pyramid, ball (categorical)
//   - object_size: small, large (ordinal)
//   - camera_height: elevation of the camera above the table, evenly spaced from 10 to 54 degrees (ordinal)
//   - background_color: purple, sea green, salmon (categorical)
//   - horizontal_axis: angle of the arm about the vertical axis, evenly spaced from -80 to 80 degrees; 0 points to the
//     camera (ordinal)
//   - vertical_axis: elevation of the arm, evenly spaced from -8 to 70 degrees (ordinal)
//
// The default is the 1,036,800 combinations of MPI3D with 64 x 64 pixels. If there is only one size, it is large; if
// there is only one angle, it is the middle of its range.
type Arm struct {
	Size        int `yaml:"size" doc:"height and width of the images, pixels"`
	Colours     int `yaml:"colours" doc:"number of colours of the object"`
	Shapes      int `yaml:"shapes" doc:"number of shapes of the object"`
	Sizes       int `yaml:"sizes" doc:"number of sizes of the object"`
	Heights     int `yaml:"heights" doc:"number of heights of the camera"`
	Backgrounds int `yaml:"backgrounds" doc:"number of colours of the background"`
	Horizontal  int `yaml:"horizontal" doc:"number of angles about the vertical axis"`
	Vertical    int `yaml:"vertical" doc:"number of elevations of the arm"`
}

// Colours from 0 to 255.
var (
	armObjects = [...][3]int{{245, 245, 240}, {60, 175, 70}, {215, 45, 40}, {50, 90, 215}, {135, 85, 45},
		{150, 150, 45}}
	armBackgrounds = [...][3]int{{120, 75, 150}, {70, 155, 130}, {240, 140, 120}}
)

func (a *Arm) Validate() error {
	if err := painting.ValidSide(a.Size); err != nil {
		return err
	}
	return cmp.Or(painting.Levels("colours", a.Colours, len(armObjects)),
		painting.Levels("shapes", a.Shapes, objects.Tools), painting.Levels("sizes", a.Sizes, 2),
		painting.Levels("heights", a.Heights, 16), painting.Levels("backgrounds", a.Backgrounds, len(armBackgrounds)),
		painting.Levels("horizontal", a.Horizontal, 256), painting.Levels("vertical", a.Vertical, 256))
}

// Build creates the arm. Images are drawn on request in two steps: the first draws each position without the two
// colours and stores the drawing, and the second adds the colours.
func (a *Arm) Build(uint64) (datasets.Dataset, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	shape := factor.Factor{Name: "object_shape", Size: a.Shapes, Kind: factor.Categorical}
	size := factor.Factor{Name: "object_size", Size: a.Sizes, Kind: factor.Ordinal,
		Values: []float64{0.17, 0.27}[2-a.Sizes:]}
	height := factor.Factor{Name: "camera_height", Size: a.Heights, Kind: factor.Ordinal,
		Values: between(10, 54, a.Heights)}
	horizontal := factor.Factor{Name: "horizontal_axis", Size: a.Horizontal, Kind: factor.Ordinal,
		Values: between(-80, 80, a.Horizontal)}
	vertical := factor.Factor{Name: "vertical_axis", Size: a.Vertical, Kind: factor.Ordinal,
		Values: between(-8, 70, a.Vertical)}
	d := &arm{room: maxCachedImages, gridSet: gridSet{name: "arm", shape: [3]int{a.Size, a.Size, 3}, grid: factor.Grid{
		{Name: "object_color", Size: a.Colours, Kind: factor.Categorical}, shape, size, height,
		{Name: "background_color", Size: a.Backgrounds, Kind: factor.Categorical}, horizontal, vertical,
	}}}
	positions := factor.Grid{shape, size, height, horizontal, vertical}
	d.drawings = make([]atomic.Pointer[armDrawing], positions.Len())
	m := newArmModel()
	d.easels = &renderedSet{gridSet: gridSet{shape: d.shape, grid: positions}, idleEasels: make(chan *easel, maxIdle)}
	d.easels.painter = func() painter { return m.painter(a.Size, positions) }
	s := newStage(a.Size)
	for _, h := range height.Values {
		table := make([]uint8, 3*a.Size*a.Size)
		m.draw(s, h, nil, table)
		d.tables = append(d.tables, table)
		for b := range a.Backgrounds {
			image := make([]float32, len(table))
			blend(image, table, &armObjects[0], &armBackgrounds[b])
			d.emptyTables = append(d.emptyTables, image)
		}
	}
	return d, nil
}

// arm is the data set. The channels of a drawing are the contributions of arm, object and background to a pixel.
type arm struct {
	gridSet
	tables      [][]uint8                    // drawings without an arm, by camera height
	emptyTables [][]float32                  // images without an arm, by camera height and background
	drawings    []atomic.Pointer[armDrawing] // by position; nil: not drawn yet
	cached      atomic.Int64                 // bytes of drawings
	room        int64                        // bytes left for drawings
	easels      *renderedSet                 // draws the positions
}

// armDrawing is the part of a drawing that differs from the empty table.
type armDrawing struct {
	top, left, height, width int
	pixels                   []uint8
}

func (d *arm) Image(i int, dst []float32) {
	var l [7]int // color, shape, size, height, background, horizontal, vertical
	d.grid.At(i, l[:])
	object, background := &armObjects[l[0]], &armBackgrounds[l[4]]
	position := 0
	for _, k := range [...]int{1, 2, 3, 5, 6} {
		position = position*d.grid[k].Size + l[k]
	}
	drawing := d.drawings[position].Load()
	if drawing == nil {
		e := d.easels.take()
		e.paint(position, e.picture)
		blend(dst, e.picture, object, background)
		d.store(position, e.picture, d.tables[l[3]])
		d.easels.put(e)
		return
	}
	copy(dst, d.emptyTables[l[3]*d.grid[4].Size+l[4]])
	for r := range drawing.height {
		from := drawing.pixels[3*r*drawing.width:][:3*drawing.width]
		blend(dst[3*((drawing.top+r)*d.shape[1]+drawing.left):][:len(from)], from, object, background)
	}
}

// blend colours the pixels of a drawing.
func blend(dst []float32, from []uint8, object, background *[3]int) {
	for p := 0; p < len(from); p += 3 {
		a, o, b := 255*int(from[p])+127, int(from[p+1]), int(from[p+2])
		pixel := dst[p : p+3 : p+3]
		for k := range pixel {
			pixel[k] = float32(min((a+o*object[k]+b*background[k])/255, 255)) / 255
		}
	}
}

// store stores the part of a position's picture that differs from the empty table, if memory remains.
func (d *arm) store(index int, picture, table []uint8) {
	side := d.shape[1]
	top, left, bottom, right := side, side, 0, 0
	for p := 0; p < len(picture); p += 3 {
		if [3]uint8(picture[p:]) != [3]uint8(table[p:]) {
			row, col := p/3/side, p/3%side
			top, left, bottom, right = min(top, row), min(left, col), max(bottom, row+1), max(right, col+1)
		}
	}
	bytes := 3 * (bottom - top) * (right - left)
	if d.cached.Add(int64(bytes)) > d.room {
		d.cached.Add(-int64(bytes))
		return
	}
	drawing := &armDrawing{top: top, left: left, height: bottom - top, width: right - left,
		pixels: make([]uint8, 0, bytes)}
	for row := top; row < bottom; row++ {
		drawing.pixels = append(drawing.pixels, picture[3*(row*side+left):3*(row*side+right)]...)
	}
	if !d.drawings[index].CompareAndSwap(nil, drawing) { // another goroutine was faster
		d.cached.Add(-int64(bytes))
	}
}

// armModel is the arm with the table and the objects for its tip.
type armModel struct {
	foot, shoulder, link, table *model
	tools                       [objects.Tools]*model
	light                       lighting
}

func newArmModel() *armModel {
	foot, shoulder, link := objects.Arm()
	m := &armModel{foot: armLayer(foot, 0), shoulder: armLayer(shoulder, 0), link: armLayer(link, 0)}
	for n := range m.tools {
		m.tools[n] = armLayer(objects.Tool(n), 1)
	}
	m.light = lighting{ambient: 0.45, sky: 0.66, shadow: 0.62, lights: []render.Light{
		{Direction: [3]float64{-0.4, 1, 0.35}, Colour: [3]float64{0.5, 0.5, 0.5}},
		{Direction: [3]float64{0.6, 0.3, 0.7}, Colour: [3]float64{0.22, 0.22, 0.22}},
	}}
	m.table = armLayer(objects.Table(1.75), 2)
	return m
}

func (m *armModel) painter(size int, positions factor.Grid) painter {
	s := newStage(size)
	return func(i int, dst []uint8) {
		var l [5]int
		positions.At(i, l[:])
		tool := armTool{model: m.tools[l[0]], size: positions[1].Values[l[1]],
			horizontal: painting.Radians(positions[3].Values[l[3]]), vertical: painting.Radians(positions[4].Values[l[4]])}
		m.draw(s, positions[2].Values[l[2]], &tool, dst)
	}
}

// armTool is an object at the tip of an arm, at the arm's two angles.
type armTool struct {
	*model
	size, horizontal, vertical float64
}

// draw draws the table from a camera at an elevation (degrees). It adds the arm with a tool unless tool is nil.
func (m *armModel) draw(s *stage, elevation float64, tool *armTool, dst []uint8) {
	s.clearScene(&m.light, [3]float64{0, 0, 1})
	c := &s.scene
	c.Camera.Target = [3]float64{0, 0.72, 0.1}
	eye := render.Orbit(5, 0, painting.Radians(elevation))
	for k := range eye {
		c.Camera.Eye[k] = c.Camera.Target[k] + eye[k]
	}
	c.Camera.Angle = 0.62
	c.Parts = append(c.Parts, m.table.parts...)
	if tool != nil {
		const floor = 0.004
		upright := pose{turn: painting.AroundY(0), scale: 1}
		s.add(m.foot, upright, floor)
		upright.turn = painting.AroundY(tool.horizontal)
		s.add(m.shoulder, upright, floor)
		lift := aroundX(tool.vertical)
		link := pose{turn: rotation.Product(&upright.turn, &lift), shift: [3]float64{0, objects.ArmHeight, 0}, scale: 1}
		s.add(m.link, link, floor)
		reach := objects.ArmReach + float64(0.8*tool.size)
		heldTool := pose{turn: link.turn, scale: tool.size}
		for k := range heldTool.shift {
			heldTool.shift[k] = link.shift[k] + float64(reach*link.turn[3*k+2])
		}
		s.add(tool.model, heldTool, floor)
	}
	s.renderer.Draw(c, dst)
}

// armLayer returns an object that draws its brightness into a channel.
func armLayer(parts []render.Part, channel int) *model {
	for i := range parts {
		grey := parts[i].Colour[1]
		parts[i].Colour = [3]float64{}
		parts[i].Colour[channel] = grey
	}
	return newModel(parts)
}

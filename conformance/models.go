package conformance

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// CheckModel returns the faults of an entry of the registry of models. It calls checkModelOn for images of 16 x 16
// x 1 with two circular factors, four actions that change them, and a hierarchy of dimensions.
func CheckModel(e registry.Entry[models.Settings]) error { return checkModelOn(e, exampleData()) }

// exampleData describes the images of CheckModel.
func exampleData() models.Data {
	circular := func(name string) factor.Factor {
		return factor.Factor{Name: name, Size: 8, Kind: factor.Circular}
	}
	return models.Data{Height: 16, Width: 16, Channels: 1, Factors: []factor.Factor{circular("row"), circular("column")},
		Actions: []supervision.Action{{Name: "row+1", Factor: 0, Step: 1}, {Name: "row-1", Factor: 0, Step: -1},
			{Name: "column+1", Factor: 1, Step: 1}, {Name: "column-1", Factor: 1, Step: -1}},
		Hierarchy: hierarchy.Hierarchy{{}, {Options: []hierarchy.Hierarchy{{}, {{}}}}}}
}

// checkModelOn returns the faults of a model on data:
//
//   - an invalid entry; spaces that do not cover the columns of the codes; discrete columns that do not hold
//     numbers of options, or that do not come first;
//   - parameters that differ for one seed, stay equal for two seeds, or first appear after New;
//   - non-finite codes; codes that differ between calls, with the other images of the batch, or for one seed;
//     decoded images of a wrong shape;
//   - training steps that fail, change no parameter, or are not finite, including on constant images and on a
//     batch of one image or group;
//   - state outside Params: a trained model, and a new model with its parameters and states, must take the same
//     next step to the bit.
//
// The check sets options for widths (hidden, projected, predictor, width, queue) to small values if the settings stay
// valid, and does the same for encoders with a thousand features. The training loss pulls all outputs to random
// numbers: the test covers the model, not a choice of losses.
func checkModelOn(e registry.Entry[models.Settings], data models.Data) error {
	return faultsOfEntry("model", e, func(f *findings, _ models.Settings) {
		x := &modelCheck{findings: f, entry: e, data: data}
		x.shrink()
		x.run(x.checkSeeds, x.checkCodes)
		for _, o := range x.reference.Objectives() {
			x.run(func() { x.objective(o) })
		}
	})
}

// modelCheck checks one model.
type modelCheck struct {
	*findings
	entry     registry.Entry[models.Settings]
	data      models.Data
	small     []string     // overrides for a small model
	reference models.Model // model of the first seed
}

// settings returns new settings with some overrides, or nil if they are not valid.
func (x *modelCheck) settings(overrides []string) models.Settings {
	s := x.entry.New()
	for _, o := range overrides {
		if config.Load(x.entry.Name, []byte(o), s) != nil {
			return nil
		}
	}
	if staged, ok := s.(models.Staged); ok && staged.Stage() != nil {
		return staged.Known()
	}
	return s
}

// shrink finds the overrides for a small model, and makes the first model.
func (x *modelCheck) shrink() {
	for _, o := range []string{"hidden: 16", "projected: 8", "predictor: 8", "width: 8", "queue: 16"} {
		if x.settings(append(slices.Clone(x.small), o)) != nil {
			x.small = append(x.small, o)
		}
	}
	const encoder = "encoder: {conv64-norm: {features: 12, norm: batch}}"
	if s := x.settings(append(slices.Clone(x.small), encoder)); s != nil {
		if m, err := s.New(x.data, seed); err == nil {
			x.small, x.reference = append(x.small, encoder), m
			return
		}
	}
	x.reference = x.model(seed)
}

func (x *modelCheck) model(seed uint64) models.Model {
	m, err := x.settings(x.small).New(x.data, seed)
	x.must(err, "New")
	if m == nil || m.Params() == nil || m.Params().Count() == 0 {
		x.fatal("New makes a model without parameters; want all of them, see models.Materialise")
	}
	if len(m.Objectives()) == 0 || len(m.Spaces()) == 0 {
		x.fatal("it has %d objectives and %d spaces; want one or more of each", len(m.Objectives()), len(m.Spaces()))
	}
	return m
}

func (x *modelCheck) checkSeeds() {
	repeated, otherSeed := x.model(seed), x.model(seed+1)
	p := x.reference.Params()
	if !slices.Equal(p.Names(), repeated.Params().Names()) || !slices.Equal(p.Names(), otherSeed.Params().Names()) {
		x.fatal("parameters %v, and then %v; want the same from New every time", p.Names(), repeated.Params().Names())
	}
	differ := false
	for _, name := range p.Names() {
		a := p.Get(name).Float32s()
		if !slices.Equal(a, repeated.Params().Get(name).Float32s()) {
			x.add("parameter %q differs between two models of one seed; want it drawn by the seed alone", name)
		}
		differ = differ || !slices.Equal(a, otherSeed.Params().Get(name).Float32s())
		if i := notFinite(numeric.Convert[float64](a)); i >= 0 {
			x.add("parameter %q: element %d is %v", name, i, a[i])
		}
	}
	if !differ {
		x.add("two seeds give the same parameters; want them drawn by the seed")
	}
}

// encode returns the codes of random images in a given order, and their reconstructions.
func (x *modelCheck) encode(m models.Model, order ...int) (codes []float64, width int) {
	g := nn.NewGraph(m.Params())
	images, err := g.Input("images", len(order), x.data.Height, x.data.Width, x.data.Channels)
	x.must(err, "images")
	pixels := len(nn.Data(images)) / len(order)
	for row, i := range order {
		drawImage(nn.Data(images)[row*pixels:(row+1)*pixels], i)
	}
	z, err := m.Encode(g, images)
	x.must(err, "Encode")
	if z.Dims() != 2 || z.Shape()[0] != len(order) {
		x.fatal("Encode returns shape %v of %d images; want [images, columns]", z.Shape(), len(order))
	}
	if len(g.Running()) > 0 {
		x.add("Encode updates running moments; want a graph outside training to change nothing")
	}
	nodes := []*gorgonia.Node{z}
	if d, decodes := m.(models.Decoder); decodes {
		logits, err := d.Decode(g, z)
		x.must(err, "Decode")
		if shape, want := []int(logits.Shape()), []int(images.Shape()); !slices.Equal(shape, want) {
			x.add("Decode returns shape %v; want %v", shape, want)
		}
		nodes = append(nodes, logits)
	}
	values := x.results("encoding", nodes...)
	for i, list := range values {
		if element := notFinite(list); element >= 0 {
			x.add("%s: element %d is %v", []string{"Encode", "Decode"}[i], element, list[element])
		}
	}
	return values[0], z.Shape()[1]
}

// Numbers of the constant images.
const (
	black = -1
	white = -2
)

// drawImage fills an image with numbers in [0, 1]: random pixels, seeded by number, or one constant.
func drawImage(pixels []float32, number int) {
	s := rng.New(seed, fmt.Sprint("image ", number))
	for i := range pixels {
		switch number {
		case black:
			pixels[i] = 0
		case white:
			pixels[i] = 1
		default:
			pixels[i] = s.Float32()
		}
	}
}

func (x *modelCheck) checkCodes() {
	m := x.reference
	values, width := x.encode(m, 0, 1, 2, 3)
	column := 0
	for i, s := range m.Spaces() {
		if s.First != column || s.Width < 1 {
			x.add("space %q begins at column %d and has %d; want spaces one after the other, from column 0",
				s.Name, s.First, s.Width)
		}
		column += s.Width
		x.discrete(s, values, width, s.First > 0 && m.Spaces()[i-1].Options == 0)
	}
	if column != width {
		x.add("Encode gives %d columns; want the %d of Spaces", width, column)
	}
	if repeated, _ := x.encode(m, 0, 1, 2, 3); !slices.Equal(values, repeated) {
		x.add("Encode gives other codes at the second call; want codes that depend on images and parameters alone")
	}
	if sameSeed, _ := x.encode(x.model(seed), 0, 1, 2, 3); !slices.Equal(values, sameSeed) {
		x.add("two models of one seed give other codes of the same images")
	}
	if rebatched, _ := x.encode(m, 3, 4, black, white); farApart(rebatched[:width], values[3*width:], 1e-4) >= 0 {
		x.add("the code of an image depends on the rest of its batch; want running moments in a graph that is not for training")
	}
	if slices.Equal(values[:width], values[width:2*width]) && slices.Equal(values[:width], values[2*width:3*width]) {
		x.add("Encode returns one code for different images")
	}
}

// discrete checks a space that is a choice among options. late: a continuous space comes before it.
func (x *modelCheck) discrete(s models.Space, codes []float64, width int, late bool) {
	if s.Options == 0 {
		return
	}
	if s.Width != 1 || late || s.Options < 0 {
		x.fatal("space %q has %d options, %d columns from column %d; want one column with the number of the option, before the columns of other spaces", s.Name, s.Options, s.Width, s.First)
	}
	for element := s.First; element < len(codes); element += width {
		if v := codes[element]; v != math.Trunc(v) || v < 0 || v > float64(s.Options) {
			x.fatal("Encode: space %q has the number %v; want the number of one of %d options, or 0", s.Name, v, s.Options)
		}
	}
}

func angle(s *rng.Stream) float32 { return float32(2 * math.Pi * (s.Float64() - 0.5)) }

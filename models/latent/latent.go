// Package latent has the latent spaces of models. A space defines its coordinates, the posterior as a function of an
// encoder's features, the divergence of the posterior from the prior, and how groups act on it.
//
// A model has a list of spaces, [List]: a torus is a list of two circles, and a cylinder a circle and R^n. Its codes
// are the columns of all spaces in order. A space from another module implements [Space] and, if possible, [Embedded]
// and [Densities]. conformance.CheckLatent tests its samples and KL with them.
package latent

import (
	"errors"
	"fmt"
	"reflect"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
)

// Space holds the settings of a latent space.
type Space interface {
	// Width returns the number of coordinates of a point.
	Width() int

	// Heads adds the layers name/loc and name/scale on features [batch, columns]
	// and returns the location [batch, Width] and the scale of the posterior.
	Heads(g *nn.Graph, features *gorgonia.Node, name string) (location, scale *gorgonia.Node, err error)

	// NoiseShape returns the shape of the standard normal noise for a sample of a batch.
	NoiseShape(batch int) []int

	// Sample returns the reparameterised sample of the posterior [batch, Width], differentiable in location and scale.
	Sample(location, scale, noise *gorgonia.Node) (*gorgonia.Node, error)

	// KL returns the mean divergence of the posteriors from the prior, a scalar in nats.
	KL(location, scale *gorgonia.Node) (*gorgonia.Node, error)

	// Columns returns the number of columns of the space's transformations. It is 1 (an angle in radians) for the
	// circle, 4 (axis and angle) for S^2, and 0 if only the identity acts.
	Columns() int

	// Turns reports whether a circular factor can act on the space.
	Turns() bool

	// Turn maps the angles [batch, 1] of a circular factor, in radians, to transformations [batch, Columns]. It is
	// called only if Turns is true.
	Turn(angles *gorgonia.Node) (*gorgonia.Node, error)

	// Transport transforms the common point of every group of m consecutive rows of z. The common point is the mean
	// of the inversely transformed rows, projected to the space. The transformations are [batch, Columns], or nil if
	// Columns is 0.
	Transport(z, transformation *gorgonia.Node, m int) (losses.Transport, error)

	// Prior writes a sample of the prior into dst, of length Width.
	Prior(r *rng.Stream, dst []float32)
}

// Circular is implemented by spaces that may be the unit circle in the plane. Figures show them as circles.
type Circular interface {
	Circle() bool
}

// Spherical is implemented by spaces that may be the unit sphere S^2 in space. Figures show them as spheres.
type Spherical interface {
	Sphere() bool
}

// Unit is implemented by spaces that may consist of points of length 1, such as spheres of any dimension.
type Unit interface {
	Unit() bool
}

// Registry lists the spaces that a config can choose.
var Registry = &registry.Registry[Space]{Kind: "latent space", Entries: []registry.Entry[Space]{
	{Name: "sphere", Doc: "the sphere S^dim with a random-walk posterior and a uniform prior; dim 1 is the circle",
		Source: "Perez Rey et al. 2020; Tonnaer et al. 2022", New: func() Space { return NewSphere() }},
	{Name: "euclidean", Doc: "R^dim with a Gaussian posterior and a standard normal prior",
		Source: "Kingma and Welling 2014", New: func() Space { return NewEuclidean() }},
	{Name: "categorical", Doc: "a choice among options with a relaxed posterior (Gumbel-softmax) and a uniform prior; must come before other spaces in a list",
		Source: "Jang et al. 2017; Maddison et al. 2017; Dupont 2018", New: func() Space { return NewCategorical() }},
}}

// Choice is a latent space in a config: `sphere`, or `{euclidean: {dim: 5}}`.
type Choice struct {
	Name  string
	Value Space
}

func (c *Choice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Registry, c)
}

func (c Choice) EncodeConfig() (any, error) { return config.EncodeChoice(c) }

func (Choice) ConfigForms() []any { return []any{config.ChoicesOf(Registry)} }

// List holds the latent spaces of a model, in the order of their columns.
type List []Choice

// Of returns a list of spaces. A space of an unregistered type has no name, and a config cannot choose it.
func Of(spaces ...Space) List {
	l := make(List, len(spaces))
	for i, s := range spaces {
		l[i].Value = s
		for _, e := range Registry.Entries {
			if reflect.TypeOf(e.New()) == reflect.TypeOf(s) {
				l[i].Name = e.Name
			}
		}
	}
	return l
}

func (l List) Validate() error {
	if len(l) == 0 {
		return errors.New("want one latent space or more, such as [{euclidean: {dim: 10}}]")
	}
	for i, c := range l[1:] {
		if ChoicesOf(c.Value) > 0 && ChoicesOf(l[i].Value) == 0 {
			return fmt.Errorf("space %d (%s) is categorical and follows a continuous space; want categorical spaces first, because their columns come first in codes", i+1, c.Name)
		}
	}
	return nil
}

// ChoicesOf returns the number of options of a [Discrete] space, and 0 for others.
func ChoicesOf(s Space) int {
	if d, ok := s.(Discrete); ok {
		return d.Choices()
	}
	return 0
}

// Width returns the total number of columns of all spaces.
func (l List) Width() int {
	n := 0
	for _, c := range l {
		n += c.Value.Width()
	}
	return n
}

// Variable is the posterior of a batch in one latent space, with a sample. It implements losses.Posterior.
type Variable struct {
	Space           Space
	Location, Scale *gorgonia.Node
	Noise           *gorgonia.Node // input of standard normal numbers, to fill through nn.Data
	Sample          *gorgonia.Node // [batch, Width]

	Schedule *losses.Schedule // schedule of an input of the sample, such as a temperature; nil: none
}

// Options implements losses.OptionsPosterior: the number of options of a [Discrete] space, 0 for others.
func (v *Variable) Options() int { return ChoicesOf(v.Space) }

// sample adds the sample, and the input of its schedule if it has one.
func (v *Variable) sample(g *nn.Graph, name string) (err error) {
	if a, ok := v.Space.(Annealed); ok {
		if at := a.Annealing(); at != nil {
			v.Schedule = &losses.Schedule{At: at}
			if v.Schedule.Node, err = g.Input(name, 1); err != nil {
				return err
			}
			nn.Data(v.Schedule.Node)[0] = float32(at(0))
			v.Sample, err = a.SampleAt(v.Location, v.Scale, v.Noise, v.Schedule.Node)
			return err
		}
	}
	v.Sample, err = v.Space.Sample(v.Location, v.Scale, v.Noise)
	return err
}

func (v *Variable) KL() (*gorgonia.Node, error) { return v.Space.KL(v.Location, v.Scale) }

// Transport transforms the variable's samples in groups of m; see [Space].
func (v *Variable) Transport(transformation *gorgonia.Node, m int) (losses.Transport, error) {
	return v.Space.Transport(v.Sample, transformation, m)
}

// Variables adds the heads, the noise inputs and the samples of all spaces on an encoder's features [batch, columns].
// The parameters are latent/<i>/loc and latent/<i>/scale, the inputs noise/<i>, with i from 0.
func (l List) Variables(g *nn.Graph, features *gorgonia.Node) ([]*Variable, error) {
	all := make([]*Variable, len(l))
	for i, c := range l {
		v := &Variable{Space: c.Value}
		var err error
		if v.Location, v.Scale, err = c.Value.Heads(g, features, fmt.Sprintf("latent/%d", i)); err != nil {
			return nil, err
		}
		if v.Noise, err = g.Input(fmt.Sprintf("noise/%d", i), c.Value.NoiseShape(features.Shape()[0])...); err != nil {
			return nil, err
		}
		if err = v.sample(g, fmt.Sprintf("annealed/%d", i)); err != nil {
			return nil, fmt.Errorf("latent space %d: %w", i, err)
		}
		all[i] = v
	}
	return all, nil
}

// Locations joins the locations of variables into the codes [batch, Width] for metrics.
func Locations(variables []*Variable) (*gorgonia.Node, error) {
	return join(variables, func(v *Variable) *gorgonia.Node { return v.Location })
}

// Samples joins the samples of variables into codes [batch, Width].
func Samples(variables []*Variable) (*gorgonia.Node, error) {
	return join(variables, func(v *Variable) *gorgonia.Node { return v.Sample })
}

func join(variables []*Variable, part func(v *Variable) *gorgonia.Node) (*gorgonia.Node, error) {
	nodes := make(gorgonia.Nodes, len(variables))
	for i, v := range variables {
		nodes[i] = part(v)
	}
	return graph.ConcatColumns(nodes...)
}

// Register adds a latent space that configs can name, before a config is read. A taken name is an error.
func Register(e registry.Entry[Space]) error { return Registry.Register(e) }

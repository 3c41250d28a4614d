package objects

import (
	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Category is a category of toys of SmallNORB (LeCun et al. 2004), in the order of that set.
type Category uint8

// The categories.
const (
	Animal Category = iota
	Human
	Plane
	Truck
	CarCategory
)

// Categories and Instances are the number of categories and the number of figures per category.
const (
	Categories = 5
	Instances  = 10
)

var categoryNames = [Categories]string{"animal", "human", "plane", "truck", "car"}

func (c Category) String() string { return categoryNames[c] }

// Greys of figures.
var (
	paint = vec{0.8, 0.8, 0.8}
	dark  = vec{0.5, 0.5, 0.5}
)

// Figure returns the toy of a category and an instance from 0 to 9, painted grey. It panics for other numbers.
func Figure(c Category, instance int) []render.Part {
	a, s := &assembly{}, rng.New(uint64(instance), "figure "+c.String())
	switch c {
	case Animal:
		animals[instance].build(a)
	case Human:
		humans[instance].build(a)
	case Plane:
		planes[instance](a, s)
	case Truck:
		build(a, s, trucks[instance])
	case CarCategory:
		build(a, s, cars[instance])
	}
	parts := a.parts()
	for i := range parts {
		switch parts[i].Colour {
		case paint, dark:
		case glass, rubber:
			parts[i].Colour = dark
		default:
			parts[i].Colour = paint
		}
	}
	return parts
}

var (
	planes = [Instances]func(*assembly, *rng.Stream){airliner, tailJet, fighter, sportsPlane, biplane, glider, transport, airliner, sportsPlane, fighter}
	trucks = [Instances]func(*carBody){lorryWith(crate), lorryWith(tank), lorryWith(tipper), pickUp, articulated, lorryWith(mixer), lorryWith(crane), lorryWith(ladder), lorryWith(logs), van}
	cars   = [Instances]func(*carBody){hatchback, sedan, estate, coupe, convertible, offRoader, racer, oldTimer, bus, minibus}
)

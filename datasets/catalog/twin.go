package catalog

import (
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/public"
)

// RealOf returns the public data set of a twin, which is a data set that we draw ourselves with the same factors and
// without a download. Settings that both have, such as the number of channels, are copied from the twin; others, such
// as sizes, keep their defaults. RealOf returns false if the twin's settings match no public set.
func RealOf(b datasets.Builder) (Choice, bool) {
	switch t := b.(type) {
	case *drawn.Sprites:
		return realOf("dsprites", func(d *public.DSprites) { d.Channels = t.Channels })
	case *drawn.Room:
		return realOf("shapes3d", func(*public.Shapes3D) {})
	case *drawn.Cars:
		return realOf("cars3d", func(*public.Cars3D) {})
	case *drawn.Norb: // with or without the factor instance
		return realOf("smallnorb", func(n *public.SmallNORB) { n.Instance = t.Instance })
	case *drawn.Arm:
		return realOf("mpi3d", func(*public.MPI3D) {})
	case *drawn.Turntable:
		// Several airplanes of one hue stand for ModelNet40, and solids for COIL-100. The user's meshes, and objects in
		// many hues, stand for no public set.
		switch {
		case t.Path != "" || t.Hues > 1 || t.Objects < 2:
			return Choice{}, false
		case t.Draw == "solid":
			return realOf("coil100", func(*public.COIL100) {})
		}
		return realOf("modelnet40", func(m *public.ModelNet40) {
			m.Views, m.Size, m.Channels, m.Elevation, m.Light, m.Crease = t.Views, t.Size, t.Channels, t.Elevation, t.Light, t.Crease
		})
	}
	return Choice{}, false
}

// realOf returns a public data set with default settings, changed by set.
func realOf[B datasets.Builder](name string, set func(real B)) (Choice, bool) {
	c, err := Named(name)
	if err != nil {
		return Choice{}, false
	}
	set(c.Value.(B))
	return c, true
}

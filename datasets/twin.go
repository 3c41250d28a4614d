package datasets

// Twin is a data set drawn by our own code that stands for a public set: it has the same factors, and needs no
// download.
type Twin interface {
	Builder

	// Real returns the public data set behind the twin. Settings that both have, such as the number of channels, take
	// the twin's values; others, such as sizes, keep their defaults. The name is empty if the settings make the set no
	// twin.
	Real() Choice
}

// realOf returns a public data set with its defaults after a call of set.
func realOf[B Builder](name string, set func(real B)) Choice {
	c, err := Named(name)
	if err != nil {
		return Choice{Name: name}
	}
	if set != nil {
		set(c.Value.(B))
	}
	return c
}

// Real implements Twin: dSprites.
func (s *Sprites) Real() Choice {
	return realOf("dsprites", func(d *DSprites) { d.Channels = s.Channels })
}

// Real implements Twin: 3D Shapes.
func (r *Room) Real() Choice { return realOf[*Shapes3D]("shapes3d", nil) }

// Real implements Twin: Cars3D.
func (c *Cars) Real() Choice { return realOf[*Cars3D]("cars3d", nil) }

// Real implements Twin: SmallNORB, with or without the instance among its factors.
func (n *Norb) Real() Choice {
	return realOf("smallnorb", func(d *SmallNORB) { d.Instance = n.Instance })
}

// Real implements Twin: MPI3D.
func (a *Arm) Real() Choice { return realOf[*MPI3D]("mpi3d", nil) }

// Real implements Twin: several airplanes of one hue stand for ModelNet40, and solids for COIL-100. The user's meshes,
// and objects of many hues, are twins of no public set.
func (t *Turntable) Real() Choice {
	switch {
	case t.Path != "" || t.Hues > 1 || t.Objects < 2:
		return Choice{}
	case t.Draw == "solid":
		return realOf[*COIL100]("coil100", nil)
	}
	return realOf("modelnet40", func(d *ModelNet40) {
		d.Views, d.Size, d.Channels, d.Elevation, d.Light, d.Crease = t.Views, t.Size, t.Channels, t.Elevation, t.Light, t.Crease
	})
}

// RealOf returns the public data set of a twin, or false if the builder is no twin.
func RealOf(b Builder) (Choice, bool) {
	twin, ok := b.(Twin)
	if !ok {
		return Choice{}, false
	}
	real := twin.Real()
	return real, real.Name != ""
}

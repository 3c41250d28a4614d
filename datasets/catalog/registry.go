// Package catalog has the table of the data sets that a config can name, and [Choice], a data set in a config.
package catalog

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/files"
	"github.com/unravel-ml/unravel/datasets/public"
	"github.com/unravel-ml/unravel/internal/wording"
)

// Registry lists the data sets that a config can name: the built-in sets, and the sets that a program registers with
// [datasets.Register].
var Registry = &registry.Registry[datasets.Builder]{Kind: "dataset", Entries: []registry.Entry[datasets.Builder]{
	{Name: "square", Doc: "a white square that moves over a black image and around its edges; factors row and column, both circular",
		Source: "Tonnaer et al. 2022, section 6 (Square)",
		New:    func() datasets.Builder { return &drawn.Square{Size: 64, Side: 16, Step: 1} }},
	{Name: "arrow", Doc: "a coloured arrow that rotates and changes its hue; factors hue and rotation, both circular",
		Source: "Tonnaer et al. 2022, section 6 (Arrow; own drawing)",
		New:    func() datasets.Builder { return &drawn.Arrow{Size: 64, Hues: 64, Rotations: 64} }},
	{Name: "flatland", Doc: "a white disc that moves over black and wraps around; factors row and column, both circular",
		Source: "Caselles-Dupré et al. 2019; Quessard et al. 2020 (own drawing)",
		New:    func() datasets.Builder { return drawn.NewFlatland() }},
	{Name: "poses", Doc: "an object in many poses and hues: a cone, vase or bottle (symmetric about an axis), an airplane, or your mesh; factors pose (rotations in space) and hue (circular)",
		New: func() datasets.Builder { return drawn.NewPoses() }},
	{Name: "sprites", Doc: "a white square, ellipse or heart on black: a twin of dSprites; factors shape, scale, orientation, x and y",
		Source: "Matthey et al. 2017 (dSprites; own drawing)",
		New: func() datasets.Builder {
			return &drawn.Sprites{Size: 64, Scales: 6, Orientations: 40, Positions: 32, Channels: 1}
		}},
	{Name: "room", Doc: "a cube, cylinder, ball or capsule in the corner of a room: a twin of 3D Shapes; factors floor_hue, wall_hue, object_hue, scale, shape and orientation",
		Source: "Burgess and Kim 2018 (3D Shapes; own drawing)",
		New:    func() datasets.Builder { return &drawn.Room{Size: 64, Hues: 10, Scales: 8, Orientations: 15} }},
	{Name: "cars", Doc: "183 cars from 4 heights and 24 sides: a twin of Cars3D; factors elevation, azimuth and object",
		Source: "Reed et al. 2015 (Cars3D; own drawing)",
		New:    func() datasets.Builder { return &drawn.Cars{Size: 64, Elevations: 4, Azimuths: 24, Objects: 183} }},
	{Name: "norb", Doc: "grey animals, people, planes, trucks and cars: a twin of SmallNORB; factors category, elevation, azimuth and lighting",
		Source: "LeCun et al. 2004 (SmallNORB; own drawing)",
		New: func() datasets.Builder {
			return &drawn.Norb{Size: 64, Instances: 10, Elevations: 9, Azimuths: 18, Lightings: 6}
		}},
	{Name: "arm", Doc: "a robot arm that holds an object: a twin of MPI3D; factors object_color, object_shape, object_size, camera_height, background_color, horizontal_axis and vertical_axis",
		Source: "Gondal et al. 2019 (MPI3D; own drawing)",
		New: func() datasets.Builder {
			return &drawn.Arm{Size: 64, Colours: 6, Shapes: 6, Sizes: 2, Heights: 3, Backgrounds: 3, Horizontal: 40,
				Vertical: 40}
		}},
	{Name: "turntable", Doc: "turning objects, from meshes or built in: twins of Airplane, ModelNet40 and COIL-100; factors object, hue and rotation (hue and rotation circular)",
		Source: "Tonnaer et al. 2022, section 6 (Airplane, ModelNet40, COIL-100; own drawing)",
		New:    func() datasets.Builder { return drawn.NewTurntable() }},
	{Name: "entangled", Doc: "codes instead of images: one of ten hand-made encoders of three factors; factors y1, y2 and y3 from 0 to 1, all ordinal",
		Source: "Zhang and Sugiyama 2024, appendix F.1",
		New:    func() datasets.Builder { return &drawn.Entangled{Encoder: "entanglement", Levels: 11} }},
	{Name: "bumps", Doc: "Gaussian bumps at the levels of ordinal factors, mixed by an orthogonal matrix: real-valued, and small enough to learn from in seconds",
		New: func() datasets.Builder { return &drawn.Bumps{Factors: 4, Levels: 8} }},
	{Name: "chopsticks", Doc: "time series of 64 numbers: a line that may break and continue as another line; a hierarchy of slopes and intercepts",
		Source: "Ross and Doshi-Velez 2021, section 4.2 and appendix A.2",
		New: func() datasets.Builder {
			return &drawn.Chopsticks{Variant: "slope", Depth: 2, Samples: 100000, Overwrite: "none"}
		}},
	{Name: "spaceshapes", Doc: "a white moon, star or ship on black, the ship perhaps with a jet; a hierarchy of position, phase, shine, rotation and jet",
		Source: "Ross and Doshi-Velez 2021, section 4.1 (own drawing)",
		New:    func() datasets.Builder { return &drawn.Spaceshapes{Size: 64, Samples: 60000} }},
	{Name: "dsprites", Doc: "dSprites as published: a white square, ellipse or heart on black; factors shape, scale, orientation, x and y; see `unravel data fetch`",
		Source: "Matthey et al. 2017 (dSprites)",
		New:    func() datasets.Builder { return &public.DSprites{Variant: "plain", Channels: 1} }},
	{Name: "shapes3d", Doc: "3D Shapes as published: a cube, cylinder, ball or capsule in the corner of a room; factors floor_hue, wall_hue, object_hue, scale, shape and orientation; see `unravel data fetch`",
		Source: "Burgess and Kim 2018 (3D Shapes)", New: func() datasets.Builder { return &public.Shapes3D{} }},
	{Name: "cars3d", Doc: "Cars3D as published: 183 cars from 24 directions and 4 heights; factors elevation, azimuth and object; see `unravel data fetch`",
		Source: "Reed et al. 2015",
		New:    func() datasets.Builder { return &public.Cars3D{Size: 64, Filter: "lanczos"} }},
	{Name: "mpi3d", Doc: "MPI3D as published: a robot arm that moves an object, drawn or photographed; factors object_color, object_shape, object_size, camera_height, background_color, horizontal_axis and vertical_axis; see `unravel data fetch`",
		Source: "Gondal et al. 2019", New: func() datasets.Builder { return &public.MPI3D{Variant: "toy"} }},
	{Name: "smallnorb", Doc: "SmallNORB as published: grey photographs of toys; factors category, elevation, azimuth (circular) and lighting, and instance as a nuisance; see `unravel data fetch`",
		Source: "LeCun et al. 2004",
		New:    func() datasets.Builder { return &public.SmallNORB{Part: "all", Size: datasets.PictureSize{64, 64}} }},
	{Name: "celeba", Doc: "CelebA as published: photographs of faces; 40 attributes, each a factor of two levels; see `unravel data fetch`",
		Source: "Liu et al. 2015",
		New: func() datasets.Builder {
			return &public.CelebA{Split: "all", Crop: 148, Size: datasets.PictureSize{64, 64}, Filter: "lanczos"}
		}},
	{Name: "coil100", Doc: "COIL-100 as published: photographs of objects on a turntable; factors object and angle (circular); see `unravel data fetch`",
		Source: "Nene et al. 1996",
		New:    func() datasets.Builder { return &public.COIL100{Size: datasets.PictureSize{64, 64}} }},
	{Name: "modelnet40", Doc: "turning meshes of a ModelNet40 class, drawn by Unravel; factors object and rotation (circular); see `unravel data fetch`",
		Source: "Wu et al. 2015; Tonnaer et al. 2022, section 6 (ModelNet40)",
		New:    func() datasets.Builder { return public.NewModelNet40() }},
	{Name: "grid", Doc: "your images: arrays of images, factors and sizes in a folder of .npy files, or in one .npz, .npy, HDF5 or MATLAB file",
		New: func() datasets.Builder { return &files.GridFolder{Channels: "auto", Rows: "auto"} }},
	{Name: "folder", Doc: "your pictures: PNG, JPEG, GIF, WebP, BMP and TIFF files in a folder, with labels from a table or folder names, or without labels",
		New: func() datasets.Builder { return files.NewFolder() }},
}, More: datasets.Registered, Hints: map[string]string{
	"":         "your own are {folder: {path: DIR}} of pictures and {grid: {path: FILE}} of arrays",
	"3dshapes": `did you mean "shapes3d"?`,
}}

// Choice is a data set in a config: `square`, or `{square: {size: 32, side: 8}}`.
type Choice struct {
	Name  string
	Value datasets.Builder
}

func (c *Choice) DecodeConfig(n *config.Node) error {
	if n.IsScalar() && strings.ContainsAny(n.Text(), `/\.`) { // data set names have none of them
		return n.Errorf("want the name of a data set, got a path; pictures of a folder are {folder: {path: %s}}, and arrays of a file {grid: {path: %s}}", n.Inline(), n.Inline())
	}
	return config.DecodeChoice(n, Registry, c)
}

func (c Choice) EncodeConfig() (any, error) { return config.EncodeChoice(c) }

func (Choice) ConfigForms() []any { return []any{config.ChoicesOf(Registry)} }

// Prepare converts the files of a data set that is a [datasets.Preparer], and does nothing for other sets.
func (c Choice) Prepare(ctx context.Context, progress datasets.Progress) error {
	if p, ok := c.Value.(datasets.Preparer); ok {
		return p.Prepare(ctx, progress)
	}
	return nil
}

// Build builds the chosen data set. It returns an error for a set without images or factors, for factors that
// [factor.Validate] rejects, for impossible numbers of images with unknown levels ([datasets.Incomplete]), and
// for pixels of the first and the last image that are unwritten, out of range, or change at a second call.
func (c Choice) Build(seed uint64) (datasets.Dataset, error) {
	d, err := c.Value.Build(seed)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, fmt.Errorf("dataset %s: its Build returns nil", c.Name)
	}
	h, w, channels := d.ImageShape()
	switch {
	case d.Len() < 1 || h < 1 || w < 1 || channels < 1:
		return nil, fmt.Errorf("dataset %s has %s of %d x %d x %d; want 1 or more of each",
			d.Name(), wording.Count(d.Len(), "image"), h, w, channels)
	case len(d.Factors()) == 0:
		return nil, fmt.Errorf("dataset %s has no factors; want at least one, of one level if nothing is known about the images", d.Name())
	}
	if err := factor.Validate(d.Factors()); err != nil {
		return nil, fmt.Errorf("dataset %s: %w", d.Name(), err)
	}
	err = checkMissing(d)
	for _, i := range []int{0, d.Len() - 1} {
		if err == nil {
			err = checkPixels(d, i, h*w*channels)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("dataset %s: %w", d.Name(), err)
	}
	return d, nil
}

// checkPixels returns an error for an image with unwritten, changing or out-of-range pixels.
func checkPixels(d datasets.Dataset, i, size int) error {
	pixels, again := slices.Repeat([]float32{float32(math.NaN())}, size), make([]float32, size)
	d.Image(i, pixels)
	d.Image(i, again)
	for p, x := range pixels {
		switch {
		case x != x:
			return fmt.Errorf("pixel %d of image %d is unwritten, or NaN; want Image to write all %d", p, i, size)
		case (x < 0 || x > 1) && !datasets.RealValued(d):
			return fmt.Errorf("pixel %d of image %d is %v; want 0 to 1, or a method RealValued for real numbers", p, i, x)
		case x != again[p]:
			return fmt.Errorf("pixel %d of image %d is %v, then %v; want the same at each call of Image", p, i, x, again[p])
		}
	}
	return nil
}

// Named returns a data set by name with default settings.
func Named(name string) (Choice, error) {
	c, err := Registry.Named(name)
	return Choice(c), err
}

// checkMissing returns an error for impossible numbers of images with unknown levels.
func checkMissing(d datasets.Dataset) error {
	missing := datasets.Missing(d)
	if missing == nil {
		return nil
	}
	factors := d.Factors()
	if len(missing) != len(factors) {
		return fmt.Errorf("its Missing has %s; want one for each of the %d factors",
			wording.Count(len(missing), "number"), len(factors))
	}
	for k, n := range missing {
		if n < 0 || n > d.Len() {
			return fmt.Errorf("factor %q has %d images with an unknown level; want 0 to the %d of the data set",
				factors[k].Name, n, d.Len())
		}
	}
	return nil
}

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
			m.Views, m.Size, m.Channels, m.Elevation, m.Light, m.Crease = t.Views, t.Size, t.Channels, t.Elevation, t.Light,
				t.Crease
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

package datasets

import (
	"strings"

	"context"
	"fmt"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
)

// Registry lists the data sets that a config can name.
var Registry = &registry.Registry[Builder]{Kind: "dataset", Entries: []registry.Entry[Builder]{
	{
		Name: "square", Doc: "a white square that moves over a black image and around its edges; factors row and column, both circular",
		Source: "Tonnaer et al. 2022, section 6 (Square)", New: func() Builder { return &Square{Size: 64, Side: 16, Step: 1} },
	},
	{
		Name: "arrow", Doc: "a coloured arrow that rotates and changes its hue; factors hue and rotation, both circular",
		Source: "Tonnaer et al. 2022, section 6 (Arrow; own drawing)", New: func() Builder { return &Arrow{Size: 64, Hues: 64, Rotations: 64} },
	},
	{
		Name: "flatland", Doc: "a white disc on black that moves in steps, from the last position to the first; factors row and column, both circular",
		Source: "Caselles-Dupré et al. 2019; Quessard et al. 2020 (own drawing)", New: func() Builder { return NewFlatland() },
	},
	{
		Name: "poses", Doc: "an object in many poses and hues: a cone, vase or bottle, symmetric about an axis, an airplane, or a mesh of your own; factors pose, rotations in space, and hue, circular",
		New: func() Builder { return NewPoses() },
	},
	{
		Name: "sprites", Doc: "a white square, ellipse or heart on black: a twin of dSprites; factors shape, scale, orientation, x and y",
		Source: "Matthey et al. 2017 (dSprites; own drawing)", New: func() Builder { return &Sprites{Size: 64, Scales: 6, Orientations: 40, Positions: 32, Channels: 1} },
	},
	{
		Name: "room", Doc: "a cube, cylinder, ball or capsule in the corner of a room: a twin of 3D Shapes; factors floor_hue, wall_hue, object_hue, scale, shape and orientation",
		Source: "Burgess and Kim 2018 (3D Shapes; own drawing)", New: func() Builder { return &Room{Size: 64, Hues: 10, Scales: 8, Orientations: 15} },
	},
	{
		Name: "cars", Doc: "183 cars from 4 heights and 24 sides: a twin of Cars3D; factors elevation, azimuth and object",
		Source: "Reed et al. 2015 (Cars3D; own drawing)", New: func() Builder { return &Cars{Size: 64, Elevations: 4, Azimuths: 24, Objects: 183} },
	},
	{
		Name: "norb", Doc: "grey animals, people, planes, trucks and cars: a twin of SmallNORB; factors category, elevation, azimuth and lighting",
		Source: "LeCun et al. 2004 (SmallNORB; own drawing)", New: func() Builder { return &Norb{Size: 64, Instances: 10, Elevations: 9, Azimuths: 18, Lightings: 6} },
	},
	{
		Name: "arm", Doc: "a robot arm that holds an object: a twin of MPI3D; factors object_color, object_shape, object_size, camera_height, background_color, horizontal_axis and vertical_axis",
		Source: "Gondal et al. 2019 (MPI3D; own drawing)",
		New: func() Builder {
			return &Arm{Size: 64, Colours: 6, Shapes: 6, Sizes: 2, Heights: 3, Backgrounds: 3, Horizontal: 40, Vertical: 40}
		},
	},
	{
		Name: "turntable", Doc: "objects that turn, of meshes or drawn by our own code: twins of Airplane, ModelNet40 and COIL-100; factors object, hue and rotation (hue and rotation circular)",
		Source: "Tonnaer et al. 2022, section 6 (Airplane, ModelNet40, COIL-100; own drawing)",
		New: func() Builder {
			return &Turntable{
				Draw: "airplane", Hues: 64, Views: 64, Paint: "object", Size: 64, Channels: 3, Elevation: 30,
				Light: []float64{0.3, 0.5, 0.8}, Up: "z", Crease: 30,
			}
		},
	},
	{
		Name: "entangled", Doc: "codes of three factors by one of ten hand-made encoders, in place of images; factors y1, y2 and y3 from 0 to 1, all ordinal",
		Source: "Zhang and Sugiyama 2024, appendix F.1", New: func() Builder { return &Entangled{Encoder: "entanglement", Levels: 11} },
	},
	{
		Name: "bumps", Doc: "Gaussian bumps at the levels of ordinal factors, mixed by an orthogonal matrix: real-valued, and small enough to learn from in seconds",
		New: func() Builder { return &Bumps{Factors: 4, Levels: 8} },
	},
	{
		Name: "chopsticks", Doc: "time series of 64 numbers: a line that may break off and continue as another; a hierarchy of slopes and intercepts",
		Source: "Ross and Doshi-Velez 2021, section 4.2 and appendix A.2",
		New:    func() Builder { return &Chopsticks{Variant: "slope", Depth: 2, Samples: 100000, Overwrite: "none"} },
	},
	{
		Name: "spaceshapes", Doc: "a white moon, star or ship on black, the ship perhaps with a jet; a hierarchy of position, phase, shine, rotation and jet",
		Source: "Ross and Doshi-Velez 2021, section 4.1 (own drawing)", New: func() Builder { return &Spaceshapes{Size: 64, Samples: 60000} },
	},
	{
		Name: "dsprites", Doc: "dSprites as published: a white square, ellipse or heart on black; factors shape, scale, orientation, x and y; see `unravel data fetch`",
		Source: "Matthey et al. 2017 (dSprites)", New: func() Builder { return &DSprites{Variant: "plain", Channels: 1} },
	},
	{
		Name: "shapes3d", Doc: "3D Shapes as published: a cube, cylinder, ball or capsule in the corner of a room; factors floor_hue, wall_hue, object_hue, scale, shape and orientation; see `unravel data fetch`",
		Source: "Burgess and Kim 2018 (3D Shapes)", New: func() Builder { return &Shapes3D{} },
	},
	{
		Name: "cars3d", Doc: "Cars3D as published: 183 cars from 24 directions and 4 heights; factors elevation, azimuth and object; see `unravel data fetch`",
		Source: "Reed et al. 2015", New: func() Builder { return &Cars3D{Size: 64, Filter: "lanczos"} },
	},
	{
		Name: "mpi3d", Doc: "MPI3D as published: a robot arm that moves an object, drawn or photographed; factors object_color, object_shape, object_size, camera_height, background_color, horizontal_axis and vertical_axis; see `unravel data fetch`",
		Source: "Gondal et al. 2019", New: func() Builder { return &MPI3D{Variant: "toy"} },
	},
	{
		Name: "smallnorb", Doc: "SmallNORB as published: grey photographs of toys; factors category, elevation, azimuth (circular) and lighting, and instance as a nuisance; see `unravel data fetch`",
		Source: "LeCun et al. 2004", New: func() Builder { return &SmallNORB{Part: "all", Size: PictureSize{64, 64}} },
	},
	{
		Name: "celeba", Doc: "CelebA as published: photographs of faces; 40 attributes, each a factor of two levels; see `unravel data fetch`",
		Source: "Liu et al. 2015", New: func() Builder {
			return &CelebA{Split: "all", Crop: 148, Size: PictureSize{64, 64}, Filter: "lanczos"}
		},
	},
	{
		Name: "coil100", Doc: "COIL-100 as published: photographs of objects on a turntable; factors object and angle (circular); see `unravel data fetch`",
		Source: "Nene et al. 1996", New: func() Builder { return &COIL100{Size: PictureSize{64, 64}} },
	},
	{
		Name: "modelnet40", Doc: "meshes of a class of ModelNet40 that turn, drawn by our own code; factors object and rotation (circular); see `unravel data fetch`",
		Source: "Wu et al. 2015; Tonnaer et al. 2022, section 6 (ModelNet40)",
		New: func() Builder {
			return &ModelNet40{Class: "airplane", Part: "train", Views: 64, Size: 64, Channels: 1, Elevation: 30, Light: []float64{0.3, 0.5, 0.8}, Crease: 30}
		},
	},
	{
		Name: "grid", Doc: "your own images: arrays of images, factors and sizes in a folder of .npy files, or a .npz, .npy, HDF5 or MATLAB file",
		New: func() Builder { return &GridFolder{Channels: "auto", Rows: "auto"} },
	},
	{
		Name: "folder", Doc: "your own pictures: the PNG, JPEG, GIF, WebP, BMP and TIFF files below a folder, with labels from a table, from names of folders, or without",
		New: func() Builder {
			return &Folder{Size: PictureSize{64, 64}, Channels: 3, Fit: fitCrop, Filter: "lanczos", Bins: 20, Unlabelled: "refuse"}
		},
	},
}}

// SupervisionRegistry lists the kinds of supervision that a config can name.
var SupervisionRegistry = &registry.Registry[Supervision]{Kind: "supervision", Entries: []registry.Entry[Supervision]{
	{
		Name: "none", Doc: "no labels: every image is unlabelled", New: func() Supervision { return &None{} },
	},
	{
		Name: "pairs", Doc: "random pairs of images and the transformation between them; the other images are unlabelled",
		Source: "Tonnaer et al. 2022, section 6", New: func() Supervision { return &Pairs{Count: 768, Images: 2} },
	},
	{
		Name: "paths", Doc: "random walks over the images; every step is a known transformation of one factor",
		Source: "Tonnaer et al. 2022, section 6", New: func() Supervision { return &Paths{Count: 50, Length: 100, Step: 3} },
	},
	{
		Name: "walks", Doc: "episodes of known actions, each a step of one factor up or down, drawn anew for every epoch",
		Source: "Quessard et al. 2020; Caselles-Dupré et al. 2019", New: func() Supervision { return NewWalks() },
	},
	{
		Name: "views", Doc: "all images of an object: one factor, an angle or a pose, takes all its values while the others are fixed",
		Source: "Tonnaer et al. 2022, section 6", New: func() Supervision { return &ObjectViews{} },
	},
	{
		Name: "groups", Doc: "groups of images and the transformations within them, from files of your own",
		Source: "Tonnaer et al. 2022, section 5", New: func() Supervision { return &Groups{Unlabelled: true} },
	},
	{
		Name: "changes", Doc: "pairs of images that differ in few factors, drawn anew for every epoch; which factors is not known",
		Source: "Locatello et al. 2020, section 3; Klindt et al. 2021, section 4", New: func() Supervision { return NewChanges() },
	},
	{
		Name: "labels", Doc: "the factor levels of a random fraction of the images, or labels from a file of your own",
		Source: "Zhang and Sugiyama 2024, appendix F.2", New: func() Supervision { return &FactorLabels{Fraction: 0.1, Share: 0.5} },
	},
	{
		Name: "similarity", Doc: "random pairs of images that share their level of one factor; nothing else is known",
		Source: "Zhang and Sugiyama 2024, appendix F.2; Shu et al. 2020", New: func() Supervision { return &Similarity{Count: 1000, Share: 0.5} },
	},
	{
		Name: "answers", Doc: "pairs of images from a file of your own, each with the answer same or different to the question whether they share their level of a factor",
		Source: "Zhang and Sugiyama 2024, appendix F.2; Wagstaff et al. 2001", New: func() Supervision { return &Answers{Share: 0.5, Union: true} },
	},
}}

// Choice is a data set in a config: `square`, or `{square: {size: 32, side: 8}}`.
type Choice struct {
	Name  string
	Value Builder
}

// DecodeConfig implements config.Decoder.
func (c *Choice) DecodeConfig(n *config.Node) error {
	if n.IsScalar() && strings.ContainsAny(n.Text(), `/\`) { // no name has these
		return n.Errorf("want the name of a data set, got a path; pictures of a folder are {folder: {path: %s}}, and arrays of a file {grid: {path: %s}}", n.Inline(), n.Inline())
	}
	return config.DecodeChoice(n, Registry, (*registry.Choice[Builder])(c))
}

// EncodeConfig implements config.Encoder.
func (c Choice) EncodeConfig() (any, error) { return config.EncodeChoice(registry.Choice[Builder](c)) }

// ConfigForms implements config.Former.
func (Choice) ConfigForms() []any { return []any{config.ChoicesOf(Registry)} }

// Prepare converts the files of a data set that is a [Preparer], and does nothing for other sets.
func (c Choice) Prepare(ctx context.Context, progress Progress) error {
	if p, ok := c.Value.(Preparer); ok {
		return p.Prepare(ctx, progress)
	}
	return nil
}

// Build builds the chosen data set. It returns an error for a set without images or factors, and for factors that
// [factor.Validate] refuses. Impossible numbers of images with unknown levels ([Incomplete]) are errors too.
func (c Choice) Build(seed uint64) (Dataset, error) {
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
		return nil, fmt.Errorf("dataset %s has %d images of %d x %d x %d; want 1 or more of each", d.Name(), d.Len(), h, w, channels)
	case len(d.Factors()) == 0:
		return nil, fmt.Errorf("dataset %s has no factors; want at least one, of one level if nothing is known about the images", d.Name())
	}
	if err := factor.Validate(d.Factors()); err != nil {
		return nil, fmt.Errorf("dataset %s: %w", d.Name(), err)
	}
	if err := checkMissing(d); err != nil {
		return nil, fmt.Errorf("dataset %s: %w", d.Name(), err)
	}
	return d, nil
}

// Register adds a data set to the names for configs. Call it before a config is read. A taken name is an error.
func Register(e registry.Entry[Builder]) error { return Registry.Register(e) }

// Named returns a data set by name with its defaults.
func Named(name string) (Choice, error) {
	c, err := Registry.Named(name)
	return Choice(c), err
}

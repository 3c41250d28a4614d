package datasets

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/fetch"
)

// DSprites is dSprites (Matthey et al. 2017), 737,280 images of a white shape on black, 64 x 64 pixels, as published. Its factors are
// those of [Sprites], in the same order. Orientations are evenly spread from 0 to 2 pi with both ends: the last angle is the first
// one again.
//
// Variants follow Locatello et al. 2019, with three channels. What is random differs by image and by the seed of the experiment, and is the same
// whenever the image is seen:
//
//   - color: the image times one random number from 0.5 to 1 for each channel
//   - noise: a random number from 0 to 1 is added to each pixel and channel, and sums above 1 become 1
//   - scream: the background is a random part of a picture, averaged with a random colour; the shape inverts it
//
// Files of smaller grids of the same factors are read, too.
type DSprites struct {
	Variant  string `yaml:"variant" doc:"plain, color (a random colour), noise (random pixels) or scream (parts of a picture as background)"`
	Scream   string `yaml:"scream" doc:"picture file of the variant scream; empty: the one that is fetched, The Scream by Edvard Munch"`
	Channels int    `yaml:"channels" doc:"of the variant plain: 1, or 3 equal channels for models of colour images; other variants have 3"`
}

const (
	dspritesNPZ  = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
	dspritesHDF5 = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.hdf5"
	screamFile   = "scream.jpg"
	dspritesURL  = "https://github.com/deepmind/dsprites-dataset/raw/master/"
)

// The variants of dSprites.
const (
	plainSprites  = "plain"
	colourSprites = "color"
	noisySprites  = "noise"
	screamSprites = "scream"
)

var spriteVariants = []string{plainSprites, colourSprites, noisySprites, screamSprites}

// Origin says where dSprites comes from. The picture of the variant scream is one of its files only if it is needed.
func (d *DSprites) Origin() Origin {
	return Origin{
		Files: []fetch.File{
			{Name: dspritesNPZ, URL: dspritesURL + dspritesNPZ},
			{
				Name: dspritesHDF5, URL: dspritesURL + dspritesHDF5, Instead: dspritesNPZ, Size: 28024106,
				SHA256: "729fa22e884c9c500e1f17415d580746b4c5894fbbb780a1319bbcfa39a745bb", MD5: "b331c4447a651c44bf5e8ae09022e230",
			},
			d.screamSource(),
		},
		Licence: "Apache 2.0",
		Citation: "Loic Matthey, Irina Higgins, Demis Hassabis and Alexander Lerchner: dSprites: Disentanglement testing Sprites dataset. " +
			"https://github.com/deepmind/dsprites-dataset, 2017",
		Bytes: 737280 * (64*64 + 5*4), Version: 1,
	}
}

// screamSource is the picture of the variant scream.
func (d *DSprites) screamSource() fetch.File {
	return fetch.File{
		Name: screamFile, URL: "https://upload.wikimedia.org/wikipedia/commons/f/f4/The_Scream.jpg",
		Optional: d.variant() != screamSprites || d.Scream != "",
	}
}

// variant returns the variant; empty, in Go code that says nothing, is plain.
func (d *DSprites) variant() string {
	if d.Variant == "" {
		return plainSprites
	}
	return d.Variant
}

// Validate checks the settings.
func (d *DSprites) Validate() error {
	switch {
	case !slices.Contains(spriteVariants, d.variant()):
		return config.Invalid("variant", "%q is unknown; want %s", d.Variant, strings.Join(spriteVariants, ", "))
	case d.Channels < 0 || d.Channels > 3 || d.Channels == 2: // 0, in Go code that says nothing, is 1, or 3
		return config.Invalid("channels", "%d is out of range; want 1 or 3", d.Channels)
	case d.Scream != "" && d.variant() != screamSprites:
		return config.Invalid("scream", "%s: only the variant scream has a picture; want variant: scream", d.Scream)
	}
	return nil
}

// Prepare converts the files.
func (d *DSprites) Prepare(ctx context.Context, progress Progress) error {
	return prepare(ctx, progress, func(ctx context.Context) (Dataset, error) { return d.build(ctx, 0) })
}

// Build opens the converted set. The seed is that of the variants.
func (d *DSprites) Build(seed uint64) (Dataset, error) { return d.build(context.Background(), seed) }

func (d *DSprites) build(ctx context.Context, seed uint64) (Dataset, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	origin := d.Origin()
	origin.Files = slices.DeleteFunc(origin.Files, func(f fetch.File) bool { return f.Name == screamFile }) // it is not converted
	set, err := buildPublic(ctx, "dsprites", "", origin, convertDSprites)
	if err != nil {
		return nil, err
	}
	shapes := set.(*stored)
	if d.variant() == plainSprites && d.Channels != 3 {
		return shapes, nil
	}
	v := &spriteVariant{stored: shapes, variant: d.variant(), seed: seed}
	if v.variant == screamSprites {
		if v.picture, err = d.openScream(ctx, v.shape); err != nil {
			return nil, fmt.Errorf("data set dsprites: scream: %w", err)
		}
	}
	return v, nil
}

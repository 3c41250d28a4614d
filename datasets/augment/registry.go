package augment

import (
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
)

// Registry lists the operations that a pipeline can name.
var Registry = &registry.Registry[Op]{Kind: "augmentation", Entries: []registry.Entry[Op]{
	{Name: "jitter", Doc: "change brightness, contrast, saturation and hue at random, in random order",
		New: func() Op { return NewJitter() }},
	{Name: "flip", Doc: "mirror images left to right", New: func() Op { return &Flip{Chance{0.5}} }},
	{Name: "blur", Doc: "convolve with a Gaussian of random width",
		New: func() Op { return &Blur{Chance: Chance{1}, Kernel: 3, Sigma: [2]float64{1, 2}} }},
	{Name: "crop", Doc: "enlarge a random part of the image, of random size and shape, to the image's size",
		New: func() Op { return NewCrop() }},
	{Name: "grayscale", Doc: "turn colours into greys of equal lightness",
		New: func() Op { return &Grayscale{Chance{0.2}} }},
	{Name: "solarise", Doc: "invert light pixels",
		New: func() Op { return &Solarise{Chance: Chance{0.2}, Threshold: 0.5} }},
	{Name: "normalise", Doc: "subtract a mean from every channel and divide it by a standard deviation",
		New: func() Op { return NewNormalise() }},
}}

// Presets lists the pipelines that a config can name.
var Presets = &registry.Registry[Pipeline]{Kind: "pipeline", Entries: []registry.Entry[Pipeline]{
	{Name: "negative-free", Doc: "jitter, flip, blur and large crops, for sprites and other images that keep their pixels in [0, 1]",
		Source: "Cao et al. 2022, appendix A.1", New: func() Pipeline { return negativeFree() }},
	{Name: "negative-free-normalised",
		Doc:    "sprites views with ImageNet's mean and deviation, for colour images such as room",
		Source: "Cao et al. 2022, appendix A.1",
		New:    func() Pipeline { return append(negativeFree(), op("normalise", NewNormalise())) }},
	{Name: "byol", Doc: "jitter, greys, flip, blur and crops down to 8 % of the area",
		Source: "byol-pytorch (2022), its default", New: func() Pipeline {
			return Pipeline{
				op("jitter", &Jitter{Chance{0.3}, 0.8, 0.8, 0.8, 0.2}), op("grayscale", &Grayscale{Chance{0.2}}),
				op("flip", &Flip{Chance{0.5}}),
				op("blur", &Blur{Chance{0.2}, 3, [2]float64{1, 2}}), op("crop", cropFrom(0.08)), op("normalise", NewNormalise()),
			}
		}},
	{Name: "moco", Doc: "crops, greys, jitter and flip", Source: "He et al. 2020 (MoCo v1), the authors' code", New: func() Pipeline {
		return Pipeline{
			op("crop", cropFrom(0.2)), op("grayscale", &Grayscale{Chance{0.2}}),
			op("jitter", &Jitter{Chance{1}, 0.4, 0.4, 0.4, 0.4}),
			op("flip", &Flip{Chance{0.5}}), op("normalise", NewNormalise()),
		}
	}},
	{Name: "moco-v2", Doc: "crops, jitter, greys, blur and flip", Source: "Chen et al. 2020 (MoCo v2), the authors' code", New: func() Pipeline {
		return Pipeline{
			op("crop", cropFrom(0.2)), op("jitter", &Jitter{Chance{0.8}, 0.4, 0.4, 0.4, 0.1}),
			op("grayscale", &Grayscale{Chance{0.2}}),
			op("blur", &Blur{Chance{0.5}, 7, [2]float64{0.1, 2}}), op("flip", &Flip{Chance{0.5}}),
			op("normalise", NewNormalise()),
		}
	}},
	{Name: "barlow-twins", Doc: "crops, flip, jitter, greys and blur: the first view of the authors' code",
		Source: "Zbontar et al. 2021", New: func() Pipeline { return barlowTwins(1, 0) }},
	{Name: "barlow-twins-second", Doc: "the first view with little blur and solarised images: the authors' second view",
		Source: "Zbontar et al. 2021", New: func() Pipeline { return barlowTwins(0.1, 0.2) }},
}}

func op(name string, o Op) Choice { return Choice{Name: name, Value: o} }

// negativeFree is the pipeline of Cao et al. 2022 without its normalisation.
func negativeFree() Pipeline {
	return Pipeline{
		op("jitter", &Jitter{Chance{0.3}, 0.8, 0.8, 0.8, 0.2}), op("flip", &Flip{Chance{0.5}}),
		op("blur", &Blur{Chance{0.2}, 3, [2]float64{1, 2}}), op("crop", cropFrom(0.6)),
	}
}

func barlowTwins(blur, solarise float64) Pipeline {
	return Pipeline{
		op("crop", cropFrom(0.08)), op("flip", &Flip{Chance{0.5}}), op("jitter", &Jitter{Chance{0.8}, 0.4, 0.4, 0.2, 0.1}),
		op("grayscale", &Grayscale{Chance{0.2}}), op("blur", &Blur{Chance{blur}, 7, [2]float64{0.1, 2}}),
		op("solarise", &Solarise{Chance{solarise}, 0.5}), op("normalise", NewNormalise()),
	}
}

func cropFrom(minScale float64) *Crop {
	c := NewCrop()
	c.Scale[0] = minScale
	return c
}

// RegisterPreset adds a pipeline that configs can name. Call it before reading a config. It returns an error if the
// name is already registered or the operations are in a wrong order. New must return a new list at every call.
func RegisterPreset(e registry.Entry[Pipeline]) error {
	if e.New != nil {
		if err := e.New().Validate(); err != nil {
			return fmt.Errorf("pipeline %q: %w", e.Name, err)
		}
	}
	return Presets.Register(e)
}

// DecodeConfig reads a list of operations or the name of a preset. null means no pipeline, and [] an empty pipeline.
func (p *Pipeline) DecodeConfig(n *config.Node) error {
	var pipeline Pipeline
	switch {
	case n.IsNull():
		*p = nil
		return nil
	case n.IsScalar():
		var name string
		if err := n.Decode(&name); err != nil {
			return err
		}
		preset, err := Presets.Lookup(name)
		if err != nil {
			return n.Errorf("%w", err)
		}
		pipeline = preset.New()
	case n.IsList():
		list := []Choice{}
		if err := n.Decode(&list); err != nil {
			return err
		}
		pipeline = list
	default:
		return n.Errorf("want a list of augmentations, or the name of a pipeline: %s", strings.Join(Presets.Names(), ", "))
	}
	if err := pipeline.Validate(); err != nil {
		return n.Errorf("%w", err)
	}
	*p = pipeline
	return nil
}

// EncodeConfig writes the operations with all their settings, or null.
func (p Pipeline) EncodeConfig() (any, error) {
	if p == nil {
		return nil, nil
	}
	return []Choice(p), nil
}

func (p Pipeline) ConfigForms() []any { return []any{config.Words(Presets.Names()), []Choice{}, nil} }

func (p Pipeline) ConfigType() string {
	return fmt.Sprintf("a list of augmentations (%s), or one of %s",
		strings.Join(Registry.Names(), ", "), strings.Join(Presets.Names(), ", "))
}

package supervision

import (
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
)

// Registry lists the kinds of supervision that a config can name.
var Registry = &registry.Registry[Kind]{Kind: "supervision", Entries: []registry.Entry[Kind]{
	{Name: "none", Doc: "no labels: every image is unlabelled", New: func() Kind { return &None{} }},
	{Name: "pairs", Doc: "random pairs of images and the transformation between them; the other images are unlabelled",
		Source: "Tonnaer et al. 2022, section 6", New: func() Kind { return &Pairs{Count: 768, Images: 2} }},
	{Name: "paths", Doc: "random walks over the images; every step is a known transformation of one factor",
		Source: "Tonnaer et al. 2022, section 6", New: func() Kind { return &Paths{Count: 50, Length: 100, Step: 3} }},
	{Name: "walks", Doc: "episodes of known actions, drawn anew for every epoch; each action steps one factor up or down",
		Source: "Quessard et al. 2020; Caselles-Dupré et al. 2019", New: func() Kind { return NewWalks() }},
	{Name: "views", Doc: "all images of an object: one factor (angle or pose) takes all values, the other factors are fixed",
		Source: "Tonnaer et al. 2022, section 6", New: func() Kind { return &ObjectViews{} }},
	{Name: "groups", Doc: "groups of images and the transformations within them, from your files",
		Source: "Tonnaer et al. 2022, section 5", New: func() Kind { return &Groups{Unlabelled: true} }},
	{Name: "changes", Doc: "pairs of images that differ in few, unknown factors, drawn anew for every epoch",
		Source: "Locatello et al. 2020, section 3; Klindt et al. 2021, section 4",
		New:    func() Kind { return NewChanges() }},
	{Name: "labels", Doc: "factor levels of a random fraction of the images, or labels from your file",
		Source: "Zhang and Sugiyama 2024, appendix F.2",
		New:    func() Kind { return &FactorLabels{Fraction: 0.1, Share: 0.5} }},
	{Name: "similarity", Doc: "random pairs of images with a common level of one factor, and no other labels",
		Source: "Zhang and Sugiyama 2024, appendix F.2; Shu et al. 2020",
		New:    func() Kind { return &Similarity{Count: 1000, Share: 0.5} }},
	{Name: "answers", Doc: "pairs of images from your file, answered same or different: do they share the level of a factor?",
		Source: "Zhang and Sugiyama 2024, appendix F.2; Wagstaff et al. 2001",
		New:    func() Kind { return &Answers{Share: 0.5, Union: true} }},
}}

// Register adds a kind of supervision that configs can name, before a config is read. A taken name is an error.
func Register(e registry.Entry[Kind]) error { return Registry.Register(e) }

// Choice is a kind of supervision in a config: `{pairs: {count: 768}}`.
type Choice struct {
	Name  string
	Value Kind
}

func (c *Choice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Registry, c)
}

func (c Choice) EncodeConfig() (any, error) { return config.EncodeChoice(c) }

func (Choice) ConfigForms() []any { return []any{config.ChoicesOf(Registry)} }

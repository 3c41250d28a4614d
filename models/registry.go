package models

import (
	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/registry"
)

// Registry lists the models that a config can name.
var Registry = &registry.Registry[Settings]{Kind: "model", Entries: []registry.Entry[Settings]{
	{Name: "encoder", Doc: "a network from images to codes, without a decoder: the losses alone say what it learns",
		Source: "Zhang and Sugiyama 2024, section 3", New: func() Settings { return NewEncoder() }},
	{Name: "ae", Doc: "deterministic autoencoder", Source: "Hinton and Salakhutdinov 2006", New: func() Settings { return NewAE() }},
	{Name: "vae", Doc: "variational autoencoder with a Gaussian posterior and a standard normal prior",
		Source: "Kingma and Welling 2014; settings of Locatello et al. 2019", New: func() Settings { return NewVAE() }},
	{Name: "delta-vae", Doc: "variational autoencoder with any list of latent spaces: circles, spheres, R^n",
		Source: "Perez Rey et al. 2020 (diffusion VAE)", New: func() Settings { return NewDeltaVAE() }},
	{Name: "lsbd-vae", Doc: "delta-vae that also learns from groups of images whose transformations are known",
		Source: "Tonnaer et al. 2022, section 5", New: func() Settings { return NewLSBDVAE() }},
	{Name: "cofhae", Doc: "autoencoder whose codes are a hierarchy of dimensions; COFHAE with the losses assignment and conditional-tc",
		Source: "Ross and Doshi-Velez 2021, section 5", New: func() Settings { return NewCOFHAE() }},
	{Name: "byol", Doc: "predicts from one view of an image what a slowly following target makes of another; with the loss cosine-regression",
		Source: "Grill et al. 2020; settings of Cao et al. 2022", New: func() Settings { return NewBYOL() }},
	{Name: "simsiam", Doc: "byol without a target; with the loss cosine-regression", Source: "Chen and He 2021", New: func() Settings { return NewSimSiam() }},
	{Name: "barlow-twins", Doc: "projections of two views that correlate column by column; with the loss cross-correlation",
		Source: "Zbontar et al. 2021", New: func() Settings { return NewBarlowTwins() }},
	{Name: "moco", Doc: "tells another view of an image from a queue of earlier ones; with the loss info-nce", Source: "He et al. 2020", New: func() Settings { return NewMoCo() }},
	{Name: "moco-v2", Doc: "moco with a hidden layer between code and key", Source: "Chen et al. 2020", New: func() Settings { return NewMoCo2() }},
}, Hints: map[string]string{
	"beta-vae":   "a beta-VAE is the model vae with a weight of the loss kl: losses: [reconstruction, {kl: {weight: 4}}]",
	"cc-vae":     "it is the model vae with a capacity of the loss kl: {kl: {weight: 1000, capacity: {to: 25, steps: 10000}}}",
	"factor-vae": factorVAE, "factorvae": factorVAE,
	"beta-tcvae": tcVAE, "tc-vae": tcVAE, "tcvae": tcVAE,
	"dip-vae": "a DIP-VAE is the model vae with the loss dip-i or dip-ii",
}}

const (
	factorVAE = "a FactorVAE is the model vae with the loss {tc: {estimator: adversarial}}, as in the config factorvae/chopsticks"
	tcVAE     = "a beta-TCVAE is the model vae with the loss tc, as in the config tcvae/chopsticks"
)

// Choice is a model in a config: `vae`, or `{vae: {latent: 4}}`.
type Choice struct {
	Name  string
	Value Settings
}

// DecodeConfig reads the choice from a config.
func (c *Choice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Registry, (*registry.Choice[Settings])(c))
}

// EncodeConfig writes the choice into a config.
func (c Choice) EncodeConfig() (any, error) { return config.EncodeChoice(registry.Choice[Settings](c)) }

// ConfigType says what can be chosen.
func (c Choice) ConfigType() string { return config.ChoiceType(Registry) }

// Register adds a model of one's own, which a config can then name. A program calls it before it
// reads a config; a second one of a name is an error.
func Register(e registry.Entry[Settings]) error { return Registry.Register(e) }

// Named returns a model by name with its defaults.
func Named(name string) (Choice, error) {
	c, err := Registry.Named(name)
	return Choice(c), err
}

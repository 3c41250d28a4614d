package models

import (
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
)

// Registry lists the models that a config can name.
var Registry = &registry.Registry[Settings]{Kind: "model", Entries: []registry.Entry[Settings]{
	{Name: "encoder", Doc: "a network from images to codes, without a decoder; losses: any about codes, such as variance and contraction",
		Source: "Zhang and Sugiyama 2024, section 3", New: func() Settings { return NewEncoder() }},
	{Name: "ae", Doc: "deterministic autoencoder; losses: reconstruction", Source: "Hinton and Salakhutdinov 2006",
		New: func() Settings { return NewAE() }},
	{Name: "vae", Doc: "variational autoencoder with a Gaussian posterior and a standard normal prior; losses: reconstruction, kl",
		Source: "Kingma and Welling 2014, equation 3; settings of Locatello et al. 2019",
		New:    func() Settings { return NewVAE() }},
	{Name: "delta-vae", Doc: "variational autoencoder with any list of latent spaces: circles, spheres, R^n; losses: reconstruction, kl",
		Source: "Perez Rey et al. 2020 (diffusion VAE)", New: func() Settings { return newDeltaVAE() }},
	{Name: "lsbd-vae", Doc: "delta-vae that also learns from groups of images with known transformations; losses: reconstruction, kl, lsbd",
		Source: "Tonnaer et al. 2022, section 5", New: func() Settings { return NewLSBDVAE() }},
	{Name: "quessard", Doc: "learns how actions rotate codes on a sphere, from the supervision walks; losses: reconstruction, entanglement",
		Source: "Quessard et al. 2020", New: func() Settings { return NewQuessard() }},
	{Name: "forward-vae", Doc: "vae with linear actions on its codes, from the supervision walks; losses: reconstruction, kl, prediction",
		Source: "Caselles-Dupré et al. 2019", New: func() Settings { return NewForwardVAE() }},
	{Name: "gvae", Doc: "VAE of image pairs that differ in a known number of factors; averages the posteriors in the other dimensions; losses: reconstruction, kl",
		Source: "Hosoya 2019; Locatello et al. 2020, section 4, equation 5", New: func() Settings { return newGVAE() }},
	{Name: "ml-vae", Doc: "gvae that averages the posteriors by their precisions; losses: reconstruction, kl",
		Source: "Bouchacourt et al. 2018; Locatello et al. 2020, section 4, equation 5",
		New:    func() Settings { return newMLVAE() }},
	{Name: "ada-gvae", Doc: "gvae that estimates the changed dimensions of every pair; losses: reconstruction, kl",
		Source: "Locatello et al. 2020, section 4, equations 5 to 7", New: func() Settings { return NewAdaGVAE() }},
	{Name: "ada-ml-vae", Doc: "ml-vae that estimates the changed dimensions of every pair; losses: reconstruction, kl",
		Source: "Locatello et al. 2020, section 4, equations 5 to 7", New: func() Settings { return newAdaMLVAE() }},
	{Name: "slow-vae", Doc: "VAE of pairs of images that lie near each other in most dimensions; losses: reconstruction, kl, slow",
		Source: "Klindt et al. 2021, equation 5", New: func() Settings { return newSlowVAE() }},
	{Name: "joint-vae", Doc: "vae with categorical and continuous codes; losses: reconstruction, kl with spaces: continuous and kl with spaces: categorical, with capacities",
		Source: "Dupont 2018, equation 7", New: func() Settings { return newJointVAE() }},
	{Name: "cascade-vae", Doc: "vae that opens its dimensions one by one, then categories, assigned to the images of each batch by cost; losses: reconstruction, kl",
		Source: "Jeong and Song 2019, equations 6 and 8", New: func() Settings { return newCascadeVAE() }},
	{Name: "cofhae", Doc: "autoencoder with a hierarchy of code dimensions; losses: reconstruction, assignment, conditional-tc",
		Source: "Ross and Doshi-Velez 2021, section 5.2, algorithm 2", New: func() Settings { return NewCOFHAE() }},
	{Name: "ice-beem", Doc: "energy-based model E(x) = f(x).g, where g depends on the labels of some factors or is 1; losses: score-matching",
		Source: "Khemakhem et al. 2020; without conditions Cao et al. 2022, table 1 (EBM)",
		New:    func() Settings { return NewICEBeeM() }},
	{Name: "byol", Doc: "predicts the projection of one view of an image by an EMA target from another view; losses: cosine-regression",
		Source: "Grill et al. 2020, equation 2; settings of Cao et al. 2022", New: func() Settings { return NewBYOL() }},
	{Name: "simsiam", Doc: "byol without a target; losses: cosine-regression",
		Source: "Chen and He 2021, equation 4", New: func() Settings { return NewSimSiam() }},
	{Name: "barlow-twins", Doc: "makes the projections of two views correlate only column by column; losses: cross-correlation",
		Source: "Zbontar et al. 2021, equation 1", New: func() Settings { return NewBarlowTwins() }},
	{Name: "moco", Doc: "tells another view of an image from a queue of other images; losses: info-nce",
		Source: "He et al. 2020, equation 1", New: func() Settings { return newMoCo() }},
	{Name: "moco-v2", Doc: "moco with a hidden layer between code and key; losses: info-nce",
		Source: "Chen et al. 2020", New: func() Settings { return NewMoCo2() }},
}, Hints: map[string]string{
	"beta-vae":     "a beta-VAE is the model vae with a weight of the loss kl: losses: [reconstruction, {kl: {weight: 4}}]",
	"cc-vae":       "it is the model vae with a capacity of the loss kl: {kl: {weight: 1000, capacity: {to: 25, steps: 10000}}}, as in the config cc-vae/square-paper",
	"annealed-vae": "it is the model vae with a capacity of the loss kl: {kl: {weight: 1000, capacity: {to: 25, steps: 10000}}}, as in the config cc-vae/square-paper",
	"factor-vae":   factorVAE, "beta-tcvae": tcVAE, "tc-vae": tcVAE,
	"autoencoder": "did you mean \"ae\"?", "variational-autoencoder": "did you mean \"vae\"?",
	"resnet": "networks are encoders of a model: {vae: {encoder: resnet18}}", "mlp": "networks are encoders of a model: {vae: {encoder: mlp}}",
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

func (c *Choice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Registry, c)
}

func (c Choice) EncodeConfig() (any, error) { return config.EncodeChoice(c) }

func (Choice) ConfigForms() []any { return []any{config.ChoicesOf(Registry)} }

// Register adds a model that configs can name. Call it before reading a config. It returns an error for a taken name.
func Register(e registry.Entry[Settings]) error { return Registry.Register(e) }

// Named returns a model by name with its defaults.
func Named(name string) (Choice, error) {
	c, err := Registry.Named(name)
	return Choice(c), err
}

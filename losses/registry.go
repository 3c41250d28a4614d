package losses

import "github.com/unravel-ml/unravel/internal/registry"

// Table lists the losses that a config can choose.
var Table = &registry.Table[Loss]{Kind: "loss", Entries: []registry.Entry[Loss]{
	{Name: "reconstruction", Doc: "how far images are from their reconstructions", Source: "Kingma and Welling 2014",
		New: func() Loss { return NewReconstruction() }},
	{Name: "kl", Doc: "divergence of the posteriors of the codes from their priors, summed over the latent spaces",
		Source: "Kingma and Welling 2014; for spheres Perez Rey et al. 2020, Tonnaer et al. 2022, section 5",
		New:    func() Loss { return NewKL() }},
	{Name: "lsbd", Doc: "distance of the codes of a labelled group from where its transformations put their common point",
		Source: "Tonnaer et al. 2022, section 5", New: func() Loss { return NewLSBD() }},
	{Name: "variance", Doc: "modularity: variance of every factor's sub-code where the factor is held",
		Source: "Zhang and Sugiyama 2024, example 4, equation 17", New: func() Loss { return NewVariance() }},
	{Name: "diameter", Doc: "modularity: largest distance within every factor's sub-code where the factor is held",
		Source: "Zhang and Sugiyama 2024, example 7, equation 25", New: func() Loss { return NewDiameter() }},
	{Name: "mpd", Doc: "modularity: half the mean distance within every factor's sub-code where the factor is held",
		Source: "Zhang and Sugiyama 2024, equation 24 with the mean", New: func() Loss { return NewMPD() }},
	{Name: "radius", Doc: "modularity: radius of the smallest ball around every factor's sub-code where the factor is held",
		Source: "Zhang and Sugiyama 2024, example 2", New: func() Loss { return NewRadius() }},
	{Name: "mad", Doc: "modularity: mean distance of every factor's sub-code from its geometric median where the factor is held",
		Source: "Zhang and Sugiyama 2024, example 3", New: func() Loss { return NewMAD() }},
	{Name: "contraction", Doc: "informativeness: how much closer the codes of two images are than their factors",
		Source: "Zhang and Sugiyama 2024, definition 9, equation 27", New: func() Loss { return NewContraction() }},
	{Name: "left-inverse", Doc: "informativeness: error of the best affine map from codes back to factors",
		Source: "Zhang and Sugiyama 2024, definition 8, equation 26", New: func() Loss { return NewLeftInverse() }},
	{Name: "tc", Doc: "total correlation of the codes, by a discriminator or from the posteriors of a batch",
		Source: "Kim and Mnih 2018 (FactorVAE); Chen et al. 2018 (beta-TCVAE)", New: func() Loss { return NewTC() }},
	{Name: "conditional-tc", Doc: "total correlation of the codes among the images in which they are active",
		Source: "Ross and Doshi-Velez 2021, section 5.2 (COFHAE)", New: func() Loss { return NewConditionalTC() }},
	{Name: "dip-i", Doc: "covariance of the posteriors' means against the identity", Source: "Kumar et al. 2018, equation 6 (DIP-VAE-I)",
		New: func() Loss { return NewDIP1() }},
	{Name: "dip-ii", Doc: "covariance of the codes against the identity", Source: "Kumar et al. 2018, equation 7 (DIP-VAE-II)",
		New: func() Loss { return NewDIP2() }},
	{Name: "hsic", Doc: "dependence of sub-codes on each other, or on the other factors, by kernels", Source: "Gretton et al. 2005",
		New: func() Loss { return NewHSIC() }},
}}

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
}}

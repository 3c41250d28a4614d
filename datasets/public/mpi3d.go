package public

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/arrays"
	"github.com/unravel-ml/unravel/internal/dims"
)

// MPI3D is MPI3D (Gondal et al. 2019): 1,036,800 images of an object that a robot arm moves, with 64 x 64 pixels and
// three channels. The variants are a simple rendering (toy), a realistic rendering (realistic) and photographs (real).
// The factors are object_color, object_shape and object_size (categorical, categorical, ordinal), camera_height
// (ordinal), background_color (categorical), and horizontal_axis and vertical_axis (ordinal). The last varies fastest.
//
// The number of images determines the sizes: 6 colours, 6 shapes, 2, 3, 3, 40 and 40. The files of the challenge, with
// 460,800 images, have 4 colours and 4 shapes.
type MPI3D struct {
	Variant string `yaml:"variant" doc:"toy, realistic or real"`
	Sizes   []int  `yaml:"sizes" doc:"numbers of levels of the seven factors; empty: as in the published file with this number of images"`
}

// mpi3DMD5 lists the MD5 hashes of each variant's files.
var mpi3DMD5 = map[string]string{
	"toy": "55889cb7c7dfc655d6e0277beee88868", "realistic": "59a6225b88b635365f70c91b3e52f70f", "real": "0f33f609918fb5c97996692f91129802",
}

// mpi3DSizes lists the sizes of the published files: the final files and the files of the challenge.
var mpi3DSizes = [][]int{{6, 6, 2, 3, 3, 40, 40}, {4, 4, 2, 3, 3, 40, 40}}

// variant returns the variant; the empty string, the zero value in Go code, is toy.
func (m *MPI3D) variant() string { return cmp.Or(m.Variant, "toy") }
func (m *MPI3D) file() string    { return "mpi3d_" + m.variant() + ".npz" }

func (m *MPI3D) Origin() datasets.Origin {
	return datasets.Origin{
		Files: []source.File{{
			Name: m.file(), URL: "https://storage.googleapis.com/disentanglement_dataset/Final_Dataset/" +
				m.file(), MD5: mpi3DMD5[m.variant()],
		}},
		Licence: "CC BY 4.0",
		Citation: "Muhammad Waleed Gondal, Manuel Wuthrich, Djordje Miladinovic, Francesco Locatello, Martin Breidt, Valentin Volchkov, Joel Akpo, Olivier Bachem, " +
			"Bernhard Schölkopf and Stefan Bauer: On the Transfer of Inductive Bias from Simulation to the Real World: a New Disentanglement Dataset. NeurIPS 2019",
		Bytes: 1036800 * (64*64*3 + 7*4), Version: 1,
	}
}

func (m *MPI3D) Validate() error {
	if mpi3DMD5[m.variant()] == "" {
		return config.Invalid("variant", "%q is not known; want toy, realistic or real", m.Variant)
	}
	if len(m.Sizes) != 0 && len(m.Sizes) != len(mpi3DSizes[0]) {
		return config.Invalid("sizes", "has %d numbers; want 7, one for each factor", len(m.Sizes))
	}
	for i, s := range m.Sizes {
		if s < 1 || s > factor.MaxSize {
			return config.Invalid("sizes", "number %d is %d; want 1 to %d", i, s, factor.MaxSize)
		}
	}
	return nil
}

func (m *MPI3D) Prepare(ctx context.Context, progress datasets.Progress) error {
	return prepare(ctx, progress, m.build)
}

func (m *MPI3D) Build(uint64) (datasets.Dataset, error) { return m.build(context.Background()) }

func (m *MPI3D) build(ctx context.Context) (datasets.Dataset, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	options := "variant=" + m.variant()
	if len(m.Sizes) > 0 {
		options += fmt.Sprint(" sizes=", m.Sizes)
	}
	return buildPublic(ctx, "mpi3d", options, m.Origin(), m.convert)
}

// convert reads the images from the npz file.
func (m *MPI3D) convert(ctx context.Context, dir string, w *cache.Writer) error {
	f, err := arrays.Open(filepath.Join(dir, m.file()))
	if err != nil {
		return err
	}
	defer f.Close() // nothing was written
	images, err := openImages(f, "images", 64, 64, 3)
	if err != nil {
		return err
	}
	n := images.Shape[0]
	sizes, err := m.sizes(n)
	if err != nil {
		return fmt.Errorf("%v: %w", images, err)
	}
	factors := []factor.Factor{
		{Name: "object_color", Kind: factor.Categorical}, {Name: "object_shape", Kind: factor.Categorical},
		{Name: "object_size", Kind: factor.Ordinal},
		{Name: "camera_height", Kind: factor.Ordinal}, {Name: "background_color", Kind: factor.Categorical},
		{Name: "horizontal_axis", Kind: factor.Ordinal}, {Name: "vertical_axis", Kind: factor.Ordinal},
	}
	for i, s := range sizes {
		factors[i].Size = s
	}
	if err := w.Begin(n, 64, 64, 3, factors); err != nil {
		return err
	}
	return copyImages(ctx, images, w, nil)
}

// sizes returns the sizes of the factors of n images.
func (m *MPI3D) sizes(n int) ([]int, error) {
	known := mpi3DSizes
	if len(m.Sizes) > 0 {
		known = [][]int{m.Sizes}
	}
	i := slices.IndexFunc(known, func(sizes []int) bool {
		total, err := dims.Count(sizes, 1)
		return err == nil && total == n
	})
	if i < 0 && len(m.Sizes) > 0 {
		return nil, fmt.Errorf("%d images are not the full grid of sizes %v", n, m.Sizes)
	}
	if i < 0 {
		return nil, fmt.Errorf("%d images; want 1036800 or 460800, or the option sizes with seven numbers of levels", n)
	}
	return known[i], nil
}

package datasets

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/fetch"
)

// SmallNORB is SmallNORB (LeCun, Huang and Bottou 2004), 48,600 grey photographs of toys, both parts, training first: the left ones of the pairs,
// in the order of the files. Its factors are category, elevation, azimuth and lighting; the instance within a category is a nuisance, so that ten images
// have the same levels.
type SmallNORB struct {
	Part     string      `yaml:"part" doc:"all, training or testing, whose instances are not the same"`
	Instance bool        `yaml:"instance" doc:"the instance (10 of each category) is a factor too, after category; otherwise it varies without being one"`
	Size     PictureSize `yaml:"size" doc:"side to which the images of 96 x 96 pixels are resized, by Pillow's Lanczos filter; 0: not at all"`
}

// norbFactors are the columns of labels.
var norbFactors = []factor.Factor{
	{Name: "category", Size: 5, Kind: factor.Categorical},
	{Name: "instance", Size: 10, Kind: factor.Categorical},
	{Name: "elevation", Size: 9, Kind: factor.Ordinal, Values: spread(9, 30, 70)},
	{Name: "azimuth", Size: 18, Kind: factor.Circular, Values: spread(18, 0, 340)},
	{Name: "lighting", Size: 6, Kind: factor.Categorical},
}

// norbParts are the parts and the beginnings of the names of their files.
var norbParts = []struct{ name, prefix string }{
	{"training", "smallnorb-5x46789x9x18x6x2x96x96-training-"},
	{"testing", "smallnorb-5x01235x9x18x6x2x96x96-testing-"},
}

const norbURL = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"

// Origin says where SmallNORB comes from.
func (s *SmallNORB) Origin() Origin {
	file := func(part int, kind string, size int64, sum string) fetch.File {
		name := norbParts[part].prefix + kind + ".mat.gz"
		return fetch.File{Name: name, URL: norbURL + name, Size: size, SHA256: sum}
	}
	side := int64(norbSide)
	if len(s.Size) == 2 {
		side = int64(s.Size[0])
	}
	return Origin{
		Files: []fetch.File{
			file(0, "dat", 131896188, "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873"),
			file(0, "cat", 348, "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa"),
			file(0, "info", 71052, "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32"),
			file(1, "dat", 130799817, "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474"),
			file(1, "cat", 347, "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff"),
			file(1, "info", 10428, "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2"),
		},
		Licence:  "none is stated",
		Citation: "Yann LeCun, Fu Jie Huang and Leon Bottou: Learning methods for generic object recognition with invariance to pose and lighting. CVPR 2004",
		Terms:    "for research; may not be sold",
		Bytes:    48600 * (side*side + 4*6), Version: 1,
	}
}

// norbSide is the side of the stored images.
const norbSide = 96

// Validate checks the settings.
func (s *SmallNORB) Validate() error {
	if !s.Size.valid() || len(s.Size) == 2 && s.Size[0] != s.Size[1] {
		return config.Invalid("size", "want a side of 1 to %d, or 0 for the images as they are, got %v", maxSide, []int(s.Size))
	}
	if s.Part != "all" && s.Part != norbParts[0].name && s.Part != norbParts[1].name {
		return config.Invalid("part", "unknown part %q; want all, training or testing", s.Part)
	}
	return nil
}

// Prepare converts the files.
func (s *SmallNORB) Prepare(ctx context.Context, progress Progress) error {
	return prepare(ctx, progress, s.build)
}

// Build opens the converted set.
func (s *SmallNORB) Build(uint64) (Dataset, error) { return s.build(context.Background()) }

func (s *SmallNORB) build(ctx context.Context) (Dataset, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	set, err := cachedPublic(ctx, "smallnorb", fmt.Sprintf("size=%v", []int(s.Size)), s.Origin(), s.convert)
	if err != nil {
		return nil, err
	}
	drop := []string{"part"}
	if !s.Instance {
		drop = append(drop, "instance")
	}
	part := slices.IndexFunc(norbParts, func(p struct{ name, prefix string }) bool { return p.name == s.Part })
	return selected(set, drop, func(levels []int32) bool { return part < 0 || int(levels[0]) == part })
}

// convert reads both parts, each on a core of its own. What is cached has the part as its first factor.
func (s *SmallNORB) convert(ctx context.Context, dir string, w *cache.Writer) error {
	var levels []int32
	starts := make([]int, len(norbParts)+1) // the first row of each part
	for i, p := range norbParts {
		rows, err := norbLabels(filepath.Join(dir, p.prefix+"cat.mat.gz"), filepath.Join(dir, p.prefix+"info.mat.gz"))
		if err != nil {
			return err
		}
		for r := 0; r < len(rows); r += len(norbFactors) {
			levels = append(append(levels, int32(i)), rows[r:][:len(norbFactors)]...)
		}
		starts[i+1] = starts[i] + len(rows)/len(norbFactors)
	}
	side := norbSide
	if len(s.Size) == 2 {
		side = s.Size[0]
	}
	part := factor.Factor{Name: "part", Size: len(norbParts), Kind: factor.Categorical}
	if err := w.Begin(starts[len(norbParts)], side, side, 1, append([]factor.Factor{part}, norbFactors...)); err != nil {
		return err
	}
	if err := w.SetLevels(levels); err != nil {
		return err
	}
	return forEach(ctx, len(norbParts), func() func(int) error {
		return func(i int) error {
			path := filepath.Join(dir, norbParts[i].prefix+"dat.mat.gz")
			return norbImages(path, starts[i], starts[i+1]-starts[i], side, w.WriteAt)
		}
	})
}

// norbImages writes the left images of count pairs from a row on.
func norbImages(path string, row, count, side int, write func(row int, pixels []uint8) error) error {
	n, err := openNORB(path, norbBytes)
	if err != nil {
		return err
	}
	defer n.close()
	if !slices.Equal(n.dims, []int{count, 2, norbSide, norbSide}) {
		return fmt.Errorf("%s has the dimensions %v; want [%d 2 %d %d], a pair for each of the %d labels", n.name, n.dims, count, norbSide, norbSide, count)
	}
	f := fitter{h: side, w: side, c: 1, fit: fitStretch, filter: filterOf("lanczos")}
	pair, pixels := make([]uint8, 2*norbSide*norbSide), make([]uint8, side*side)
	for i := range count {
		if err := n.read(pair); err != nil {
			return err
		}
		f.into(pixels, pair[:norbSide*norbSide], norbSide, norbSide)
		if err := write(row+i, pixels); err != nil {
			return err
		}
	}
	return n.end()
}

// selected returns the images of a cached set whose levels are wanted, without some of the factors.
func selected(set *cache.Set, drop []string, want func(levels []int32) bool) (*stored, error) {
	d := fromCache(set)
	k := len(set.Factors)
	var keep []int
	d.factors, d.levels = nil, nil
	for j, f := range set.Factors {
		if !slices.Contains(drop, f.Name) {
			keep, d.factors = append(keep, j), append(d.factors, f)
		}
	}
	d.levels = make([]int32, 0, set.Count*len(keep))
	for i := range set.Count {
		row := set.Levels[i*k:][:k]
		if !want(row) {
			continue
		}
		d.rows = append(d.rows, int32(i))
		for _, j := range keep {
			d.levels = append(d.levels, row[j])
		}
	}
	d.n = len(d.rows)
	if d.n == set.Count {
		d.rows = nil
	}
	if d.n == 0 {
		return nil, fmt.Errorf("data set %s has no image of what is chosen; want another choice than without %s", set.Name, strings.Join(drop, ", "))
	}
	d.missing = countMissing(d.levels, len(keep))
	return d, nil
}

package public

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/archive"
	"github.com/unravel-ml/unravel/internal/disk"
)

// CelebA is CelebA (Liu et al. 2015): 202,599 aligned photographs of faces, 218 x 178 pixels, sorted by number. Its
// factors are the 40 attributes; a face with the attribute has level 1. It is not a grid: most combinations have no
// image, and some have several.
type CelebA struct {
	Split  string               `yaml:"split" doc:"all, train, valid or test, as list_eval_partition.txt divides the images"`
	Crop   int                  `yaml:"crop" doc:"side of the central square to cut before resizing, usually 148 or 140; 0: no cut, and faces become broader"`
	Size   datasets.PictureSize `yaml:"size" doc:"resize images to this side or [height, width]; 0: keep their size"`
	Filter string               `yaml:"filter" doc:"resizing filter, in Pillow's names: box, bilinear, hamming, bicubic or lanczos"`
}

const (
	celebaImages     = "img_align_celeba.zip"
	celebaAttributes = "list_attr_celeba.txt"
	celebaPartition  = "list_eval_partition.txt"
	celebaPage       = "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html"
	celebaHeight     = 218
	celebaWidth      = 178
)

var celebaSplits = []string{"train", "valid", "test"}

// Origin returns the source of CelebA: a web page for a manual download.
func (c *CelebA) Origin() datasets.Origin {
	h, w := celebaHeight, celebaWidth
	if c.Crop > 0 {
		h, w = c.Crop, c.Crop
	}
	if len(c.Size) == 2 {
		h, w = c.Size[0], c.Size[1]
	}
	return datasets.Origin{
		Files: []source.File{
			{Name: celebaImages, URL: celebaPage, Size: 1443490838,
				SHA256: "46fb89443c578308acf364d7d379fe1b9efb793042c0af734b6112e4fd3a8c74"},
			{Name: celebaAttributes, URL: celebaPage, Size: 26721026,
				SHA256: "f0e5da289d5ccf75ffe8811132694922b60f2af59256ed362afa03fefba324d0"},
			{Name: celebaPartition, URL: celebaPage, MD5: "d32c9cbf5e040fd4025c592c306e6668"},
		},
		Licence:  "none is stated",
		Citation: "Ziwei Liu, Ping Luo, Xiaogang Wang and Xiaoou Tang: Deep learning face attributes in the wild. ICCV 2015",
		Terms:    "for non-commercial research; the page asks to bring the files by hand",
		Bytes:    202599 * (3*int64(h)*int64(w) + 4*41), Version: 1,
	}
}

func (c *CelebA) Validate() error {
	switch {
	case c.Split != "all" && !slices.Contains(celebaSplits, c.Split):
		return config.Invalid("split", "unknown split %q; want all, train, valid or test", c.Split)
	case c.Crop < 0 || c.Crop > celebaWidth:
		return config.Invalid("crop", "%d is out of range; want 1 to %d, or 0 for none", c.Crop, celebaWidth)
	}
	return cmp.Or(c.Size.Check(), pictures.CheckFilter(c.Filter))
}

func (c *CelebA) Prepare(ctx context.Context, progress datasets.Progress) error {
	return prepare(ctx, progress, c.build)
}

func (c *CelebA) Build(uint64) (datasets.Dataset, error) { return c.build(context.Background()) }

func (c *CelebA) build(ctx context.Context) (datasets.Dataset, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	options := fmt.Sprintf("crop=%d size=%v filter=%s", c.Crop, []int(c.Size), c.Filter)
	set, err := cachedPublic(ctx, "celeba", options, c.Origin(), c.convert)
	if err != nil {
		return nil, err
	}
	split := slices.Index(celebaSplits, c.Split)
	return subset(set, []string{"partition"}, func(levels []int32) bool { return split < 0 || int(levels[0]) == split })
}

// convert decodes the pictures of the archive. The cached set has the partition as its first factor.
func (c *CelebA) convert(ctx context.Context, dir string, w *cache.Writer) error {
	attributes, err := readCelebAttributes(filepath.Join(dir, celebaAttributes))
	if err != nil {
		return err
	}
	parts, err := readCelebPartition(filepath.Join(dir, celebaPartition), attributes.images)
	if err != nil {
		return err
	}
	z, err := archive.OpenZip(filepath.Join(dir, celebaImages), archive.Limits{Member: maxZippedPicture})
	if err != nil {
		return err
	}
	defer z.Close() // nothing was written
	members := map[string]int{}
	for i, name := range z.Names() {
		members[path.Base(name)] = i
	}
	k := len(attributes.names)
	p := zippedPictures{name: celebaImages, zip: z, h: celebaHeight, w: celebaWidth, crop: c.Crop, size: c.Size,
		filter: c.Filter}
	levels := make([]int32, 0, (k+1)*len(attributes.images))
	for i, name := range attributes.images {
		member, ok := members[name]
		if !ok {
			return fmt.Errorf("%s: %s is missing, which %s names; want a picture for each of its %d rows",
				celebaImages, name, celebaAttributes, len(attributes.images))
		}
		p.members = append(p.members, member)
		levels = append(append(levels, parts[i]), attributes.levels[i*k:][:k]...)
	}
	factors := []factor.Factor{{Name: "partition", Size: len(celebaSplits), Kind: factor.Categorical}}
	for _, name := range attributes.names {
		factors = append(factors, factor.Factor{Name: name, Size: 2, Kind: factor.Categorical})
	}
	return p.convert(ctx, w, factors, levels)
}

// celebTable is the table of attributes.
type celebTable struct {
	names  []string // names of the attributes
	images []string
	levels []int32 // images x attributes, 0 or 1
}

// Limits of the tables of CelebA.
const (
	maxCelebAttributes = 1000
	maxCelebLine       = 1 << 16
)

// celebLines calls line with the number, from 1, and the words of each line of a table.
func celebLines(file string, line func(n int, words []string) error) error {
	f, err := disk.Open(file)
	if err != nil {
		return err
	}
	defer f.Close() // nothing was written
	s := bufio.NewScanner(f)
	s.Buffer(make([]byte, 0, maxCelebLine), maxCelebLine)
	n := 0
	for s.Scan() {
		n++
		words := strings.Fields(s.Text())
		if len(words) == 0 {
			continue
		}
		if err := line(n, words); err != nil {
			return fmt.Errorf("%s: line %d: %w", filepath.Base(file), n, err)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s: line %d: %w", filepath.Base(file), n+1, err)
	}
	return nil
}

// readCelebAttributes reads the table of attributes: a count, a line of attribute names, and a row per image with its
// name and -1 or 1 for each attribute.
func readCelebAttributes(file string) (*celebTable, error) {
	t := &celebTable{}
	count := -1
	seen := map[string]bool{}
	err := celebLines(file, func(_ int, words []string) error {
		switch {
		case count < 0:
			var err error
			if count, err = strconv.Atoi(words[0]); err != nil || count < 1 || len(words) != 1 {
				return fmt.Errorf("%q is not a number of images; want one", strings.Join(words, " "))
			}
			return nil
		case t.names == nil:
			if len(words) > maxCelebAttributes {
				return fmt.Errorf("there are %d attributes; want at most %d", len(words), maxCelebAttributes)
			}
			t.names = words
			return nil
		case len(words) != len(t.names)+1:
			return fmt.Errorf("%s has %d values; want one for each of the %d attributes", words[0], len(words)-1, len(t.names))
		case seen[words[0]]:
			return fmt.Errorf("%s has two rows; want one", words[0])
		}
		seen[words[0]] = true
		t.images = append(t.images, words[0])
		for i, v := range words[1:] {
			level := int32(0)
			switch v {
			case "1":
				level = 1
			case "-1":
			default:
				return fmt.Errorf("%s has %q for %s; want -1 or 1", words[0], v, t.names[i])
			}
			t.levels = append(t.levels, level)
		}
		return nil
	})
	if err == nil && (len(t.images) != count || count < 1) {
		err = fmt.Errorf("%s: its first line says %d images, and it has %d rows",
			filepath.Base(file), max(count, 0), len(t.images))
	}
	return t, err
}

// readCelebPartition reads the partition of each image: 0 (train), 1 (valid) or 2 (test).
func readCelebPartition(file string, images []string) ([]int32, error) {
	parts := make(map[string]int32, len(images))
	err := celebLines(file, func(_ int, words []string) error {
		part := -1
		if len(words) == 2 {
			part = slices.Index([]string{"0", "1", "2"}, words[1])
		}
		if part < 0 {
			return fmt.Errorf("%q; want the name of an image and 0 (train), 1 (valid) or 2 (test)", strings.Join(words, " "))
		}
		parts[words[0]] = int32(part)
		return nil
	})
	if err != nil {
		return nil, err
	}
	list := make([]int32, len(images))
	for i, name := range images {
		part, ok := parts[name]
		if !ok {
			return nil, fmt.Errorf("%s: %s has no row; want one for each of the %d images of %s",
				filepath.Base(file), name, len(images), celebaAttributes)
		}
		list[i] = part
	}
	return list, nil
}

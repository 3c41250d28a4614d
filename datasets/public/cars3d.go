package public

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/painting"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/archive"
	"github.com/unravel-ml/unravel/internal/arrays"
	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/matfile"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/resample"
)

// Cars3D is Cars3D (Reed et al. 2015) as published: 183 car models from 24 azimuths and 4 elevations, 17,568 images
// with three channels. Its factors are the factors of its twin, drawn.Cars, in the same order. The file list.txt in the
// archive numbers the cars.
type Cars3D struct {
	Size   int    `yaml:"size" doc:"height and width of the images: 64, or 128 as published"`
	Filter string `yaml:"filter" doc:"filter for shrinking images to 64: lanczos, as in disentanglement_lib, or bilinear"`
}

const (
	cars3DFile   = "nips2015-analogy-data.tar.gz"
	cars3DFolder = "data/cars/"
	cars3DSide   = 128 // side of the published images
	cars3DTurn   = 24  // number of azimuths
	cars3DHeight = 4   // number of elevations
	maxCars3D    = 1 << 12
)

func (*Cars3D) Origin() datasets.Origin {
	return datasets.Origin{
		Files: []source.File{{Name: cars3DFile, URL: "http://www.scottreed.info/files/" + cars3DFile,
			MD5: "4e866a7919c1beedf53964e6f7a23686"}},
		Licence:  "none is stated",
		Citation: "Scott Reed, Yi Zhang, Yuting Zhang and Honglak Lee: Deep Visual Analogy-Making. NeurIPS 2015",
		Bytes:    17568 * (64*64*3 + 3*4), Version: 1,
	}
}

// withDefaults fills in settings that Go code may leave empty.
func (c Cars3D) withDefaults() Cars3D { return Cars3D{cmp.Or(c.Size, 64), cmp.Or(c.Filter, "lanczos")} }

func (c *Cars3D) Validate() error {
	d := c.withDefaults()
	if d.Size != 64 && d.Size != cars3DSide {
		return config.Invalid("size", "%d is not available; want 64 or %d", d.Size, cars3DSide)
	}
	if d.Filter != "lanczos" && d.Filter != "bilinear" {
		return config.Invalid("filter", "%q is not available; want lanczos or bilinear", d.Filter)
	}
	return nil
}

func (c *Cars3D) Prepare(ctx context.Context, progress datasets.Progress) error {
	return prepare(ctx, progress, c.build)
}

func (c *Cars3D) Build(uint64) (datasets.Dataset, error) { return c.build(context.Background()) }

func (c *Cars3D) build(ctx context.Context) (datasets.Dataset, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	d := c.withDefaults()
	options := fmt.Sprint("size=", d.Size)
	if d.Size != cars3DSide {
		options += " filter=" + d.Filter
	}
	return buildPublic(ctx, "cars3d", options, c.Origin(), d.convert)
}

// convert reads the archive twice: first the list of cars, then the images.
func (c *Cars3D) convert(ctx context.Context, dir string, w *cache.Writer) error {
	file := filepath.Join(dir, cars3DFile)
	list, err := readCarList(file)
	if err != nil {
		return err
	}
	factors := []factor.Factor{
		{Name: "elevation", Size: cars3DHeight, Kind: factor.Ordinal},
		{Name: "azimuth", Size: cars3DTurn, Kind: factor.Circular, Values: painting.WholeTurn(cars3DTurn)},
		{Name: "object", Size: len(list), Kind: factor.Categorical},
	}
	if err := w.Begin(cars3DHeight*cars3DTurn*len(list), c.Size, c.Size, 3, factors); err != nil {
		return err
	}
	done := make([]bool, len(list))
	car := &carImages{size: c.Size, cars: len(list), w: w, resizers: make([]resample.Resizer, parallel.Threads())}
	car.filter, _ = resample.Parse(c.Filter)
	err = archive.WalkTar(file, archive.Limits{}, func(name string, size int64, r io.Reader) error {
		folder, base := path.Split(name)
		i := slices.Index(list, strings.TrimSuffix(base, ".mat"))
		if folder != cars3DFolder || i < 0 || path.Ext(base) != ".mat" {
			return nil
		}
		done[i] = true
		return errors.Join(ctx.Err(), car.read(ctx, file+": "+name, i, size, r))
	})
	if err != nil {
		return err
	}
	if i := slices.Index(done, false); i >= 0 {
		return fmt.Errorf("%s: list.txt names %s, but there is no %s%s.mat", file, list[i], cars3DFolder, list[i])
	}
	return nil
}

func readCarList(file string) ([]string, error) {
	var list []string
	err := archive.WalkTar(file, archive.Limits{}, func(name string, size int64, r io.Reader) error {
		if name != cars3DFolder+"list.txt" {
			return nil
		}
		if size > 1<<20 {
			return fmt.Errorf("%s: %s has %d bytes; want a list of names", file, name, size)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			car := strings.TrimSuffix(strings.TrimSpace(line), ".mat")
			if slices.Contains(list, car) || len(list) == maxCars3D {
				return fmt.Errorf("%s: %s names %q twice, or more than %d cars", file, name, car, maxCars3D)
			}
			if car != "" {
				list = append(list, car)
			}
		}
		return fs.SkipAll
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s has no %slist.txt with names of cars", file, cars3DFolder)
	}
	return list, err
}

// carImages converts the images of the cars, one car after the other.
type carImages struct {
	size, cars int
	filter     resample.Filter
	w          *cache.Writer
	resizers   []resample.Resizer // one per worker
	data       []byte             // content of the file
	pixels     []byte
	resized    []byte
}

func (c *carImages) read(ctx context.Context, label string, car int, size int64, r io.Reader) error {
	if int64(cap(c.data)) < size {
		c.data = make([]byte, size)
	}
	c.data = c.data[:size]
	if _, err := io.ReadFull(r, c.data); err != nil {
		return err
	}
	f, err := matfile.New(bytes.NewReader(c.data), size, label)
	if err != nil {
		return err
	}
	v := f.Find("im")
	if v == nil {
		return fmt.Errorf("%s: no variable im; there are %s", label, strings.Join(f.Names(), ", "))
	}
	im, err := arrays.FromMAT(v, label+": im")
	if err != nil {
		return err
	}
	want := []int{cars3DSide, cars3DSide, 3, cars3DTurn, cars3DHeight}
	if !slices.Equal(im.Shape, want) || im.Type != dtype.Uint8 {
		return fmt.Errorf("%v; want uint8 of shape %v", im, want)
	}
	rows, err := im.Rows([]int{4, 3, 0, 1, 2})
	if err != nil {
		return err
	}
	defer rows.Close() // nothing was written
	if c.pixels == nil {
		c.pixels = make([]byte, cars3DHeight*rows.RowBytes())
	}
	if err := rows.Read(c.pixels); err != nil {
		return err
	}
	return c.write(ctx, car)
}

// write resizes the images of a car and writes them to their rows: elevation, azimuth, car.
func (c *carImages) write(ctx context.Context, car int) error {
	const views, before = cars3DHeight * cars3DTurn, cars3DSide * cars3DSide * 3
	after := c.size * c.size * 3
	if c.resized == nil {
		c.resized = make([]byte, views*after)
	}
	errs := make([]error, views)
	parallel.ForWorkers(len(c.resizers), views, func(worker, i int) {
		image := c.pixels[i*before : (i+1)*before]
		if c.size != cars3DSide {
			resized := c.resized[i*after : (i+1)*after]
			c.resizers[worker].Resize(resized, image, cars3DSide, cars3DSide, c.size, c.size, 3, c.filter)
			image = resized
		}
		errs[i] = c.w.WriteAt(ctx, i*c.cars+car, image)
	})
	return errors.Join(errs...)
}

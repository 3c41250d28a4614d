package public

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/archive"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// COIL100 is COIL-100 (Nene, Nayar and Murase 1996): 7,200 photographs of 100 objects on a turntable, one every 5
// degrees. Its factors are object, sorted by number, and angle, which is circular and varies fastest.
type COIL100 struct {
	Size datasets.PictureSize `yaml:"size" doc:"resize the 128 x 128 images to this side with Pillow's Lanczos filter; 0: keep their size"`
}

const (
	coilFile   = "coil-100.zip"
	coilSide   = 128
	coilAngles = 72
)

func (c *COIL100) Origin() datasets.Origin {
	side := int64(coilSide)
	if len(c.Size) == 2 {
		side = int64(c.Size[0])
	}
	return datasets.Origin{
		Files: []source.File{{
			Name: coilFile, URL: "http://www.cs.columbia.edu/CAVE/databases/SLAM_coil-20_coil-100/coil-100/" + coilFile,
			Size: 130688843, SHA256: "fcb4b8b01c0778f416d8d7a09f45082c4f7075cc74743dcddd5c44307bd4afe7",
		}},
		Licence:  "none is stated",
		Citation: "Sameer A. Nene, Shree K. Nayar and Hiroshi Murase: Columbia Object Image Library (COIL-100). Technical report CUCS-006-96, 1996",
		Terms:    "for non-commercial research",
		Bytes:    7200 * (3*side*side + 4*2), Version: 1,
	}
}

func (c *COIL100) Validate() error { return c.Size.Check() }

func (c *COIL100) Prepare(ctx context.Context, progress datasets.Progress) error {
	return prepare(ctx, progress, c.build)
}

func (c *COIL100) Build(uint64) (datasets.Dataset, error) { return c.build(context.Background()) }

func (c *COIL100) build(ctx context.Context) (datasets.Dataset, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return buildPublic(ctx, "coil100", fmt.Sprintf("size=%v", []int(c.Size)), c.Origin(), c.convert)
}

func (c *COIL100) convert(ctx context.Context, dir string, w *cache.Writer) error {
	z, err := archive.OpenZip(filepath.Join(dir, coilFile), archive.Limits{Member: maxZippedPicture})
	if err != nil {
		return err
	}
	defer z.Close() // nothing was written
	members, objects, angles, err := coilMembers(z.Names())
	if err != nil {
		return fmt.Errorf("%s: %w", coilFile, err)
	}
	p := zippedPictures{name: coilFile, zip: z, members: members, h: coilSide, w: coilSide, size: c.Size,
		filter: "lanczos"}
	return p.convert(ctx, w, []factor.Factor{
		{Name: "object", Size: len(objects), Kind: factor.Categorical, Values: numeric.Convert[float64](objects)},
		coilAngle(angles),
	}, nil)
}

var coilName = regexp.MustCompile(`^obj([0-9]{1,6})__([0-9]{1,6})\.png$`)

// coilMembers returns an archive's members by object and angle, the objects' numbers, and the angles in steps of 5.
func coilMembers(names []string) (members, objects, angles []int, err error) {
	type place struct{ object, angle int }
	indexOf := map[place]int{}
	for i, name := range names {
		parts := coilName.FindStringSubmatch(path.Base(name))
		if parts == nil {
			continue
		}
		object, _ := strconv.Atoi(parts[1]) // a few digits never overflow
		degrees, _ := strconv.Atoi(parts[2])
		if degrees%5 != 0 || degrees/5 >= coilAngles {
			return nil, nil, nil, fmt.Errorf("%s is at %d degrees; want multiples of 5 up to 355", name, degrees)
		}
		p := place{object, degrees / 5}
		if other, twice := indexOf[p]; twice {
			return nil, nil, nil, fmt.Errorf("%s and %s are the same object and angle; want only one of them",
				names[other], name)
		}
		indexOf[p] = i
		objects, angles = append(objects, object), append(angles, p.angle)
	}
	for _, list := range []*[]int{&objects, &angles} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	for _, o := range objects {
		for _, a := range angles {
			i, ok := indexOf[place{o, a}]
			if !ok {
				return nil, nil, nil, fmt.Errorf("obj%d__%d.png is missing; want each of the %d objects at each of the %d angles",
					o, 5*a, len(objects), len(angles))
			}
			members = append(members, i)
		}
	}
	if len(objects) == 0 {
		return nil, nil, nil, errors.New("it has no pictures called obj1__0.png and so on; want the pictures of COIL-100")
	}
	return members, objects, angles, nil
}

// coilAngle returns the factor angle, which is evenly spaced if no angle is missing.
func coilAngle(angles []int) factor.Factor {
	f := factor.Factor{Name: "angle", Size: len(angles), Kind: factor.Circular}
	for _, a := range angles {
		f.Values = append(f.Values, float64(5*a))
		if len(angles) < coilAngles {
			f.Angles = append(f.Angles, 2*math.Pi*float64(a)/coilAngles)
		}
	}
	return f
}

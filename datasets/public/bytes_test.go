package public

import (
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/must"
)

// A converted set has one byte for each number of an image, and four for each level. The numbers of images and factors
// match the published sets.
func TestBytes(t *testing.T) {
	for name, c := range map[string]struct {
		set                    interface{ Origin() datasets.Origin }
		images, pixels, levels int64
	}{
		"dsprites":           {&DSprites{}, 3 * 6 * 40 * 32 * 32, 64 * 64, 5},
		"shapes3d":           {&Shapes3D{}, 10 * 10 * 10 * 8 * 4 * 15, 64 * 64 * 3, 6},
		"cars3d":             {&Cars3D{}, 183 * 24 * 4, 64 * 64 * 3, 3},
		"mpi3d":              {&MPI3D{}, 6 * 6 * 2 * 3 * 3 * 40 * 40, 64 * 64 * 3, 7},
		"smallnorb":          {&SmallNORB{}, 50 * 9 * 18 * 6, 96 * 96, 6},
		"smallnorb of 64":    {&SmallNORB{Size: datasets.PictureSize{64, 64}}, 50 * 9 * 18 * 6, 64 * 64, 6},
		"coil100":            {&COIL100{}, 100 * 72, 128 * 128 * 3, 2},
		"coil100 of 32":      {&COIL100{Size: datasets.PictureSize{32, 32}}, 100 * 72, 32 * 32 * 3, 2},
		"celeba":             {&CelebA{}, 202599, 218 * 178 * 3, 41},
		"celeba cut":         {&CelebA{Crop: 148}, 202599, 148 * 148 * 3, 41},
		"celeba of 64 by 32": {&CelebA{Crop: 148, Size: datasets.PictureSize{64, 32}}, 202599, 64 * 32 * 3, 41},
		"modelnet40":         {&ModelNet40{Views: 72, Size: 32, Channels: 3}, 626 * 72, 32 * 32 * 3, 2},
	} {
		must.Equal(t, c.set.Origin().Bytes, c.images*(c.pixels+4*c.levels), name, "bytes")
	}
}

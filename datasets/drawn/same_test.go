package drawn_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/internal/configtest"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// Images and factors of drawn sets never change between versions, and are equal on every machine.
func TestImagesAreTheSame(t *testing.T) {
	long.NotShort(t)
	for config, want := range map[string]string{
		"square":                                 "b2d6eb90c6e96efe",
		"{square: {size: 32, side: 5, step: 2}}": "1e3e30e9eee361e5",
		"arrow":                                  "beb8ab63d94ea581",
		"{arrow: {size: 40, hues: 5, rotations: 7}}": "21877776d95ba1cf",
		"flatland": "9a914a78c1ef62d7",
		"{flatland: {period: 5, radius: 4, size: 20, samples: 1}}": "5d8a1ad4c7a1cf9b",
		"poses": "2321d337d19b2143",
		"{poses: {object: vase, rotations: icosahedral, hues: 3, camera: orthographic}}": "a9971ba58fc05914",
		"{poses: {object: bottle, rotations: hopf, count: 72}}":                          "ea3090e8001145e1",
		"{poses: {object: airplane, rotations: random, count: 50, size: 32}}":            "40fe6e9867924d86",
		"sprites": "c04447b3ec371224",
		"{sprites: {antialias: true, scales: 3, orientations: 10, positions: 4, extent: 0.7, extents: [1, 0.8, 0.9]}}": "c5c410d196d93461",
		"room": "1a12ed01e5183d35",
		"{room: {size: 32, hues: 3, scales: 2, orientations: 4}}": "833788bb81265969",
		"cars": "4f13b5351cf27399",
		"{cars: {size: 32, elevations: 2, azimuths: 5, objects: 20, order: luminance}}": "af11cd89dbcde057",
		"norb": "72dd324c17e5e9d0",
		"{norb: {size: 48, instances: 2, elevations: 3, azimuths: 4, lightings: 2, instance: true}}": "6c7c9646c5671a65",
		"arm": "98b6005ee700cf14",
		"{arm: {size: 32, horizontal: 5, vertical: 3}}": "7c64da7ec7ef6498",
		"turntable": "47e6fc170f4f4ef1",
		"{turntable: {draw: solid, objects: 10, round: 0.3, hues: 1, views: 9, elevation: 90}}":                        "5e82d35006dd8f98",
		"{turntable: {objects: 3, first: 2, hues: 4, views: 5, paint: light, elevation: -20, size: 100, channels: 3}}": "6be2728dc021acb0",
		"entangled":                        "fcd1ebc59254fdaf",
		"{bumps: {factors: 3, levels: 5}}": "b7187c84b2f7a578",
		"{chopsticks: {samples: 300}}":     "5bd89cc1b9e65e2c",
		"{chopsticks: {variant: either, depth: 3, samples: 200, noise: 0.1, min_offset: 0.2, overwrite: inter}}": "8f138d261e5978e6",
		"{spaceshapes: {samples: 90}}":                         "35d8470baacc8421",
		"{spaceshapes: {size: 32, samples: 30, binary: true}}": "eb7e2cd93ef4222d",
	} {
		s := must.Get(configtest.Decode("dataset: " + config))(t)
		must.Equal(t, imagesHash(datatest.Build(t, s.Dataset.Value)), want, config, "hash")
	}
}

// imagesHash returns a hash of the factors and of evenly distributed images. Pixels are rounded to 1/255, because
// processors differ in the last bit.
func imagesHash(d datasets.Dataset) string {
	hash := fnv.New64a()
	for _, f := range d.Factors() {
		fmt.Fprintf(hash, "%s %d %v %.4g %.4g,", f.Name, f.Size, f.Kind, f.Value(0), f.Value(f.Size-1))
	}
	h, w, c := d.ImageShape()
	image, bytes, levels := make([]float32, h*w*c), make([]byte, 0, 2*h*w*c), make([]int, len(d.Factors()))
	const images = 100
	for n := range images {
		i := (n*max(1, d.Len()/images) + n) % d.Len()
		d.Image(i, image)
		d.FactorsAt(i, levels)
		bytes = bytes[:0]
		for _, v := range image {
			bytes = binary.LittleEndian.AppendUint16(bytes, uint16(int(math.Round(float64(v)*255))))
		}
		hash.Write(bytes)
		fmt.Fprint(hash, levels)
	}
	return fmt.Sprintf("%x", hash.Sum64())
}

// Package datatest builds data sets for tests.
package datatest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// Build builds a data set from the seed 0.
func Build(t testing.TB, b datasets.Builder) datasets.Dataset {
	t.Helper()
	return must.Get(b.Build(0))(t)
}

// Toy is a data set of 1 x 1 images with any factors. The pixel of image i is i/Grid.Len().
type Toy struct {
	Grid    factor.Grid
	Missing int // number of images that are missing at the end
}

func (d *Toy) Name() string                  { return "toy" }
func (d *Toy) ImageShape() (h, w, c int)     { return 1, 1, 1 }
func (d *Toy) Factors() []factor.Factor      { return d.Grid }
func (d *Toy) Len() int                      { return d.Grid.Len() - d.Missing }
func (d *Toy) Image(i int, dst []float32)    { dst[0] = float32(i) / float32(d.Grid.Len()) }
func (d *Toy) FactorsAt(i int, levels []int) { d.Grid.At(i, levels) }

// ToyOf returns a Toy with the given factors.
func ToyOf(factors ...factor.Factor) *Toy { return &Toy{Grid: factors} }

// ImageAt returns the image with the given levels.
func ImageAt(d datasets.Dataset, levels ...int) []float32 {
	h, w, c := d.ImageShape()
	pixels := make([]float32, h*w*c)
	d.Image(factor.Grid(d.Factors()).Index(levels), pixels)
	return pixels
}

// Golden is an entry of an expected.json.
type Golden struct {
	Shape  []int                `json:"shape_nhwc"`
	Sizes  []int                `json:"factor_sizes"`
	Hash   string               `json:"sha256_nhwc"`
	Values map[string][]float64 `json:"values_of_row"`
	Labels map[string][]int     `json:"labels_of_row"`
	Names  []string             `json:"factor_names"`
	Sums   map[string]int       `json:"pixel_sum_of_row"`
}

// ReadGolden reads the expected.json in a folder of testdata.
func ReadGolden(t *testing.T, folder string) (files map[string]Golden, broken map[string]string) {
	t.Helper()
	text := must.Read(t, filepath.Join("testdata", folder, "expected.json"))
	var all map[string]json.RawMessage
	must.OK(t, json.Unmarshal(text, &all))
	files = map[string]Golden{}
	for name, entry := range all {
		var g Golden
		var err error
		if name == "broken" {
			err = json.Unmarshal(entry, &broken)
		} else {
			err = json.Unmarshal(entry, &g)
			files[name] = g
		}
		var other *json.UnmarshalTypeError // a label that is not an integer, or an entry that is not a file
		if err != nil && !errors.As(err, &other) {
			t.Fatal(name, err)
		}
	}
	return files, broken
}

// PixelHash returns the SHA-256 of all pixels of a set. Pixels are 8-bit numbers over 255, divided by unit.
func PixelHash(d datasets.Dataset, unit float32) string {
	h, w, c := d.ImageShape()
	image, line := make([]float32, h*w*c), make([]uint8, h*w*c)
	sum := sha256.New()
	for i := range d.Len() {
		d.Image(i, image)
		for p, v := range image {
			line[p] = uint8(v*255/unit + 0.5)
		}
		sum.Write(line)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Pole returns a mesh in the OFF format: a box that is ten times as long along an axis as along the other axes.
func Pole(axis int) string {
	var b strings.Builder
	b.WriteString("OFF\n8 12 0\n")
	for corner := range 8 {
		p := [3]int{corner & 1, corner >> 1 & 1, corner >> 2}
		p[axis] *= 10
		fmt.Fprintln(&b, p[0], p[1], p[2])
	}
	for a := range 3 {
		u, v := 1<<((a+1)%3), 1<<((a+2)%3)
		fmt.Fprintf(&b, "3 0 %d %d\n3 0 %d %d\n", u+v, u, v, u+v) // clockwise from above: the face at 0
		up := 1 << a
		fmt.Fprintf(&b, "3 %d %d %d\n3 %d %d %d\n", up, up+u, up+u+v, up, up+u+v, up+v)
	}
	return b.String()
}

// CheckUpright fails the test if an image of a set shows something on black that is wider than it is high.
func CheckUpright(t *testing.T, d datasets.Dataset) {
	t.Helper()
	h, w, c := d.ImageShape()
	pixels := make([]float32, h*w*c)
	for i := range d.Len() {
		d.Image(i, pixels)
		rows, columns := make([]bool, h), make([]bool, w)
		for p, v := range pixels {
			if v > 0 {
				rows[p/(w*c)], columns[p/c%w] = true, true
			}
		}
		if high, wide := count(rows), count(columns); high < 2*wide {
			t.Errorf("image %d shows %d pixels by %d; want something upright", i, wide, high)
		}
	}
}

func count(list []bool) (n int) {
	for _, x := range list {
		if x {
			n++
		}
	}
	return n
}

func Sampler(t testing.TB, s *supervision.Split, images int) *supervision.Sampler {
	t.Helper()
	return must.Get(supervision.NewSampler(s, images, rng.New(3, "batch")))(t)
}

func Split(t testing.TB, s supervision.Kind, d datasets.Dataset) *supervision.Split {
	t.Helper()
	return must.Get(s.Split(d, rng.New(7, "split")))(t)
}

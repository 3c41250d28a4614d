package datatest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
)

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
	text, err := os.ReadFile(filepath.Join("testdata", folder, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
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

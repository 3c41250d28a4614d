package public

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/must"
)

func rowOf(t *testing.T, text string) int {
	t.Helper()
	i := 0
	must.Get(fmt.Sscan(text, &i))(t)
	return i
}

// celebaSample returns the files of the sample by name, with replacements.
func celebaSample(instead map[string]string) map[string]string {
	files := map[string]string{}
	for _, name := range []string{celebaImages, celebaAttributes, celebaPartition} {
		files[name] = filepath.Join("celeba", name)
		if other, ok := instead[name]; ok {
			files[name] = filepath.Join("celeba", other)
		}
	}
	return files
}

// The sums of pixels equal the sums of libjpeg-turbo and Pillow, up to differences of JPEG decoders.
func TestCelebA(t *testing.T) {
	files, _ := datatest.ReadGolden(t, "celeba")
	for _, c := range []struct {
		entry, attributes string
		settings          CelebA
	}{
		{celebaImages, celebaAttributes, CelebA{Split: "all", Filter: "lanczos"}},
		{"resized_64_lanczos", "list_attr_celeba_lf.txt", CelebA{Split: "all", Size: datasets.PictureSize{64, 64}, Filter: "lanczos"}},
		{"centre_148_resized_64_lanczos", celebaAttributes, CelebA{Split: "all", Crop: 148, Size: datasets.PictureSize{64, 64}, Filter: "lanczos"}},
	} {
		publicFiles(t, "celeba", celebaSample(map[string]string{celebaAttributes: c.attributes}))
		d := must.Get(c.settings.Build(0))(t)
		checkLevels(t, d, files[celebaImages])
		h, w, channels := d.ImageShape()
		pixels := make([]float32, h*w*channels)
		for row, sum := range files[c.entry].Sums {
			got := 0.0
			d.Image(rowOf(t, row), pixels)
			for _, v := range pixels {
				got += float64(v) * 255
			}
			if difference := (got - float64(sum)) / float64(len(pixels)); !(difference <= 0.02 && difference >= -0.02) {
				t.Errorf("%s: row %s differs by %v for each pixel", c.entry, row, difference)
			}
		}
		for split, want := range map[string]int{"train": 6, "valid": 2, "test": 2} {
			c.settings.Split = split
			if part, err := c.settings.Build(0); err != nil || part.Len() != want {
				t.Errorf("%s: %v; want %d images", split, err, want)
			}
		}
	}
}

// A crop without resizing has the pixels of the central square.
func TestCelebACrop(t *testing.T) {
	publicFiles(t, "celeba", celebaSample(nil))
	whole := must.Get((&CelebA{Split: "all", Filter: "lanczos"}).Build(0))(t)
	cut := must.Get((&CelebA{Split: "all", Filter: "lanczos", Crop: 148}).Build(0))(t)
	const top, left = (celebaHeight - 148) / 2, (celebaWidth - 148) / 2
	image, part := make([]float32, celebaHeight*celebaWidth*3), make([]float32, 148*148*3)
	for i := range whole.Len() {
		whole.Image(i, image)
		cut.Image(i, part)
		for row := range 148 {
			start := ((top+row)*celebaWidth + left) * 3
			if !slices.Equal(part[row*148*3:(row+1)*148*3], image[start:start+148*3]) {
				t.Fatalf("image %d: row %d of the crop is not row %d of the picture from column %d", i, row, top+row, left)
			}
		}
	}
}

func TestCelebABroken(t *testing.T) {
	for _, c := range []struct{ name, file, words string }{
		{celebaImages, "missing.zip", "000004.jpg is missing"}, {celebaImages, "dotdot.zip", `".."`}, {celebaImages, "size.zip", "000002.jpg: it has 100 x 100"},
		{celebaImages, "jpeg.zip", "000003.jpg"}, {celebaImages, "truncated.zip", "whole zip"}, {celebaAttributes, "count_attr.txt", "says 11 images, and it has 10 rows"},
		{celebaAttributes, "value_attr.txt", `000003.jpg has "0"`}, {celebaAttributes, "columns_attr.txt", "000005.jpg has 39 values"}, {celebaPartition, "partition.txt", "000002.jpg 3"},
	} {
		publicFiles(t, "celeba", celebaSample(map[string]string{c.name: filepath.Join("broken", c.file)}))
		_, err := (&CelebA{Split: "all", Crop: 148, Filter: "lanczos"}).Build(0)
		must.Error(t, err, c.words, c.file)
		must.Error(t, err, c.name, c.file)
	}
}

func FuzzCelebAttributes(f *testing.F) {
	for _, name := range []string{celebaAttributes, "list_attr_celeba_lf.txt", "broken/value_attr.txt", "broken/count_attr.txt"} {
		data := must.Read(f, filepath.Join("testdata", "celeba", name))
		f.Add(data)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(dir, "table.txt")
		must.Write(t, file, data)
		table, err := readCelebAttributes(file)
		if err == nil && len(table.levels) != len(table.images)*len(table.names) {
			t.Errorf("%d levels of %d images", len(table.levels), len(table.images))
		}
	})
}

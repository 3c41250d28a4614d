package train

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/train/internal/program"
)

// waves writes a folder of images of a shape. The factors are two phases of waves with 6 levels each.
func waves(t *testing.T, h, w, c int) string {
	t.Helper()
	const levels = 6
	var pixels []float32
	var factors []int64
	for i := range levels * levels {
		row, column := float64(i/levels)/levels, float64(i%levels)/levels
		factors = append(factors, int64(i/levels), int64(i%levels))
		for p := range h * w * c {
			x, y, k := float64(p/c%w)/float64(w), float64(p/c/w)/float64(h), float64(p%c)/float64(c)
			pixels = append(pixels, float32(0.5+0.25*math.Cos(2*math.Pi*(x+k-row))+0.25*math.Cos(2*math.Pi*(2*x+y-column))))
		}
	}
	dir := t.TempDir()
	for name, write := range map[string]func(b *bytes.Buffer) error{
		"images":  func(b *bytes.Buffer) error { return npy.Write(b, []int{levels * levels, h, w, c}, pixels) },
		"factors": func(b *bytes.Buffer) error { return npy.Write(b, []int{levels * levels, 2}, factors) },
	} {
		var b bytes.Buffer
		must.OK(t, write(&b))
		must.Write(t, filepath.Join(dir, name+".npy"), b.Bytes())
	}
	return dir
}

// Images of any shape can be used for training, with and without views, and can be encoded, decoded, served and drawn.
func TestSizes(t *testing.T) {
	long.NotShort(t)
	const layers = "{layers: [{conv: {channels: 4, kernel: 3, stride: 2}}, {norm: batch}, {activation: gelu}, {residual: {channels: 6, stride: 2}}, {pool: {kind: average, to: 1}}, {dense: 10}, {dropout: 0.1}]}"
	shapes := [][3]int{{1, 20, 1}, {1, 33, 3}, {1, 1, 12}, {17, 31, 2}, {16, 16, 5}, {9, 40, 4}, {23, 1, 1}}
	for i, shape := range long.Sample(shapes, 3) {
		h, w, c := shape[0], shape[1], shape[2]
		path := waves(t, h, w, c)
		for j, model := range []string{"model={vae: {encoder: " + layers + ", latent: 3}}",
			"model={lsbd-vae: {encoder: small-conv, latent: [{sphere: {dim: 1}}, {euclidean: {dim: 2}}]}}",
			"model={byol: {encoder: " + layers + "}}"} {
			if !long.Enabled() && i%3 != j {
				continue // the default test takes one model per shape
			}
			overrides := []string{fmt.Sprintf("dataset={grid: {path: %q, kinds: [circular, ordinal]}}", path), model,
				"train={epochs: 1, epoch_steps: 2, batch: 12}", "supervision=none", "losses=[reconstruction, kl]", "metrics=[mig]"}
			views := model[7:11] == "byol"
			if views {
				overrides = append(overrides, "losses=[cosine-regression]", "views={count: 2, pipeline: [flip, {jitter: {saturation: 0, hue: 0}}]}")
			}
			dir := filepath.Join(t.TempDir(), "run")
			trainIn(t, dir, load(t, overrides...), false)
			for _, name := range []string{"losses", "reconstructions", "traversals"} {
				picture, err := os.ReadFile(filepath.Join(dir, "figures", name+".png"))
				if views && name != "losses" {
					continue
				}
				if err == nil {
					_, err = png.Decode(bytes.NewReader(picture))
				}
				if err != nil {
					t.Errorf("%v %s: figure %s: %v", shape, model, name, err)
				}
			}
			e := must.Get(OpenEncoder(dir))(t)
			x, _, err := OpenExperiment(dir)
			must.OK(t, err)
			n := x.Data.Len()
			pixels := make([]float32, n*h*w*c)
			datasets.Fill(x.Data, allImages(x.Data), pixels)
			want := must.Get(x.Coder.Encode(context.Background(), x.Data, allImages(x.Data)))(t)
			codes, err := e.Encode(pixels, n)
			if err != nil || !slices.Equal(codes, want) {
				t.Errorf("%v %s: codes that are served differ (%v)", shape, model, err)
			}
			if !e.Decodes() {
				continue
			}
			images, err := e.Decode(codes, n)
			again, wrong := x.Coder.Decode(codes)
			if err != nil || wrong != nil || len(images) != n*h*w*c || !slices.Equal(images, again) {
				t.Errorf("%v %s: images that are served differ (%v, %v)", shape, model, err, wrong)
			}
		}
	}
}

// Large images are encoded in smaller batches, to the same codes.
func TestEncodeBatches(t *testing.T) {
	long.NotShort(t)
	x := must.Get(NewExperiment(load(t)))(t)
	want, err := x.Coder.Encode(context.Background(), x.Data, allImages(x.Data))
	must.OK(t, err)
	for _, n := range []int{1, 7, 100} {
		if x.Coder.encoder, err = program.Encoder(x.Model, x.modelData(), n); err != nil || x.Coder.encoder.Images != n {
			t.Fatal(x.Coder.encoder, err)
		}
		if x.Coder.decoder, err = program.Decoder(x.Model, x.Coder.Width(), n); err != nil {
			t.Fatal(err)
		}
		got, err := x.Coder.Encode(context.Background(), x.Data, allImages(x.Data))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("codes of batches of %d differ (%v)", n, err)
		}
		must.Equal(t, len(must.Get(x.Coder.Decode(got[:30*x.Coder.Width()]))(t)), 30*16*16, "numbers of 30 images")
	}
	large, err := program.Encoder(x.Model, x.modelData(), 1<<20) // 1 GiB of images
	if err != nil || large.Images >= 1<<20 || !(large.Bytes() <= 1<<30) {
		t.Errorf("a batch of %d images (%v)", large.Images, err)
	}
}

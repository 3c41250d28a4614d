package cli_test

import (
	"bytes"
	"fmt"
	"image/gif"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/coding"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/safetensors"
)

// linear is a VAE of real numbers, with a matrix and an offset as its decoder.
const linear = `name: linear
dataset: {chopsticks: {samples: 300}}
model: {vae: {encoder: {mlp: {hidden: [8]}}, decoder: {layers: [{image: {channels: image}}]}, latent: 3}}
losses: [reconstruction: {likelihood: gaussian}, kl]
train: {epochs: 0, batch: 50, figures: false}
metrics: []
`

// cylinder has a circle, a plane, and turning solids.
const cylinder = `name: cylinder
dataset: {turntable: {draw: solid, objects: 3, hues: 1, views: 8, size: 16}}
supervision: views
model: {lsbd-vae: {encoder: {mlp: {hidden: [8]}}, latent: [sphere, {euclidean: {dim: 2}}]}}
losses: [reconstruction: {likelihood: bernoulli}, kl, lsbd]
train: {epochs: 1, batch: 8, figures: false}
metrics: []
`

// trained trains an experiment and returns its folder.
func trained(t *testing.T, text string) string {
	t.Helper()
	file, dir := filepath.Join(t.TempDir(), "x.yaml"), filepath.Join(t.TempDir(), "run")
	must.Write(t, file, text)
	clitest.OK(t, "train", file, "--run", dir)
	return dir
}

// array reads a float32 array.
func array(t *testing.T, path string) *npy.Array[float32] {
	t.Helper()
	return must.Get(npy.ReadFile[float32](path))(t)
}

// Images are the known matrix applied to the codes. Every sheet has its files, and repeats them exactly.
func TestDecodeLinear(t *testing.T) {
	long.NotShort(t)
	dir := trained(t, linear)
	weights := filepath.Join(t.TempDir(), "w.safetensors")
	clitest.OK(t, "export", "--run", dir, "--out", weights)
	f := must.Get(safetensors.ReadFile(weights))(t)
	matrix := must.Get(f.Float32s("decoder/image1/weight", 3, 64))(t)
	offset := must.Get(f.Float32s("decoder/image1/bias", 64))(t)
	out, again := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "again")
	var r, other coding.Decoded
	args := []string{"decode", "--run", dir, "--images", "5,0,7", "--samples", "130", "--steps", "4", "--json", "--out"}
	clitest.JSON(t, clitest.OK(t, append(args, out)...).Out, &r)
	clitest.JSON(t, clitest.OK(t, append(args, again)...).Out, &other)
	var names []string
	for _, s := range r.Files {
		names = append(names, s.Name)
		codes, images := array(t, s.Codes), array(t, s.Images)
		if !slices.Equal(images.Shape, s.Shape) || codes.Shape[0] != images.Shape[0] || codes.Shape[1] != 3 {
			t.Fatalf("%s: codes %v, images %v, shape %v", s.Name, codes.Shape, images.Shape, s.Shape)
		}
		for i := range codes.Shape[0] {
			z := codes.Data[3*i : 3*i+3]
			for p := range 64 {
				want := float64(offset[p])
				for j, v := range z {
					want += float64(v) * float64(matrix[64*j+p])
				}
				if got := float64(images.Data[64*i+p]); !(math.Abs(got-want) <= 1e-5*(1+math.Abs(want))) {
					t.Fatalf("%s: image %d, number %d is %v, want %v", s.Name, i, p, got, want)
				}
			}
		}
		for _, path := range []string{s.PNG, s.GIF, s.Codes, s.Images} {
			if path != "" && !bytes.Equal(must.Read(t, path), must.Read(t, filepath.Join(again, filepath.Base(path)))) {
				t.Errorf("%s differs the second time", path)
			}
		}
	}
	if want := "samples traversals-5 traversals-0 traversals-7 grid interpolation"; strings.Join(names, " ") != want || len(r.LeftOut) > 0 {
		t.Errorf("sheets %v, want %s; left out %v", names, want, r.LeftOut)
	}
	if s := r.Files[4]; s.Shape[0] != 4*4 || len(s.Rows) != 4 { // two parts of the code, not images, in rows and columns
		t.Errorf("grid of %v, rows %v; want 4 steps of two parts", s.Shape, s.Rows)
	}
	if s := r.Files[0]; s.Shape[0] != 130 || len(s.Rows) != 10 || s.GIF != "" {
		t.Errorf("samples %+v", s)
	}
	steps := array(t, r.Files[1].Codes).Data // three coordinates, four steps each: two columns are constant, one rises evenly
	for part := range 3 {
		for k := range 3 {
			low, rise := steps[12*part+k], steps[12*part+9+k]-steps[12*part+k]
			for i := range 4 {
				if want := low + rise*float32(i)/3; !(math.Abs(float64(steps[12*part+3*i+k]-want)) <= 1e-5) ||
					(rise != 0) != (k == part) || !(rise >= 0) {
					t.Fatalf("coordinate %d, step %d, column %d: %v, want %v", part, i, k, steps[12*part+3*i+k], want)
				}
			}
		}
	}
	g, err := gif.DecodeAll(bytes.NewReader(must.Read(t, r.Files[1].GIF)))
	if err != nil || len(g.Image) != 8 {
		t.Errorf("%v: %d frames of four steps, there and back", err, len(g.Image))
	}
}

// Codes from a file work: the run's own codes give the images of its sheets. Points off the circle are projected, with
// a remark.
func TestDecodeCodes(t *testing.T) {
	long.NotShort(t)
	dir, out := trained(t, cylinder), t.TempDir()
	var sheets, own coding.Decoded
	o := clitest.OK(t, "decode", "--run", dir, "--json", "--no-gif", "--objects", "2,0")
	clitest.JSON(t, o.Out, &sheets)
	var names []string
	for _, s := range sheets.Files {
		names = append(names, strings.TrimRight(s.Name, "0123456789"))
		if s.GIF != "" || filepath.Dir(s.PNG) != filepath.Join(dir, "decoded") {
			t.Errorf("%s: files %s, %s", s.Name, s.PNG, s.GIF)
		}
	}
	must.Equal(t, strings.Join(names, " "), "samples traversals- traversals- traversals- grid interpolation interpolation-2-", "sheets")
	grid := sheets.Files[4]
	if len(grid.Rows) != 2 || grid.Rows[0].Label != "2" || grid.Columns[3] != "90" {
		t.Errorf("grid %+v, want objects 2 and 0 at 12 angles", grid)
	}
	for rows, want := range map[string]string{"images": "7,5", "prior": "sample 0,sample 1,", "objects": "2,0", "circle1": "circle1 0,circle1 90,"} {
		var one coding.Decoded
		clitest.JSON(t, clitest.OK(t, "decode", "--run", dir, "--json", "--what", "grid", "--rows", rows, "--images", "7,5",
			"--objects", "2,0", "--steps", "4", "--out", t.TempDir()).Out, &one)
		var labels []string
		for _, r := range one.Files[0].Rows {
			labels = append(labels, r.Label)
		}
		if text := strings.Join(labels, ","); !strings.HasPrefix(text, want) {
			t.Errorf("--rows %s: %s, want %s", rows, text, want)
		}
	}
	clitest.JSON(t, clitest.OK(t, "decode", "--run", dir, "--codes", grid.Codes, "--out", out, "--json").Out, &own)
	if len(own.Files) != 1 || own.Files[0].Projected != 0 || !slices.Equal(array(t, own.Files[0].Images).Data, array(t, grid.Images).Data) {
		t.Errorf("its own codes give other images: %+v", own)
	}
	far := filepath.Join(out, "far.csv")
	must.Write(t, far, "c,s,u,v\n1,0,0.5,-0.5\n0,-3,0.5,-0.5\n")
	o = clitest.OK(t, "decode", "--run", dir, "--codes", far, "--out", out)
	if codes := array(t, filepath.Join(out, "decoded-codes.npy")).Data; !strings.Contains(o.Log, "1 of 2 rows of "+
		far+" were not on the spheres") || codes[5] != -1 {
		t.Errorf("codes %v, %v", codes, o)
	}
	for name, c := range map[string]struct {
		code int
		text string
		args []string
		want string
	}{
		"width":      {1, "1,2\n", nil, "codes of 2 columns; want 4"},
		"no point":   {1, "1,0,1,1\n0,0,1,1\n", nil, "row 1, columns 0 to 1 are a point at 0; want one on the unit circle"},
		"not finite": {1, "1,0,NaN,1\n", nil, "far.csv: "},
	} {
		must.Write(t, far, c.text)
		o := clitest.Run(t, "decode", "--run", dir, "--codes", far, "--out", out)
		if o.Code != c.code || !strings.Contains(o.Log, c.want) {
			t.Errorf("%s: %v, want %q", name, o, c.want)
		}
	}
	clitest.Mistake(t, clitest.Run(t, "decode", "--run", dir, "--codes", filepath.Join(out, "decoded-codes.npy"), "--out", out), 2,
		"it would be replaced; want another --out")
}

// Wrong flags, runs and models are errors, and write nothing.
func TestDecodeMistakes(t *testing.T) {
	long.NotShort(t)
	dir := clitest.Finished(t)
	plain := trained(t, strings.NewReplacer("vae:", "ae:", ", kl]", "]").Replace(linear))
	blind := trained(t, strings.NewReplacer("vae: {encoder: {mlp: {hidden: [8]}}, decoder: {layers: [{image: {channels: image}}]}, latent: 3}", "encoder: {encoder: {mlp: {hidden: [8]}}, latent: 3}",
		"losses: [reconstruction: {likelihood: gaussian}, kl]", "losses: [left-inverse]\nsupervision: {labels: {fraction: 1}}").Replace(linear))
	for _, c := range []struct {
		code int
		run  string
		args []string
		want string
	}{
		{2, dir, []string{"--what", "grids"}, `--what: there is no "grids"; want some of samples, traversals, grid, interpolation`},
		{2, dir, []string{"--images", "3,256"}, "--images: there is no image 256; want 0 to 255"},
		{2, dir, []string{"--steps", "1"}, "--steps: 1 is out of range; want 2 to 100"},
		{2, dir, []string{"--samples", "0"}, "--samples: 0 is out of range"},
		{2, dir, []string{"--columns", "circle3"}, `the codes have no part "circle3"`},
		{2, dir, []string{"--rows", "circl"}, "(other rows: objects, images, prior)"},
		{2, dir, []string{"--rows", "objects", "--factor", "colum"}, `there is no factor "colum"`},
		{1, dir, []string{"--what", "grid", "--rows", "objects"}, "grid: the data set square has no categorical factor"},
		{1, dir, []string{"--codes", "nowhere.npy"}, "nowhere.npy"},
		{1, dir, []string{"--best"}, "there is no best.safetensors"},
		{1, plain, []string{"--what", "samples"}, "samples: the model ae has no prior distribution of codes"},
		{1, blind, nil, "the model encoder has no decoder; want a run of a model with one"},
		{1, t.TempDir(), nil, "no run there"},
	} {
		o := clitest.Run(t, append([]string{"decode", "--run", c.run}, c.args...)...)
		if o.Code != c.code || !strings.Contains(o.Log, c.want) {
			t.Errorf("%v: %v, want %d and %q", c.args, o, c.code, c.want)
		}
		clitest.NoTrace(t, o)
		if c.code == 2 && ui.Exists(filepath.Join(c.run, "decoded")) {
			t.Fatalf("%v: a wrong flag writes files", c.args)
		}
	}
	if o := clitest.OK(t, "decode", "--run", plain); !strings.Contains(o.Log, "no samples: the model ae has no prior") {
		t.Errorf("an autoencoder: %v", o)
	}
	// The files of a run and other files in the folder remain unchanged.
	kept := filepath.Join(dir, "decoded", "notes.txt")
	must.OK(t, os.MkdirAll(filepath.Dir(kept), 0o777))
	must.Write(t, kept, "mine")
	before := fmt.Sprint(topFiles(t, dir))
	clitest.OK(t, "decode", "--run", dir, "--what", "samples")
	if after := fmt.Sprint(topFiles(t, dir)); after != before || string(must.Read(t, kept)) != "mine" {
		t.Errorf("files of the run %s, before %s", after, before)
	}
	file := filepath.Join(t.TempDir(), "file")
	must.Write(t, file, "")
	if o := clitest.Run(t, "decode", "--run", dir, "--out", file); o.Code != 1 || !strings.Contains(o.Log, file) {
		t.Errorf("--out is a file: %v", o)
	}
	must.OK(t, os.Remove(filepath.Join(dir, "checkpoint.safetensors")))
	_ = os.Remove(filepath.Join(dir, "checkpoint.safetensors.prev")) // it may not exist
	clitest.Mistake(t, clitest.Run(t, "decode", "--run", dir), 1, "there is no checkpoint in "+dir)
}

// topFiles lists the files directly in a folder with their contents.
func topFiles(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		if !e.IsDir() {
			list = append(list, fmt.Sprintf("%s %x", e.Name(), must.Read(t, filepath.Join(dir, e.Name()))))
		}
	}
	return list
}

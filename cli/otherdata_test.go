package cli_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
)

// Codes of another data set equal the codes after exporting the weights and importing them into a run on this data set.
func TestOtherData(t *testing.T) {
	long.NotShort(t)
	dir := clitest.Finished(t)
	t.Chdir(t.TempDir())
	const set = "dataset.square.side=3"
	clitest.OK(t, "export", "--run", dir, "--out", "w.safetensors")
	clitest.OK(t, "import", filepath.Join(dir, "config.yaml"), set, "--from", "w.safetensors", "--run", "detour")
	clitest.OK(t, "encode", "--run", "detour", "--out", "want.npy")
	const side = "16"
	for i, args := range [][]string{
		{"dataset=square", "size=" + side, "side=3"},
		{"dataset=square", "dataset.square.size=" + side, "dataset.square.side=3"},
		{"dataset={square: {size: " + side + ", side: 3}}"},
	} {
		clitest.OK(t, append([]string{"encode", "--run", dir, "--out", "got.npy"}, args...)...)
		if !bytes.Equal(must.Read(t, "got.npy"), must.Read(t, "want.npy")) || !bytes.Equal(must.Read(t, "got-factors.npy"),
			must.Read(t, "want-factors.npy")) {
			t.Errorf("case %d: codes or factors differ from the detour", i)
		}
	}
	want := clitest.OK(t, "eval", "--run", "detour", "--metrics", "mig,dlsbd", "--json").Out
	must.Equal(t, clitest.OK(t, "eval", "--run", dir, "dataset=square", "size="+side, "side=3", "--metrics", "mig,dlsbd",
		"--json").Out, want, "eval")
	clitest.OK(t, "decode", "--run", dir, "dataset=square", "size="+side, "side=4", "--what", "interpolation", "--no-gif", "--out", "decoded")
	if !ui.Exists("decoded/interpolation.png") {
		t.Error("decode drew nothing")
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"encode", "--run", dir, "dataset=square"}, "want --out FILE"},
		{[]string{"encode", "--run", dir, "size=8", "--out", "x.npy"}, "want dataset=NAME in front of its options"},
		{[]string{"encode", "--run", dir, "dataset=squar", "--out", "x.npy"}, `did you mean "square"?`},
		{[]string{"eval", "--run", dir, "--sample", "9"}, "--sample belongs to a data set"},
		{[]string{"eval", "--codes", "want.npy", "dataset=square"}, "a data set is for --run or --encoder"},
		{[]string{"encode", "--run", dir, "--images", "w.npy", "dataset=square", "--out", "x.npy"}, "want only one"},
	} {
		clitest.Mistake(t, clitest.Run(t, c.args...), 2, c.want)
	}
	clitest.Mistake(t, clitest.Run(t, "encode", "--run", dir, "dataset=arrow", "--out", "x.npy"), 1,
		"arrow has images of 64 x 64 x 3 (height, width, channels); want "+side+" x "+side+" x 1")
	if ui.Exists("x.npy") {
		t.Error("a mistake wrote x.npy")
	}
}

// TestEncodePictures encodes pictures in a folder, one picture, and an export of the run's own images.
func TestEncodePictures(t *testing.T) {
	long.NotShort(t)
	dir := clitest.Finished(t)
	t.Chdir(t.TempDir())
	t.Setenv("UNRAVEL_DATA", must.MappedDir(t))
	const side = "16"
	clitest.OK(t, "data", "export", "square", "size="+side, "side=4", "--out", "own")
	clitest.OK(t, "encode", "--run", dir, "--out", "want.npy")
	for _, images := range [][]string{{"own"}, {"own/images.npy", "--option", "scale=255", "--option=channels=last"}} {
		clitest.OK(t, append([]string{"encode", "--run", dir, "--out=got.npy", "--images"}, images...)...)
		if !bytes.Equal(must.Read(t, "got.npy"), must.Read(t, "want.npy")) {
			t.Errorf("%s: other codes than the run's", images)
		}
	}
	var wide bytes.Buffer
	must.OK(t, npy.Write(&wide, []int{2, 8, 9, 1}, make([]float32, 2*8*9)))
	must.Write(t, "wide.npy", wide.Bytes())
	clitest.Mistake(t, clitest.Run(t, "encode", "--run", dir, "--images", "wide.npy", "--out=x.npy"), 1, "--images:", "8 x 9 x 1", "want 16 x 16 x 1")
	clitest.Mistake(t, clitest.Run(t, "encode", "--run", dir, "--images=own", "--option=scael=1", "--out=x.npy"), 2, `unknown key "scael"`)
	must.OK(t, os.Mkdir("pictures", 0o777))
	for i, name := range []string{"b.png", "a.png"} {
		picture := image.NewGray(image.Rect(0, 0, 40, 30))
		for x := range 20 {
			picture.SetGray(x+10*i, 9, color.Gray{255})
		}
		var b bytes.Buffer
		must.OK(t, png.Encode(&b, picture))
		must.Write(t, filepath.Join("pictures", name), b.Bytes())
	}
	clitest.OK(t, "encode", "--run", dir, "--images", "pictures", "--out", "all.npy")
	if names := string(must.Read(t, "all-files.txt")); names != "a.png\nb.png\n" || ui.Exists("all-factors.npy") {
		t.Errorf("files %q; want a.png and b.png, and no factors", names)
	}
	must.Write(t, "labels.csv", ",x\nb.png,1\na.png,2\n")
	clitest.Mistake(t, clitest.Run(t, "eval", "--codes=all.npy", "--factors=labels.csv"), 1,
		`the same index in different orders, first "a.png" and "b.png"`)
	if o := clitest.OK(t, "encode", "--run", dir, "--images", "pictures/b.png", "--out", "one.npy"); !strings.Contains(o.Log, "1 code of ") {
		t.Errorf("one picture: %s", o.Log)
	}
	all, one := must.Read(t, "all.npy"), must.Read(t, "one.npy")
	if n := (len(all) - len(one)); n <= 0 || !bytes.Equal(all[len(all)-n:], one[len(one)-n:]) {
		t.Error("the code of one picture is not its code in the folder")
	}
	must.Write(t, "pictures/c.png", all[:60])
	clitest.Mistake(t, clitest.Run(t, "encode", "--run", dir, "--images", "pictures", "--out", "x.npy"), 1,
		"1 of 3 pictures cannot be read: "+filepath.Join("pictures", "c.png"), "skip_broken", "--option KEY=VALUE")
	clitest.OK(t, "encode", "--run", dir, "--images", "pictures", "--option", "skip_broken=true", "--out", "again.npy")
	if !bytes.Equal(must.Read(t, "again.npy"), all) {
		t.Error("codes without the broken picture differ")
	}
	must.Write(t, "pictures/names.txt", "b.png, the first picture")
	clitest.Mistake(t, clitest.Run(t, "encode", "--run", dir, "--images", "pictures/names.txt", "--out", "x.npy"), 1,
		"--images pictures/names.txt: it is no picture; want PNG", "folder of pictures")
	clitest.Mistake(t, clitest.Run(t, "encode", "--run", dir, "--images", "nowhere", "--out", "x.npy"), 1, "nowhere")
	clitest.Mistake(t, clitest.Run(t, "encode", "--run", dir, "--option", "size=3", "--out", "x.npy"), 2, "--option belongs to --images")
}

// Pictures of --images are resized as the run's pictures.
func TestEncodeResized(t *testing.T) {
	dir := t.TempDir()
	pictures, run, out := filepath.Join(dir, "pictures"), filepath.Join(dir, "run"), filepath.Join(dir, "codes.npy")
	for i := range 4 {
		picture := image.NewGray(image.Rect(0, 0, 40, 30))
		for x := range 40 {
			picture.SetGray(x, 7*i, color.Gray{uint8(5 * x)})
		}
		var b bytes.Buffer
		must.OK(t, png.Encode(&b, picture))
		must.Write(t, filepath.Join(pictures, fmt.Sprint(i, ".png")), b.Bytes())
	}
	clitest.OK(t, "train", "vae/square",
		"dataset={folder: {path: "+pictures+", size: 8, channels: 1, fit: pad, filter: box}}", "supervision=none", "model={ae: {latent: 2, encoder: {mlp: {hidden: [4]}}}}",
		"losses=[reconstruction]", "metrics=[]", "train={epochs: 0, figures: false}", "metrics.encode=true", "--run", run)
	clitest.OK(t, "encode", "--run", run, "--images", pictures, "--out", out)
	if !bytes.Equal(must.Read(t, out), must.Read(t, filepath.Join(run, "codes.npy"))) {
		t.Error("the codes differ from the run's codes of the same pictures")
	}
	if o := clitest.OK(t, "encode", "--run", run, "--images", pictures, "--option", "fit=stretch", "--out",
		out); !strings.Contains(o.Log, "resized with fit=stretch and filter=box, and the run's with fit=pad") {
		t.Errorf("no note on another size: %s", o.Log)
	}
}

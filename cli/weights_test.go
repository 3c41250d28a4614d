package cli_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/onnx"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/train/rundir"
)

// An export in either layout, imported again, gives the same codes bit for bit, and training continues from there.
func TestExportImport(t *testing.T) {
	long.NotShort(t)
	dir, here := clitest.Finished(t), t.TempDir()
	codes := func(run string) []byte {
		out := filepath.Join(here, "codes.npy")
		clitest.OK(t, "encode", "--run", run, "--out", out)
		return must.Read(t, out)
	}
	want := codes(dir)
	for _, layout := range []string{"unravel", "pytorch"} {
		file, run := filepath.Join(here, layout+".safetensors"), filepath.Join(here, layout)
		var written struct {
			File, Format, Layout string
			Tensors, Elements    int
		}
		clitest.JSON(t, clitest.OK(t, "export", "--run", dir, "--layout", layout, "--out", file, "--json").Out, &written)
		if written.File != file || written.Format != "safetensors" || written.Layout != layout || written.Tensors == 0 {
			t.Errorf("export: %+v", written)
		}
		var read struct {
			Run               string
			Tensors, Elements int
			Missing, Unknown  []string
		}
		clitest.JSON(t, clitest.OK(t, "import", "--from", file, "--run", run, "--json").Out, &read)
		if read.Run != run || read.Tensors != written.Tensors || read.Elements != written.Elements || len(read.Missing)+len(read.Unknown) > 0 {
			t.Errorf("import: %+v of %+v", read, written)
		}
		if !bytes.Equal(codes(run), want) {
			t.Errorf("layout %s: codes are not those of the run", layout)
		}
		clitest.OK(t, "eval", "--run", run)
	}
	half, again := filepath.Join(here, "half.safetensors"), filepath.Join(here, "again.safetensors")
	clitest.OK(t, "export", "--run", dir, "--half", "--out", half)
	clitest.OK(t, "import", "--from", half, "--run", filepath.Join(here, "half"))
	clitest.OK(t, "export", "--run", filepath.Join(here, "half"), "--half", "--out", again)
	if text := must.Read(t, half); !bytes.Equal(text, must.Read(t, again)) ||
		!bytes.Contains(text, []byte(`"dtype":"F16"`)) || bytes.Contains(text, []byte(`"dtype":"F32"`)) {
		t.Error("rounded weights change when they are rounded again, or are not float16")
	}
	run := filepath.Join(here, "unravel")
	if o := clitest.OK(t, "train", "--run", run, "--resume"); !strings.Contains(o.Log, "continuing after step 0") {
		t.Errorf("training did not continue: %v", o)
	}
	if bytes.Equal(codes(run), want) {
		t.Error("training changed nothing")
	}
}

// Exports without --out go into the run's folder, named by part.
func TestExportFiles(t *testing.T) {
	dir := clitest.Finished(t)
	for args, file := range map[string]string{
		"": "weights.safetensors", "--part decoder": "decoder.safetensors", "--format onnx": "encoder.onnx", "--format onnx --part decoder --layout pytorch": "decoder.onnx",
	} {
		o := clitest.OK(t, append([]string{"export", "--run", dir}, strings.Fields(args)...)...)
		path := filepath.Join(dir, file)
		if !strings.Contains(o.Log, path) || o.Out != "" {
			t.Errorf("%s: %v", args, o)
		}
		data := must.Read(t, path)
		if strings.HasSuffix(file, ".onnx") {
			m, err := onnx.Decode(data)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if m.Metadata["unravel.config"] != string(must.Read(t, filepath.Join(dir, "config.yaml"))) {
				t.Errorf("%s: metadata %v", file, m.Metadata)
			}
			continue
		}
		f := must.Get(safetensors.Decode(data))(t)
		of := "decoder/"
		must.Equal(t, slices.ContainsFunc(f.Tensors,
			func(x safetensors.Tensor) bool { return !strings.HasPrefix(x.Name, of) }), args == "", file, "has other tensors than those of its part")
	}
}

// In a foreign file, names are changed, 64-bit numbers are rounded, and errors name unsuitable tensors.
func TestImportForeign(t *testing.T) {
	dir, here := clitest.Finished(t), t.TempDir()
	file := filepath.Join(here, "w.safetensors")
	clitest.OK(t, "export", "--run", dir, "--out", file)
	change := func(name string, f func(*safetensors.File)) string {
		w := must.Get(safetensors.ReadFile(file))(t)
		w.Metadata = nil
		f(w)
		data := must.Get(safetensors.Encode(w))(t)
		path := filepath.Join(here, name)
		must.Write(t, path, data)
		return path
	}
	config := filepath.Join(dir, rundir.Config)
	double := change("double", func(w *safetensors.File) {
		for i, x := range w.Tensors {
			w.Tensors[i].Name, w.Tensors[i].Data = "net."+x.Name, numeric.Convert[float64](x.Data.([]float32))
		}
	})
	clitest.OK(t, "import", config, "--from", double, "--run", filepath.Join(here, "a"), "--rename", "net.=")
	less := change("less", func(w *safetensors.File) {
		w.Tensors = append(slices.DeleteFunc(w.Tensors, func(x safetensors.Tensor) bool { return x.Name == "encoder/dense1/bias" }),
			safetensors.Tensor{Name: "encoder/dense1/bais", Shape: []int{1}, Data: []float32{1}})
	})
	var loaded struct {
		Run               string
		Tensors, Elements int
		Missing, Unknown  []string
	}
	clitest.JSON(t, clitest.OK(t, "import", config, "--from", less, "--run", filepath.Join(here, "b"), "--partial", "--json").Out, &loaded)
	if !slices.Equal(loaded.Missing, []string{"encoder/dense1/bias"}) || !slices.Equal(loaded.Unknown, []string{"encoder/dense1/bais"}) {
		t.Errorf("%+v", loaded)
	}
	turned := change("turned", func(w *safetensors.File) {
		for i, x := range w.Tensors {
			if x.Name == "encoder/dense1/weight" {
				w.Tensors[i].Shape = []int{x.Shape[1], x.Shape[0]}
			}
		}
	})
	broken := change("broken", func(w *safetensors.File) { w.Tensors[0].Data.([]float32)[0] = float32(math.NaN()) })
	none := change("none", func(w *safetensors.File) {
		w.Tensors = []safetensors.Tensor{{Name: "x", Shape: []int{1}, Data: []int64{1}}}
	})
	damaged := filepath.Join(here, "damaged")
	data := must.Read(t, file)
	data[len(data)-1] ^= 1
	must.Write(t, damaged, data)
	new := filepath.Join(here, "new")
	for _, c := range []struct {
		args  string
		code  int
		words []string
	}{
		{config + " --from " + less, 1, []string{"less: tensors of the model are missing: encoder/dense1/bias", `did you mean "encoder/dense1/bais"?`, "; tensors that the model does not have: encoder/dense1/bais"}},
		{config + " --from " + turned, 1, []string{`tensor "encoder/dense1/weight" has shape`, "it looks like the layout pytorch"}},
		{config + " --from " + file + " --layout pytorch", 1, []string{`tensor "encoder/dense1/weight" has shape`}},
		{config + " --from " + broken, 1, []string{"element 0 is NaN", "want a finite number"}},
		{config + " --from " + none + " --partial", 1, []string{"none of its 1 tensors is a parameter of the model"}},
		{config + " --from " + damaged, 1, []string{"damaged"}},
		{config + " --from " + file + " --rename nothing=x", 1, []string{`no tensor begins with "nothing"`}},
		{config + " --from " + file + " --rename nothing", 2, []string{`--rename "nothing": want OLD=NEW`}},
		{"--from " + broken, 2, []string{"does not name its experiment"}},
		{config + " --from nowhere", 1, []string{"nowhere"}},
		{config + " --from " + file + " seed=x", 2, []string{"seed"}},
		{config, 2, []string{"--from"}},
	} {
		clitest.Mistake(t, clitest.Run(t, append([]string{"import", "--run", new}, strings.Fields(c.args)...)...), c.code, c.words...)
	}
	if _, err := os.Stat(new); err == nil {
		t.Error("a failed import left a folder")
	}
	clitest.Mistake(t, clitest.Run(t, "import", "--run", dir, "--from", file), 1, "already contains a run", "want another folder")
}

// The metadata suffices for a custom loader.
func TestExportMetadata(t *testing.T) {
	dir := clitest.Finished(t)
	clitest.OK(t, "export", "--run", dir)
	f := must.Get(safetensors.ReadFile(filepath.Join(dir, "weights.safetensors")))(t)
	var networks map[string]struct {
		Input, Output []int
		Layers        []struct {
			Operation  string
			Parameters []string
			Attributes map[string]any
			Output     []int
		}
	}
	must.OK(t, json.Unmarshal([]byte(f.Metadata["unravel.networks"]), &networks))
	names := map[string]bool{}
	for _, n := range networks {
		if len(n.Layers) == 0 || n.Input[0] != -1 || n.Output[0] != -1 {
			t.Errorf("network %+v", n)
		}
		for _, l := range n.Layers {
			for _, p := range l.Parameters {
				names[p] = true
				if _, ok := f.Get(p); !ok {
					t.Errorf("layer %s takes %s, which is not in the file", l.Operation, p)
				}
			}
			if l.Operation == "dense" && l.Attributes["activation"] == nil {
				t.Errorf("layer %+v says no activation", l)
			}
		}
	}
	if len(networks) != 2 || len(names) < 8 {
		t.Errorf("%d networks with %d parameters", len(networks), len(names))
	}
	for _, key := range []string{"unravel.format", "unravel.layout", "unravel.layouts", "unravel.images", "unravel.spaces",
		"unravel.code_width", "unravel.config"} {
		if f.Metadata[key] == "" {
			t.Errorf("metadata lack %s", key)
		}
	}
}

// A PyTorch state_dict has a counter besides the moments of a batch norm. Its codes equal PyTorch's. Invalid moments
// are errors.
func TestImportBatchNorm(t *testing.T) {
	t.Chdir("testdata/batch-norm")
	here := t.TempDir()
	run, out := filepath.Join(here, "run"), filepath.Join(here, "codes.npy")
	o := clitest.OK(t, "import", "run.yaml", "--from", "weights.safetensors", "--layout", "pytorch", "--run", run)
	if !strings.Contains(o.Log, "encoder.norm1.num_batches_tracked") {
		t.Errorf("no remark on the counter: %v", o)
	}
	clitest.OK(t, "encode", "--run", run, "--out", out)
	want := must.Get(npy.ReadFile[float32]("codes.npy"))(t)
	got, err := npy.ReadFile[float32](out)
	if err != nil || !slices.Equal(got.Shape, want.Shape) {
		t.Fatalf("codes of shape %v, want %v: %v", got.Shape, want.Shape, err)
	}
	for i, v := range want.Data {
		if !(math.Abs(float64(got.Data[i]-v)) <= 1e-5) {
			t.Errorf("code %d is %v, want %v", i, got.Data[i], v)
		}
	}
	for _, c := range []struct {
		tensor string
		change func(x *safetensors.Tensor)
		words  string
	}{
		{"encoder.norm1.running_var", func(x *safetensors.Tensor) { x.Data.([]float32)[1] = -0.5 }, `tensor "encoder.norm1.running_var": the running variance of channel 1 is -0.5; want 0 or more`},
		{"encoder.norm1.running_var", func(x *safetensors.Tensor) { x.Data.([]float32)[0] = float32(math.Inf(1)) }, `tensor "encoder.norm1.running_var": element 0 is +Inf`},
		{"encoder.norm1.running_mean", func(x *safetensors.Tensor) { x.Data.([]float32)[1] = float32(math.NaN()) }, `tensor "encoder.norm1.running_mean": element 1 is NaN`},
		{"encoder.norm1.num_batches_tracked", func(x *safetensors.Tensor) { x.Name = "encoder.norm2.num_batches_tracked" }, "tensors that the model does not have: encoder.norm2.num_batches_tracked"},
	} {
		data := must.Read(t, "weights.safetensors")
		f, err := safetensors.DecodeForeign(data)
		must.OK(t, err)
		c.change(&f.Tensors[slices.IndexFunc(f.Tensors, func(x safetensors.Tensor) bool { return x.Name == c.tensor })])
		if data, err = safetensors.Encode(f); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(here, "w.safetensors")
		must.Write(t, file, data)
		clitest.Mistake(t, clitest.Run(t, "import", "run.yaml", "--from", file, "--layout", "pytorch", "--run", filepath.Join(here, "no")), 1, c.words)
	}
}

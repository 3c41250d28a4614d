package cli_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/coding"
	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train"
)

// An exported encoder gives the codes, factors and metrics of its run.
func TestEncoder(t *testing.T) {
	long.NotShort(t)
	dir, here := clitest.Finished(t), t.TempDir()
	file := filepath.Join(here, "e.onnx")
	clitest.OK(t, "export", "--run", dir, "--out", file)
	c := must.Get(train.ReadConfig(dir))(t)
	d := must.Get(c.Dataset.Build(c.Seed))(t)
	set := []string{"--encoder", file, "dataset={square: {size: 16, side: 4}}"}
	run, own := filepath.Join(here, "run.npy"), filepath.Join(here, "own.npy")
	clitest.OK(t, "encode", "--run", dir, "--out", run)
	clitest.OK(t, append([]string{"encode", "--out", own}, set...)...)
	a := must.Get(inputs.ReadCodes(run, nil))(t)
	b := must.Get(inputs.ReadCodes(own, nil))(t)
	if a.Rows != b.Rows || a.Cols != b.Cols || a.Rows != d.Len() {
		t.Fatalf("codes [%d %d], want [%d %d]", b.Rows, b.Cols, a.Rows, a.Cols)
	}
	for i, v := range a.Data {
		if d := b.Data[i] - v; !(d <= 1e-5 && d >= -1e-5) {
			t.Fatalf("element %d of the codes is %v, want %v", i, b.Data[i], v)
		}
	}
	if !bytes.Equal(must.Read(t, coding.BesideCodes(own, "factors.npy")), must.Read(t, coding.BesideCodes(run, "factors.npy"))) {
		t.Error("the factors differ from the run's")
	}
	m, _ := clitest.Measure(t, append(set, "--metrics", "mig", "--chance", "0")...)
	want, _ := clitest.Measure(t, "--run", dir, "--metrics", "mig", "--chance", "0")
	if d := m["mig"].Value - want["mig"].Value; !(d < 1e-3 && d > -1e-3) {
		t.Errorf("mig %v, want %v", m["mig"].Value, want["mig"].Value)
	}
	o := clitest.OK(t, append([]string{"encode", "--out", own, "--sample", "7"}, set...)...)
	if !strings.Contains(o.Log, "7 codes of ") {
		t.Errorf("a sample: %v", o)
	}
	half := filepath.Join(here, "half.onnx")
	data := must.Read(t, file)
	must.Write(t, half, data[:len(data)/2])
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--encoder " + file, 2, "--encoder needs a data set; want dataset=NAME"},
		{"--encoder " + file + " dataset=square size=17", 1, "has shape [N, "},
		{"--encoder " + file + " dataset=square dataset.size=17", 1, "has shape [N, "},
		{"--encoder " + half + " dataset=square", 1, "half.onnx: damaged or not an ONNX file: truncated: a field of "},
		{"--encoder " + file + " dataset=square --output z", 1, `it has no output "z"; want one of "codes"`},
		{"--encoder " + file + " dataset=square --std 0", 1, "standard deviation 0 is out of range"},
		{"--encoder " + file + " dataset=square --best", 2, "--best and --average choose weights of a run"},
		{"dataset=square --run " + dir, 2, "want --out FILE"},
		{"--sample 3 --run " + dir, 2, "--sample belongs to a data set"},
	} {
		clitest.Mistake(t, clitest.Run(t, append([]string{"encode"}, strings.Fields(c.args)...)...), c.code, c.want)
	}
	clitest.Mistake(t, clitest.Run(t, append([]string{"eval", "--types", "ordinal"}, set...)...), 2, "the data set of --encoder has its own factors")
}

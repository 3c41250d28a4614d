package weights_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/onnx"
	"github.com/unravel-ml/unravel/internal/onnx/onnxrun"
	"github.com/unravel-ml/unravel/train/weights"
)

// runtimeFolder has the program that runs ONNX networks with onnxruntime, and its packages after npm ci.
const runtimeFolder = "../../tools/onnxcheck"

// needRuntime skips a test if onnxruntime cannot run.
func needRuntime(t *testing.T) (node string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node to run onnxruntime with")
	}
	if _, err := os.Stat(filepath.Join(runtimeFolder, "node_modules", "onnxruntime-web")); err != nil {
		t.Skipf("onnxruntime is not installed: run npm ci in %s", filepath.Clean(runtimeFolder))
	}
	return node
}

// exported is an ONNX network with an input and the expected output.
type exported struct {
	name  string
	model []byte
	in    []float32
	shape []int
	want  []float32
}

// runONNX runs networks with onnxruntime. It returns the largest difference of each, relative to the largest number of
// the result.
func runONNX(t *testing.T, node string, list []exported) []float64 {
	t.Helper()
	type job struct {
		Model  string `json:"model"`
		Input  string `json:"input"`
		Output string `json:"output"`
		Shape  []int  `json:"shape"`
	}
	dir := t.TempDir()
	var jobs []job
	for i, e := range list {
		j := job{fmt.Sprintf("%d.onnx", i), fmt.Sprintf("%d.in", i), fmt.Sprintf("%d.out", i), e.shape}
		for _, name := range []*string{&j.Model, &j.Input, &j.Output} {
			*name = filepath.Join(dir, *name)
		}
		must.Write(t, j.Model, e.model)
		must.Write(t, j.Input, bytesOf(e.in))
		jobs = append(jobs, j)
	}
	text := must.Get(json.Marshal(jobs))(t)
	must.Write(t, filepath.Join(dir, "jobs.json"), text)
	command := exec.Command(node, "check.mjs", filepath.Join(dir, "jobs.json"))
	command.Dir = runtimeFolder
	if output, err := command.CombinedOutput(); err != nil {
		for i, e := range list {
			output = bytes.ReplaceAll(output, []byte(filepath.Join(dir, fmt.Sprintf("%d.onnx", i))), []byte(e.name))
		}
		t.Errorf("onnxruntime: %v\n%s", err, output)
	}
	differences := make([]float64, len(list))
	for i, e := range list {
		differences[i] = math.NaN()
		if raw, err := os.ReadFile(jobs[i].Output); err == nil {
			differences[i] = difference(floatsOf(raw), e.want)
		}
	}
	return differences
}

// difference returns the largest difference of two arrays, relative to the largest number of want, or NaN for different
// lengths.
func difference(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.NaN()
	}
	most, scale := 0.0, 0.0
	for i, w := range want {
		d := math.Abs(float64(got[i]) - float64(w))
		if !(d <= most) {
			most = d
		}
		scale = math.Max(scale, math.Abs(float64(w)))
	}
	return most / scale
}

// onnxruntime gives our codes and pixels for every model with every network, and every network with all activations and
// normalisations, in both layouts.
func TestONNXRuntime(t *testing.T) {
	long.NotShort(t)
	node := needRuntime(t)
	var list []exported
	for _, s := range cases() {
		c := s.build(t)
		list = append(list, c.exports(t)...)
	}
	worst, at := 0.0, ""
	for i, d := range runONNX(t, node, list) {
		if !(d <= 1e-5) {
			t.Errorf("%s: differs by %.2g of its scale, want at most 1e-5", list[i].name, d)
		}
		if d > worst {
			worst, at = d, list[i].name
		}
	}
	t.Logf("%d networks; the greatest difference is %.2g of the scale, of %s", len(list), worst, at)
}

// Our own reader gives the codes and pixels of exported networks in both layouts. Norms and residual networks amplify
// float32 rounding as much as in onnxruntime.
func TestONNXRoundTrip(t *testing.T) {
	long.NotShort(t)
	worst, at := 0.0, ""
	for _, s := range long.Sample(cases(), 12) {
		c := s.build(t)
		most := 1e-6
		if strings.Contains(s.more, "norm") || strings.Contains(s.more, "resnet") {
			most = 1e-5
		}
		for _, e := range c.exports(t) {
			d := difference(e.compute(t), e.want)
			if !(d <= most) {
				t.Errorf("%s: differs by %.2g of its scale, want at most %g", e.name, d, most)
			}
			if d > worst {
				worst, at = d, e.name
			}
		}
	}
	t.Logf("the greatest difference is %.2g of the scale, of %s", worst, at)
}

// compute computes a network with our own reader.
func (e *exported) compute(t *testing.T) []float32 {
	t.Helper()
	m, err := onnx.Decode(e.model)
	if err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	n, err := onnxrun.New(m, "")
	if err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	y, err := n.Run(t.Context(), &onnx.Tensor{Shape: e.shape, Floats: e.in})
	if err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	return y.Floats
}

// exports writes the parts of a case, in both layouts, with the expected outputs.
func (c *testCase) exports(t *testing.T) (list []exported) {
	t.Helper()
	const n = 5
	codes := c.encode(t, n)
	for _, p := range c.source.Parts() {
		for _, l := range []weights.Layout{weights.Native, weights.PyTorch} {
			e := exported{name: fmt.Sprintf("%s: %s in layout %s", c.name, p, l), model: c.onnx(t, p, l)}
			d := c.source.Data
			images := []int{n, d.Height, d.Width, d.Channels}
			if p == weights.Encoder {
				e.in, e.shape, e.want = c.images(n), images, codes
				if l == weights.PyTorch {
					e.in, e.shape = channelsFirst(e.in, images)
				}
			} else {
				e.in, e.shape, e.want = codes, []int{n, len(codes) / n}, c.decode(t, codes, n)
				if l == weights.PyTorch {
					e.want, _ = channelsFirst(e.want, images)
				}
			}
			list = append(list, e)
		}
	}
	return list
}

func (c *testCase) onnx(t *testing.T, p weights.Part, l weights.Layout) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := c.source.WriteONNX(&b, p, l); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	return b.Bytes()
}

// The file follows the format: versions, names, shapes with a free number of images, every value defined once and
// before its use, and every weight used.
func TestONNXStructure(t *testing.T) {
	long.NotShort(t)
	for _, s := range cases() {
		c := s.build(t)
		d := c.source.Data
		for _, p := range c.source.Parts() {
			data := c.onnx(t, p, weights.Native)
			if again := c.onnx(t, p, weights.Native); !bytes.Equal(data, again) {
				t.Errorf("%s: %s: two exports differ", c.name, p)
			}
			m, err := onnx.Decode(data)
			if err != nil {
				t.Fatalf("%s: %s: %v", c.name, p, err)
			}
			if m.IR != onnx.IRVersion || m.Opset != 17 || m.Producer != "unravel" || m.Metadata["unravel.format"] == "" {
				t.Errorf("%s: %s: IR %d, opset %d, producer %q, metadata %v", c.name, p, m.IR, m.Opset, m.Producer, m.Metadata)
			}
			images := onnx.Value{Name: "images", Doc: "images [N, H, W, C]", Shape: []int{onnx.Any, d.Height, d.Width, d.Channels}}
			codes := onnx.Value{Name: "codes", Doc: "codes, a row for each image", Shape: []int{onnx.Any, c.width()}}
			in, out := images, codes
			if p == weights.Decoder {
				in, out = codes, images
			}
			if got := fmt.Sprint(m.Graph.Inputs, m.Graph.Outputs); got != fmt.Sprint([]onnx.Value{in}, []onnx.Value{out}) {
				t.Errorf("%s: %s: inputs and outputs %s", c.name, p, got)
			}
			checkGraph(t, c.name+": "+string(p), &m.Graph)
		}
	}
}

func checkGraph(t *testing.T, name string, g *onnx.Graph) {
	t.Helper()
	defined, used := map[string]bool{}, map[string]bool{}
	define := func(value string) {
		if defined[value] || value == "" {
			t.Errorf("%s: %q is defined twice, or empty", name, value)
		}
		defined[value] = true
	}
	for _, in := range g.Inputs {
		define(in.Name)
	}
	for _, w := range g.Weights {
		define(w.Name)
		size := 1
		for _, n := range w.Shape {
			size *= n
		}
		must.Equal(t, len(w.Floats)+len(w.Ints), size, name, "weight", w.Name, "shape", w.Shape, "numbers")
	}
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			if used[in] = true; !defined[in] {
				t.Errorf("%s: node %s takes %q, which nothing before it defines", name, n.Name, in)
			}
		}
		for _, out := range n.Outputs {
			define(out)
		}
	}
	used[g.Outputs[0].Name] = true
	for value := range defined {
		if !used[value] {
			t.Errorf("%s: nothing uses %q", name, value)
		}
	}
}

// The tests cover every registered model and network.
func TestCasesAreComplete(t *testing.T) {
	var names []string
	for _, s := range cases() {
		names = append(names, s.String())
	}
	for _, want := range registered() {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("no case has %s", want)
		}
	}
}

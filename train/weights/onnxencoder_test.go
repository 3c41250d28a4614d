package weights_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/onnx"
	"github.com/unravel-ml/unravel/train/weights"
)

// counted has images of 2 x 3 pixels. Element e of image i is i + e/100.
type counted struct {
	datasets.Dataset
	images, channels int
}

func (d counted) Name() string                 { return "counted" }
func (d counted) Len() int                     { return d.images }
func (d counted) ImageShape() (h, w, c int)    { return 2, 3, d.channels }
func (d counted) pixel(i, element int) float32 { return float32(i) + float32(element)/100 }
func (d counted) Image(i int, dst []float32) {
	for e := range dst {
		dst[e] = d.pixel(i, e)
	}
}

// Codes have the normalised pixels in the order of the network's axes, for every form of input and batch.
func TestONNXEncoder(t *testing.T) {
	const n, h, w = onnx.Any, 2, 3
	list := func(x ...float64) []float64 { return x }
	for name, c := range map[string]struct {
		channels  int
		shape     []int
		mean, std []float64
		want      string // a part of the error; empty: codes
	}{
		"channels first":   {3, []int{n, 3, h, w}, list(0.1, 0.2, 0.3), list(2, 4, 8), ""},
		"channels last":    {3, []int{n, h, w, 3}, list(0.1, 0.2, 0.3), list(2, 4, 8), ""},
		"one number":       {3, []int{n, 3, h, w}, list(0.5), list(0.5), ""},
		"mean alone":       {3, []int{n, h, w, 3}, list(0.1, 0.2, 0.3), nil, ""},
		"deviation alone":  {3, []int{n, h, w, 3}, nil, list(0.25), ""},
		"free sizes":       {2, []int{n, n, n, n}, list(1, 2), nil, ""},
		"fixed batch":      {3, []int{4, 3, h, w}, nil, nil, ""},
		"rows":             {1, []int{n, h * w}, list(1), list(2), ""},
		"two means":        {3, []int{n, 3, h, w}, list(1, 2), nil, "the mean has 2 numbers; want one for all channels, or 3, one for each"},
		"two deviations":   {3, []int{n, 3, h, w}, nil, list(1, 2), "the standard deviation has 2 numbers"},
		"another width":    {3, []int{n, 3, h, w + 1}, nil, nil, `its input "x" has shape [N, 3, 2, 4]; want [N, 3, 2, 3] or [N, 2, 3, 3]`},
		"rows of channels": {3, []int{n, 3 * h * w}, nil, nil, "has shape [N, 18]; want [N, 3, 2, 3]"},
		"many images":      {3, []int{n, 3, h, w}, nil, nil, "the codes would have shape [7456541, 18]; want at most 134217728 elements"},
		"no batch":         {3, []int{0, 3, h, w}, nil, nil, "a fixed batch of 0 images, which is out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := onnx.Encode(&onnx.Model{Graph: onnx.Graph{Name: "g",
				Nodes:  []onnx.Node{{Op: "Flatten", Inputs: []string{"x"}, Outputs: []string{"y"}}},
				Inputs: []onnx.Value{{Name: "x", Shape: c.shape}}, Outputs: []onnx.Value{{Name: "y", Shape: []int{n, n}}}}})
			must.OK(t, err)
			path := must.Write(t, filepath.Join(t.TempDir(), "e.onnx"), file)
			e := must.Get(weights.ReadONNX(path, weights.ONNXOptions{Mean: c.mean, Std: c.std}))(t)
			d := counted{images: 150, channels: c.channels}
			if name == "many images" {
				d.images = 1<<27/18 + 1
			}
			var done []int
			codes, err := e.Encode(t.Context(), d, func(n int) { done = append(done, n) })
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "e.onnx") {
					t.Fatalf("error %v; want %q", err, c.want)
				}
				return
			}
			must.OK(t, err)
			if codes.Rows != 150 || codes.Cols != h*w*c.channels || len(codes.Data) != codes.Rows*codes.Cols {
				t.Fatalf("codes have shape [%d, %d], and %d elements", codes.Rows, codes.Cols, len(codes.Data))
			}
			if batch := map[bool]int{true: 4, false: 64}[c.shape[0] == 4]; done[0] != 0 || done[1] != batch ||
				!slices.IsSorted(done) || done[len(done)-1] >= 150 {
				t.Errorf("images encoded before each batch: %v; want batches of %d", done, batch)
			}
			at := func(list []float64, channel int, otherwise float64) float64 {
				if len(list) == 0 {
					return otherwise
				}
				return list[channel%len(list)]
			}
			first := len(c.shape) == 4 && c.shape[1] != h
			for i := range codes.Rows {
				for k := range codes.Cols {
					element := k
					if first {
						element = k%(h*w)*c.channels + k/(h*w)
					}
					channel := element % c.channels
					want := (float64(d.pixel(i, element)) - at(c.mean, channel, 0)) / at(c.std, channel, 1)
					if got := codes.Data[i*codes.Cols+k]; !(math.Abs(got-want) <= 1e-5*max(1, math.Abs(want))) {
						t.Fatalf("image %d, column %d: %v, want %v", i, k, got, want)
					}
				}
			}
		})
	}
	for want, o := range map[string]weights.ONNXOptions{"mean NaN is no finite number": {Mean: list(math.NaN())}, "mean +Inf": {Mean: list(math.Inf(1))},
		"standard deviation 0 is out of range": {Std: list(1, 0)}, "standard deviation +Inf": {Std: list(math.Inf(1))}} {
		must.ErrorOf(weights.ReadONNX("none.onnx", o))(t, want)
	}
}

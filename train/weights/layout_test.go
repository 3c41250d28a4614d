package weights_test

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/train/weights"
)

// torch computes the layers of torch.nn on a file of layout pytorch, with plain loops in double precision.
type torch struct {
	*testing.T
	file *safetensors.File
}

func (p torch) tensor(name string) ([]float32, []int) {
	p.Helper()
	x, ok := p.file.Get(name)
	if !ok {
		p.Fatalf("the file has no %q", name)
	}
	return x.Data.([]float32), x.Shape
}

// linear is torch.nn.Linear on one row.
func (p torch) linear(name string, x []float64) []float64 {
	w, shape := p.tensor(name + ".weight")
	b, _ := p.tensor(name + ".bias")
	if len(x) != shape[1] {
		p.Fatalf("%s takes %d columns, got %d", name, shape[1], len(x))
	}
	y := make([]float64, shape[0])
	for o := range y {
		y[o] = float64(b[o])
		for i, v := range x {
			y[o] += float64(w[o*len(x)+i]) * v
		}
	}
	return y
}

// conv is torch.nn.Conv2d with stride 2 and padding 1 on one image [C, side, side].
func (p torch) conv(name string, x []float64, side int) []float64 {
	w, shape := p.tensor(name + ".weight")
	b, _ := p.tensor(name + ".bias")
	out, in, k, half := shape[0], shape[1], shape[2], side/2
	y := make([]float64, out*half*half)
	for o := range out {
		for at := range half * half {
			sum := float64(b[o])
			for i := range in * k * k {
				r, c := at/half*2+i/k%k-1, at%half*2+i%k-1
				if r >= 0 && r < side && c >= 0 && c < side {
					sum += float64(w[o*in*k*k+i]) * x[(i/(k*k)*side+r)*side+c]
				}
			}
			y[o*half*half+at] = sum
		}
	}
	return y
}

// convTranspose is torch.nn.ConvTranspose2d with stride 2 and padding 1.
func (p torch) convTranspose(name string, x []float64, side int) []float64 {
	w, shape := p.tensor(name + ".weight")
	b, _ := p.tensor(name + ".bias")
	in, out, k, wide := shape[0], shape[1], shape[2], 2*side
	y := make([]float64, out*wide*wide)
	for o := range out {
		for at := range wide * wide {
			y[o*wide*wide+at] = float64(b[o])
		}
		for i := range in {
			for at := range side * side {
				for tap := range k * k {
					r, c := at/side*2+tap/k-1, at%side*2+tap%k-1
					if r >= 0 && r < wide && c >= 0 && c < wide {
						y[(o*wide+r)*wide+c] += float64(w[(i*out+o)*k*k+tap]) * x[i*side*side+at]
					}
				}
			}
		}
	}
	return y
}

// batchNorm is torch.nn.BatchNorm2d or BatchNorm1d after training.
func (p torch) batchNorm(name string, x []float64) {
	w, _ := p.tensor(name + ".weight")
	b, _ := p.tensor(name + ".bias")
	mean, _ := p.tensor(name + ".running_mean")
	variance, _ := p.tensor(name + ".running_var")
	pixels := len(x) / len(w)
	for i := range x {
		c := i / pixels
		x[i] = (x[i]-float64(mean[c]))/math.Sqrt(float64(variance[c])+1e-5)*float64(w[c]) + float64(b[c])
	}
}

func relu(x []float64) []float64 {
	for i := range x {
		x[i] = max(x[i], 0)
	}
	return x
}

// PyTorch's layers on a file in its layout give our codes and pixels: convolutions, dense layers after and before
// images, transposed convolutions, batch norm.
func TestPyTorchLayout(t *testing.T) {
	long.NotShort(t)
	for _, more := range []string{"encoder: {conv64: {features: 24}}, decoder: conv64",
		"encoder: {conv64-norm: {features: 24, norm: batch}}, decoder: mlp"} {
		c := newCase(t, "ae", more, 32, 32, 3)
		p := torch{t, c.file(t, "", weights.PyTorch)}
		const n = 2
		images, _ := channelsFirst(c.images(n), []int{n, 32, 32, 3})
		codes := c.encode(t, n)
		pixels, _ := channelsFirst(c.decode(t, codes, n), []int{n, 32, 32, 3})
		var gotCodes, gotPixels []float32
		for i := range n {
			z := p.encode(numeric.Convert[float64](images[i*len(images)/n:(i+1)*len(images)/n]), strings.Contains(more, "norm"))
			gotCodes = append(gotCodes, numeric.Convert[float32](z)...)
			y := p.decode(numeric.Convert[float64](codes[i*len(codes)/n:(i+1)*len(codes)/n]), strings.Contains(more, "decoder: mlp"))
			for k, v := range y {
				y[k] = 1 / (1 + math.Exp(-v))
			}
			gotPixels = append(gotPixels, numeric.Convert[float32](y)...)
		}
		for what, d := range map[string]float64{"codes": difference(gotCodes, codes), "pixels": difference(gotPixels, pixels)} {
			if !(d <= 1e-5) {
				t.Errorf("%s: %s differ by %.2g", more, what, d)
			}
		}
	}
}

func (p torch) encode(x []float64, norm bool) []float64 {
	for i, side := range []int{32, 16, 8, 4} {
		x = relu(p.conv(fmt.Sprintf("encoder.conv%d", i+1), x, side))
		if norm {
			p.batchNorm(fmt.Sprintf("encoder.norm%d", i+1), x)
		}
	}
	if !norm {
		return p.linear("latent.code", relu(p.linear("encoder.dense", x)))
	}
	x = relu(p.linear("encoder.conv5", x))
	p.batchNorm("encoder.norm5", x)
	return p.linear("latent.code", p.linear("encoder.conv6", x))
}

func (p torch) decode(z []float64, mlp bool) []float64 {
	x := relu(p.linear("decoder.dense2", relu(p.linear("decoder.dense1", z))))
	if mlp {
		return p.linear("decoder.out", x)
	}
	for i, side := range []int{2, 4, 8} {
		x = relu(p.convTranspose(fmt.Sprintf("decoder.conv%d", i+1), x, side))
	}
	return p.convTranspose("decoder.conv4", x, 16)
}

// file exports a case as safetensors.
func (c *testCase) file(t *testing.T, p weights.Part, l weights.Layout) *safetensors.File {
	t.Helper()
	return must.Get(safetensors.Decode(c.safetensors(t, p, l)))(t)
}

func (c *testCase) safetensors(t *testing.T, p weights.Part, l weights.Layout) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := c.source.WriteSafetensors(&b, p, l); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	return b.Bytes()
}

// Export and load preserve the parameters and states of every model in both layouts, bit for bit.
func TestRoundTrip(t *testing.T) {
	long.NotShort(t)
	path := filepath.Join(t.TempDir(), "w")
	for _, s := range cases() {
		c := s.build(t)
		params := c.source.Model.Params()
		for _, l := range []weights.Layout{weights.Native, weights.PyTorch} {
			must.Write(t, path, c.safetensors(t, "", l))
			want := map[string][]float32{}
			for _, name := range params.Names() {
				want[name] = slices.Clone(params.Get(name).Float32s())
				clear(params.Get(name).Float32s())
			}
			f := must.Get(weights.Open(path))(t)
			loaded, err := c.source.Load(f, weights.LoadOptions{})
			if err != nil {
				t.Errorf("%s: layout %s: %v", c.name, l, err)
				continue
			}
			if loaded.Elements != params.Count() || len(loaded.Missing)+len(loaded.Unknown) > 0 {
				t.Errorf("%s: layout %s: %+v of %d", c.name, l, loaded, params.Count())
			}
			for name, v := range want {
				if !slices.Equal(params.Get(name).Float32s(), v) {
					t.Errorf("%s: layout %s: %q has changed", c.name, l, name)
				}
			}
		}
	}
}

// Weights of another program have a warning if a convolution pads in another way than PyTorch's usual padding does.
func TestPaddingWarning(t *testing.T) {
	conv := "encoder: {layers: [{conv: {channels: 4, kernel: %d, stride: %d, padding: %s}}, flatten, {dense: 6}]}, decoder: {mlp: {hidden: [4]}}"
	deconv := "encoder: {mlp: {hidden: [4]}}, decoder: {layers: [{dense: 8}, {image: 4}, {deconv: {channels: image, kernel: %d, stride: %d, padding: %s}}]}"
	for _, x := range []struct {
		networks, padding string
		side, k, stride   int
		want              string
	}{
		{conv, "same", 8, 3, 2, "encoder/conv1/weight: 3x3 filters of stride 2 start 0 pixels outside the image, and 1 with padding=1 in PyTorch; want padding: symmetric if the weights come from such a network"},
		{conv, "same", 8, 5, 2, "encoder/conv1/weight: 5x5 filters of stride 2 start 1 pixels outside the image, and 2 with padding=2 in PyTorch; want padding: symmetric if the weights come from such a network"},
		{conv, "symmetric", 8, 3, 2, ""},
		{conv, "valid", 8, 3, 2, ""},
		{conv, "same", 7, 3, 2, ""},
		{conv, "same", 8, 4, 2, ""},
		{conv, "same", 8, 3, 1, ""},
		{deconv, "same", 8, 3, 2, "decoder/deconv1/weight: 3x3 filters of stride 2 start 0 pixels outside the image, and 1 with padding=1 in PyTorch; results differ if the weights come from such a network"},
		{deconv, "same", 8, 4, 2, ""},
	} {
		c := newCase(t, "ae", fmt.Sprintf(x.networks, x.k, x.stride, x.padding), x.side, x.side, 1)
		var tensors []weights.Tensor
		for _, w := range c.file(t, "", weights.PyTorch).Tensors {
			tensors = append(tensors, weights.Tensor{Name: w.Name, Shape: w.Shape, Data: w.Data.([]float32)})
		}
		loaded, err := c.source.Load(weights.NewFile("file", tensors), weights.LoadOptions{Layout: weights.PyTorch})
		must.OK(t, err)
		must.Equal(t, loaded.Warning, x.want, c.name, "warning")
	}
}

// An exported network cannot be read. The error names a readable format.
func TestOpenONNX(t *testing.T) {
	path := filepath.Join(t.TempDir(), "encoder.onnx")
	c := cases()[0].build(t)
	var b bytes.Buffer
	must.Get(c.source.WriteONNX(&b, weights.Encoder, weights.Native))(t)
	must.Write(t, path, b.Bytes())
	must.ErrorOf(weights.Open(path))(t, "want its weights as safetensors")
}

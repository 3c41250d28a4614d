package kernels

import "github.com/unravel-ml/unravel/graph/vulkan"

// Side describes the windows of a pooling along one side of an image. Windows end at the edges of the image.
type Side struct {
	Pixels int // pixels of the image
	Count  int // windows
	Size   int // pixels of a window; unused for bins
	Stride int // pixels between windows. 0: bin i covers the pixels floor(i Pixels/Count) to ceil((i+1) Pixels/Count)
	Before int // pixels of the first window before the image
}

func (s Side) constants() []uint32 { return sizes(s.Pixels, s.Count, s.Size, s.Stride, s.Before) }

func constantsOf(rows, columns Side, n ...int) []uint32 {
	return append(append(sizes(n...), rows.constants()...), columns.constants()...)
}

// MaxPool records the largest pixels y [batch, rows.Count, columns.Count, channels] of windows of images x [batch,
// rows.Pixels, columns.Pixels, channels].
func MaxPool(t *vulkan.Tape, x, y vulkan.Buffer, batch, channels int, rows, columns Side) {
	n := batch * rows.Count * columns.Count * channels
	each(t, "maxpool", n, constantsOf(rows, columns, n, channels, 0), vulkan.Read(x), vulkan.Write(y))
}

// MaxPoolGradient records the gradient of [MaxPool]. Among equal largest pixels the first, row by row, gets the
// gradient.
func MaxPoolGradient(t *vulkan.Tape, x, dy, dx vulkan.Buffer, batch, channels int, rows, columns Side) {
	n := batch * rows.Count * columns.Count * channels
	places := t.Scratch(n)
	each(t, "maxpool", n, constantsOf(rows, columns, n, channels, 1), vulkan.Read(x), vulkan.Write(places))
	n = batch * rows.Pixels * columns.Pixels * channels
	each(t, "maxpoolgradient", n, constantsOf(rows, columns, n, channels), vulkan.Read(places), vulkan.Read(dy),
		vulkan.Write(dx))
}

// The maps of resample.comp.
const (
	averages = iota
	nearest
	bilinear
)

// AveragePool records averages y of windows of images x, with the shapes of [MaxPool].
func AveragePool(t *vulkan.Tape, x, y vulkan.Buffer, batch, channels int, rows, columns Side) {
	resample(t, averages, false, x, y, batch, channels, rows, columns)
}

// AveragePoolGradient records the gradient of [AveragePool].
func AveragePoolGradient(t *vulkan.Tape, dy, dx vulkan.Buffer, batch, channels int, rows, columns Side) {
	resample(t, averages, true, dy, dx, batch, channels, rows, columns)
}

// Upsample records images x [batch, h, w, channels], enlarged by a factor along both sides: see layer.Upsample.
func Upsample(t *vulkan.Tape, x, y vulkan.Buffer, batch, h, w, channels, times int, smooth bool) {
	enlarge(t, x, y, batch, h, w, channels, times, smooth, false)
}

// UpsampleGradient records the gradient of [Upsample].
func UpsampleGradient(t *vulkan.Tape, dy, dx vulkan.Buffer, batch, h, w, channels, times int, smooth bool) {
	enlarge(t, dy, dx, batch, h, w, channels, times, smooth, true)
}

func enlarge(t *vulkan.Tape, x, y vulkan.Buffer, batch, h, w, channels, times int, smooth, backward bool) {
	f := nearest
	if smooth {
		f = bilinear
	}
	resample(t, f, backward, x, y, batch, channels, Side{Pixels: h, Count: h * times, Size: times}, Side{Pixels: w,
		Count: w * times, Size: times})
}

func resample(t *vulkan.Tape, f int, backward bool, x, y vulkan.Buffer, batch, channels int, rows, columns Side) {
	n := batch * rows.Count * columns.Count * channels
	if backward {
		n = batch * rows.Pixels * columns.Pixels * channels
	}
	each(t, "resample", n, constantsOf(rows, columns, n, channels, f, flag(backward)), vulkan.Read(x), vulkan.Write(y))
}

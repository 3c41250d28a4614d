package kernels

import "github.com/unravel-ml/unravel/graph/vulkan"

// The formulas of combine.comp.
const (
	mixed = iota
	multiplied
	line
	scaled
)

func combine(t *vulkan.Tape, f int, a, b float64, x, y, z vulkan.Buffer, n int) {
	each(t, "combine", n, append(sizes(n, f), float(a), float(b)), vulkan.Read(x), vulkan.Read(either(y, x)),
		vulkan.Write(z))
}

// Mix records z = a x + b y for n elements. z may be x or y.
func Mix(t *vulkan.Tape, a float64, x vulkan.Buffer, b float64, y, z vulkan.Buffer, n int) {
	combine(t, mixed, a, b, x, y, z, n)
}

// Add records z = x + y for n elements. z may be x or y.
func Add(t *vulkan.Tape, x, y, z vulkan.Buffer, n int) { Mix(t, 1, x, 1, y, z, n) }

// Multiply records z = x y, elementwise. It is the value and the gradient of dropout, with a mask for y. z may be x or
// y.
func Multiply(t *vulkan.Tape, x, y, z vulkan.Buffer, n int) {
	combine(t, multiplied, 1, 0, x, y, z, n)
}

// Scale records y = factor x for n elements. y may be x.
func Scale(t *vulkan.Tape, factor float64, x, y vulkan.Buffer, n int) {
	combine(t, line, factor, 0, x, vulkan.Buffer{}, y, n)
}

// Line records y = a x + b for n elements. y may be x.
func Line(t *vulkan.Tape, a float64, x vulkan.Buffer, b float64, y vulkan.Buffer, n int) {
	combine(t, line, a, b, x, vulkan.Buffer{}, y, n)
}

// ScaleBy records y = factor s x for n elements and the number s, a buffer of one element. y may be x.
func ScaleBy(t *vulkan.Tape, factor float64, s, x, y vulkan.Buffer, n int) {
	combine(t, scaled, factor, 0, x, s, y, n)
}

// WeightedSum records out = sum_i weights[i] in[i] for n elements, in the order of i.
func WeightedSum(t *vulkan.Tape, weights []float64, in []vulkan.Buffer, out vulkan.Buffer, n int) {
	switch len(in) {
	case 0:
		t.Fill(out, 0)
	case 1:
		Scale(t, weights[0], in[0], out, n)
	default:
		Mix(t, weights[0], in[0], weights[1], in[1], out, n)
	}
	for i := 2; i < len(in); i++ {
		Mix(t, 1, out, weights[i], in[i], out, n)
	}
}

// Copy records the copy of the first n elements of x to y.
func Copy(t *vulkan.Tape, x, y vulkan.Buffer, n int) { t.CopyRange(y, 0, x, 0, 4*int64(n)) }

// box is a part of an array with 4 axes: its offset and its strides.
type box struct {
	vulkan.Buffer
	offset  int
	strides [4]int
}

// copyBox records the copy of a box of the given size between two arrays. Elements of y outside the box keep their
// values.
func copyBox(t *vulkan.Tape, x, y box, size [4]int) {
	n := size[0] * size[1] * size[2] * size[3]
	constants := sizes(n, size[1], size[2], size[3], x.offset)
	constants = append(constants, sizes(x.strides[:]...)...)
	constants = append(constants, sizes(y.offset)...)
	constants = append(constants, sizes(y.strides[:]...)...)
	each(t, "copy", n, constants, vulkan.Read(x.Buffer), vulkan.Update(y.Buffer))
}

// CopyColumns records the copy of width columns of each row from matrix x, with rows of xRow elements and from column
// xAt on, to column yAt of matrix y, with rows of yRow elements. Other columns of y keep their values.
func CopyColumns(t *vulkan.Tape, y vulkan.Buffer, yAt, yRow int, x vulkan.Buffer, xAt, xRow, width, rows int) {
	copyBox(t, box{x, xAt, [4]int{0, 0, xRow, 1}}, box{y, yAt, [4]int{0, 0, yRow, 1}}, [4]int{1, 1, rows, width})
}

// Crop records the copy of the upper left height by width pixels of images x [batch, h, w, channels] to y [batch,
// height, width, channels], or from y to that part of x if backward is true. Other pixels of x keep their values.
func Crop(t *vulkan.Tape, x, y vulkan.Buffer, batch, h, w, channels, height, width int, backward bool) {
	large := box{x, 0, [4]int{h * w * channels, w * channels, channels, 1}}
	small := box{y, 0, [4]int{height * width * channels, width * channels, channels, 1}}
	if backward {
		large, small = small, large
	}
	copyBox(t, large, small, [4]int{batch, height, width, channels})
}

// Shuffle records the rearrangement of channels into pixels, from x [batch, h, w, c times^2] to y [batch, h times, w
// times, c], or from y to x if backward is true.
func Shuffle(t *vulkan.Tape, x, y vulkan.Buffer, batch, h, w, c, times int, backward bool) {
	piece := c * times // a row of the square of a pixel
	deep := box{x, 0, [4]int{w * times * piece, piece, times * piece, 1}}
	flat := box{y, 0, [4]int{w * times * piece, w * piece, piece, 1}}
	if backward {
		deep, flat = flat, deep
	}
	copyBox(t, deep, flat, [4]int{batch * h, times, w, piece})
}

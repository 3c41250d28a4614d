package raster

import (
	"fmt"
	"image"
	"math"
	"slices"
)

// maxSide is the maximum side of pictures in pixels; larger images are downsampled by averaging.
const maxSide = 160

// Pictures creates pictures of images with one shape, with common limits for their values.
//
//   - Images of one to three channels are shown as [FromFloats] shows them.
//   - Images with four or more channels are shown as a nearly square grid of grey tiles, one per channel.
//   - Sequences, images of a single row, and vectors, single pixels of more than three channels, are curves from Low
//     to High, one for each channel of a sequence.
//
// Images with sides above 160 pixels are reduced by an integer factor.
type Pictures struct {
	Height, Width, Channels int
	Low, High               float64 // black and white, or the bottom and the top of curves
}

// PicturesOf determines the limits from the finite numbers of some images. They are 0 to 1 for pixels in this range, 0
// to the maximum for curves without negative numbers, and symmetric around 0 otherwise.
func PicturesOf(h, w, c int, images ...[]float32) Pictures {
	p := Pictures{Height: h, Width: w, Channels: c, High: 1}
	top, low := 0.0, 0.0
	for _, pixels := range images {
		top = max(top, Largest(pixels))
		for _, v := range pixels {
			if float64(v) < low && !math.IsInf(float64(v), 0) {
				low = float64(v)
			}
		}
	}
	switch {
	case low < 0:
		p.Low, p.High = -top, top
	case p.Curves() || top > 1:
		p.High = top
	}
	return p
}

func (p Pictures) Curves() bool { return p.Height == 1 && (p.Width > 1 || p.Channels > 3) }

func (p Pictures) Of(pixels []float32) ([]image.Image, error) {
	size := p.Height * p.Width * p.Channels
	if p.Height < 1 || p.Width < 1 || p.Channels < 1 || len(pixels)%size != 0 {
		return nil, fmt.Errorf("raster: %d numbers are not a whole number of %d x %d x %d images",
			len(pixels), p.Height, p.Width, p.Channels)
	}
	images := make([]image.Image, len(pixels)/size)
	for i := range images {
		img, err := p.one(pixels[i*size : (i+1)*size])
		if err != nil {
			return nil, err
		}
		images[i] = img
	}
	return images, nil
}

func (p Pictures) one(pixels []float32) (image.Image, error) {
	if p.Curves() {
		return p.curvesOf(pixels), nil
	}
	if p.Low != 0 || p.High > 1 {
		pixels = slices.Clone(pixels)
		for i, v := range pixels {
			pixels[i] = float32((float64(v) - p.Low) / (p.High - p.Low))
		}
	}
	h, w, c, columns := p.Height, p.Width, p.Channels, 1
	if c > 3 {
		columns = min(c, int(math.Ceil(math.Sqrt(float64(c*h)/float64(w)))))
	}
	rows := (c + columns - 1) / columns
	if c <= 3 {
		rows = 1
	}
	by := (max(h*rows, w*columns) + maxSide - 1) / maxSide
	pixels, h, w = reduced(pixels, h, w, c, by)
	if c <= 3 {
		return FromFloats(pixels, h, w, c)
	}
	tiled, th, tw := tiles(pixels, h, w, c, rows, columns)
	return FromFloats(tiled, th, tw, 1)
}

// curvesOf draws the channels of a sequence, or a vector, in one plot.
func (p Pictures) curvesOf(pixels []float32) image.Image {
	length, channels := p.Width, p.Channels
	if p.Width == 1 {
		length, channels = p.Channels, 1
	}
	img := newCurves(max(seriesSide, min(length, maxSide)), p.Low, p.High)
	values := make([]float32, length)
	for k := range channels {
		for i := range values {
			values[i] = pixels[i*channels+k]
		}
		img.draw(values, curveInks[k%len(curveInks)])
	}
	return img.RGBA
}

// reduced averages blocks of by x by pixels. Blocks at the right and bottom edges may be smaller.
func reduced(pixels []float32, h, w, c, by int) ([]float32, int, int) {
	if by <= 1 {
		return pixels, h, w
	}
	outH, outW := (h+by-1)/by, (w+by-1)/by
	out := make([]float32, outH*outW*c)
	for y := range outH {
		for x := range outW {
			bottom, right := min((y+1)*by, h), min((x+1)*by, w)
			for k := range c {
				var sum float64
				for r := y * by; r < bottom; r++ {
					for q := x * by; q < right; q++ {
						sum += float64(pixels[(r*w+q)*c+k])
					}
				}
				out[(y*outW+x)*c+k] = float32(sum / float64((bottom-y*by)*(right-x*by)))
			}
		}
	}
	return out, outH, outW
}

// tiles arranges the channels of an image in a grid with a white pixel between them.
func tiles(pixels []float32, h, w, c, rows, columns int) (out []float32, height, width int) {
	height, width = rows*(h+1)-1, columns*(w+1)-1
	out = slices.Repeat([]float32{1}, height*width)
	for k := range c {
		top, left := k/columns*(h+1), k%columns*(w+1)
		for p := range h * w {
			out[(top+p/w)*width+left+p%w] = pixels[p*c+k]
		}
	}
	return out, height, width
}

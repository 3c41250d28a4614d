package raster

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"io"
	"slices"
)

// WriteGIF writes pictures of equal size as an animation in an endless loop. Each frame is shown for the given number
// of hundredths of a second. All frames have the same palette. It has all colours of the frames if there are at most
// 256, and otherwise 256 colours by [Palette]. The bytes depend only on the pixels.
func WriteGIF(w io.Writer, frames []*image.RGBA, hundredths int) error {
	if len(frames) == 0 {
		return errors.New("raster: an animation without frames")
	}
	p := Palette(frames, 256)
	bounds := frames[0].Bounds()
	g := &gif.GIF{Config: image.Config{ColorModel: p, Width: bounds.Dx(), Height: bounds.Dy()}}
	known := map[color.RGBA]uint8{}
	for i, f := range frames {
		if f.Bounds() != bounds {
			return fmt.Errorf("raster: frame %d has the bounds %v; want %v, as the first", i, f.Bounds(), bounds)
		}
		g.Image = append(g.Image, paletted(f, p, known))
		g.Delay = append(g.Delay, hundredths)
	}
	var b bytes.Buffer // the encoder does not report all errors of its writer
	if err := gif.EncodeAll(&b, g); err != nil {
		return fmt.Errorf("raster: write GIF: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("raster: write GIF: %w", err)
	}
	return nil
}

// paletted maps every colour to the nearest colour of a palette.
func paletted(f *image.RGBA, p color.Palette, known map[color.RGBA]uint8) *image.Paletted {
	b := f.Bounds()
	out := image.NewPaletted(image.Rect(0, 0, b.Dx(), b.Dy()), p)
	var last color.RGBA // adjacent pixels are often equal
	var i uint8
	for y := range b.Dy() {
		row := f.Pix[y*f.Stride:][:4*b.Dx()]
		for x := range b.Dx() {
			c := color.RGBA{row[4*x], row[4*x+1], row[4*x+2], row[4*x+3]}
			if c != last || x+y == 0 {
				var ok bool
				if i, ok = known[c]; !ok {
					i = uint8(p.Index(c))
					known[c] = i
				}
				last = c
			}
			out.Pix[y*out.Stride+x] = i
		}
	}
	return out
}

// Palette returns at most n opaque colours for pictures. If the pictures have at most n colours, it returns all of
// them. Otherwise it returns a palette by median cut (Heckbert 1982), which divides boxes of colours at the median of
// the channel with the widest range. The next box to divide has the largest number of pixels times the square of the
// range. The result is the mean of each box.
func Palette(pictures []*image.RGBA, n int) color.Palette {
	counts := map[[3]uint8]int{}
	for _, m := range pictures {
		b := m.Bounds()
		var last [3]uint8 // adjacent pixels are often equal
		run := 0
		for y := range b.Dy() {
			row := m.Pix[y*m.Stride:][:4*b.Dx()]
			for x := range b.Dx() {
				c := [3]uint8(row[4*x:])
				if c != last && run > 0 {
					counts[last] += run
					run = 0
				}
				last = c
				run++
			}
		}
		if run > 0 {
			counts[last] += run
		}
	}
	var all colorBox
	for c, pixels := range counts {
		all = append(all, weighedColor{c, pixels})
	}
	slices.SortFunc(all, func(a, b weighedColor) int { return slices.Compare(a.color[:], b.color[:]) }) // maps have no order
	boxes := []colorBox{all}
	for len(boxes) < n {
		best, most := -1, 0.0
		for i, b := range boxes {
			_, width := b.widest()
			if weight := float64(width) * float64(width) * float64(b.pixels()); weight > most {
				best, most = i, weight
			}
		}
		if best < 0 { // every box has a single colour
			break
		}
		low, high := boxes[best].cut()
		boxes[best] = low
		boxes = append(boxes, high)
	}
	var p color.Palette
	for _, b := range boxes {
		p = append(p, b.mean())
	}
	return p
}

// weighedColor is a colour (red, green, blue) and its number of pixels.
type weighedColor struct {
	color  [3]uint8
	pixels int
}

type colorBox []weighedColor

func (b colorBox) pixels() (n int) {
	for _, c := range b {
		n += c.pixels
	}
	return n
}

func (b colorBox) widest() (channel, width int) {
	for k := range 3 {
		low, high := 255, 0
		for _, c := range b {
			low, high = min(low, int(c.color[k])), max(high, int(c.color[k]))
		}
		if high-low > width {
			channel, width = k, high-low
		}
	}
	return channel, width
}

// cut divides a box of two or more colours at the median pixel of its widest channel.
func (b colorBox) cut() (low, high colorBox) {
	k, _ := b.widest()
	slices.SortStableFunc(b, func(a, c weighedColor) int { return int(a.color[k]) - int(c.color[k]) })
	half, sum := b.pixels()/2, 0
	at := 0
	for at < len(b)-2 && sum+b[at].pixels <= half {
		sum += b[at].pixels
		at++
	}
	return b[: at+1 : at+1], b[at+1:]
}

func (b colorBox) mean() color.RGBA {
	var sum [3]int
	n := b.pixels()
	for _, c := range b {
		for k, v := range c.color {
			sum[k] += int(v) * c.pixels
		}
	}
	return color.RGBA{uint8((sum[0] + n/2) / n), uint8((sum[1] + n/2) / n), uint8((sum[2] + n/2) / n), 255}
}

// Mosaic arranges pictures of equal size in a grid on white, with white gaps. Every pixel is enlarged by the factor
// scale. Labels, if not nil, are above the pictures and are cut to the width. Nil pictures leave a blank.
func Mosaic(pictures []image.Image, labels []string, columns, scale, gap int) *image.RGBA {
	w, h := 1, 1
	for _, m := range pictures {
		if m != nil {
			w, h = m.Bounds().Dx()*scale, m.Bounds().Dy()*scale
		}
	}
	cell, above := w, 0
	if labels != nil {
		above = lineHeight - 2
		for _, label := range labels {
			cell = max(cell, min(TextWidth(drawable(label)), mosaicLabel))
		}
	}
	columns = max(1, min(columns, len(pictures)))
	rows := (len(pictures) + columns - 1) / columns
	out := image.NewRGBA(image.Rect(0, 0, columns*(cell+gap)+gap, rows*(h+above+gap)+gap))
	fill(out, out.Rect, paper)
	for i, m := range pictures {
		at := image.Pt(gap+i%columns*(cell+gap)+(cell-w)/2, gap+i/columns*(h+above+gap)+above)
		if i < len(labels) {
			text := Cut(labels[i], cell)
			Text(out, at.X+(w-TextWidth(text))/2, at.Y-above+textUp, text, faint)
		}
		if m != nil {
			draw.Draw(out, image.Rectangle{at, at.Add(image.Pt(w, h))}, Enlarge(m, scale), image.Point{}, draw.Src)
		}
	}
	return out
}

// mosaicLabel is the maximum width of cells for labels, in pixels.
const mosaicLabel = 96

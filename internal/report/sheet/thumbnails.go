package sheet

import (
	"bytes"
	"image"
	"image/color"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/raster"
	"github.com/unravel-ml/unravel/internal/report/web"
)

// Limits of a sheet of thumbnails: pictures, values of their images, pixels per side, and bytes of the PNG file.
const (
	maxThumbnails  = 400
	maxPixels      = 1 << 26
	thumbnailSide  = 64
	thumbnailBytes = 450_000
)

// Thumbnails returns a sheet of the first images, as many as the limits allow: rather many than large pictures.
func Thumbnails(d datasets.Dataset, images []int) (*web.Thumbnails, error) {
	if d == nil || len(images) == 0 {
		return nil, nil
	}
	h, w, c := d.ImageShape()
	images = images[:min(len(images), maxThumbnails, max(1, maxPixels/(h*w*c)))]
	pixels := make([]float32, len(images)*h*w*c)
	datasets.Fill(d, images, pixels)
	pictures, err := raster.PicturesOf(h, w, c, pixels).Of(pixels)
	if err != nil {
		return nil, err
	}
	size := pictures[0].Bounds()
	reduction := (max(size.Dx(), size.Dy()) + thumbnailSide - 1) / thumbnailSide
	for {
		sheet, t := thumbnailSheet(pictures, reduction)
		var png bytes.Buffer
		if err := raster.WritePNG(&png, sheet); err != nil {
			return nil, err
		}
		if png.Len() <= thumbnailBytes || len(pictures) == 1 {
			t.Source = web.PNG(png.Bytes())
			return &t, nil
		}
		if max(t.Width, t.Height) > thumbnailSide/2 {
			reduction *= 2
		} else {
			pictures = pictures[:(len(pictures)+1)/2]
		}
	}
}

// thumbnailSheet lays pictures on an almost square sheet, reduced by an integer factor, with a palette if it can.
func thumbnailSheet(pictures []image.Image, reduction int) (image.Image, web.Thumbnails) {
	size := pictures[0].Bounds()
	t := web.Thumbnails{Width: (size.Dx() + reduction - 1) / reduction, Height: (size.Dy() + reduction - 1) / reduction,
		Across: 1, Count: len(pictures)}
	for t.Across*t.Across*t.Width < len(pictures)*t.Height {
		t.Across++
	}
	sheet := image.NewRGBA(image.Rect(0, 0, t.Across*t.Width, (len(pictures)+t.Across-1)/t.Across*t.Height))
	for i, p := range pictures {
		left, top := i%t.Across*t.Width, i/t.Across*t.Height
		for y := range t.Height {
			for x := range t.Width {
				sheet.SetRGBA(left+x, top+y, meanColour(p, x*reduction, y*reduction, reduction))
			}
		}
	}
	return toPalette(sheet), t
}

func meanColour(p image.Image, left, top, side int) color.RGBA {
	var sum [3]uint32
	size, n := p.Bounds(), uint32(0)
	for y := top; y < min(top+side, size.Dy()); y++ {
		for x := left; x < min(left+side, size.Dx()); x++ {
			r, g, b, _ := p.At(size.Min.X+x, size.Min.Y+y).RGBA()
			sum[0], sum[1], sum[2], n = sum[0]+r>>8, sum[1]+g>>8, sum[2]+b>>8, n+1
		}
	}
	return color.RGBA{uint8((sum[0] + n/2) / n), uint8((sum[1] + n/2) / n), uint8((sum[2] + n/2) / n), 255}
}

// toPalette converts a picture of at most 256 colours to a palette, which takes a quarter of the space.
func toPalette(img *image.RGBA) image.Image {
	indexes := map[color.RGBA]uint8{}
	out := image.NewPaletted(img.Bounds(), nil)
	for i := 0; i < len(img.Pix); i += 4 {
		c := color.RGBA{img.Pix[i], img.Pix[i+1], img.Pix[i+2], img.Pix[i+3]}
		index, ok := indexes[c]
		if !ok {
			if len(indexes) == 256 {
				return img
			}
			index = uint8(len(indexes))
			indexes[c] = index
			out.Palette = append(out.Palette, c)
		}
		out.Pix[i/4] = index
	}
	return out
}

package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"io"
	"iter"

	"golang.org/x/image/webp"
)

// decodeGIF returns the first frame on its canvas. If the frame is smaller, the rest of the canvas is transparent.
// Without a transparent colour, it has the first colour of the palette, as in Pillow.
func decodeGIF(r io.Reader) (image.Image, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	c, err := gif.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	m, err := gif.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	frame, ok := m.(*image.Paletted)
	if canvas := image.Rect(0, 0, c.Width, c.Height); ok && frame.Rect != canvas {
		return onCanvas(frame, canvas), nil
	}
	return m, nil
}

func onCanvas(frame *image.Paletted, canvas image.Rectangle) *image.Paletted {
	whole := image.NewPaletted(canvas, frame.Palette)
	for i, c := range frame.Palette {
		if c == (color.RGBA{}) { // the decoder's transparent colour
			for at := range whole.Pix {
				whole.Pix[at] = uint8(i)
			}
		}
	}
	part := frame.Rect.Intersect(canvas)
	for y := part.Min.Y; y < part.Max.Y; y++ {
		copy(whole.Pix[whole.PixOffset(part.Min.X, y):][:part.Dx()], frame.Pix[frame.PixOffset(part.Min.X, y):])
	}
	return whole
}

// decodeWebP returns a picture, or the first frame of an animation. The bounds of the frame are its position on the
// canvas.
func decodeWebP(r io.Reader) (image.Image, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	still, at, err := firstFrame(data)
	if err != nil {
		return nil, err
	}
	m, err := webp.Decode(bytes.NewReader(still))
	if err != nil {
		return nil, err
	}
	switch m := m.(type) {
	case *image.YCbCr:
		m.Rect = m.Rect.Add(at)
	case *image.NYCbCrA:
		m.Rect = m.Rect.Add(at)
	case *image.NRGBA:
		m.Rect = m.Rect.Add(at)
	}
	return m, nil
}

// The flags of a VP8X chunk that this package reads.
const (
	webpAnimated = 1 << 1
	webpAlpha    = 1 << 4
)

// firstFrame returns the first frame of an animated WebP as a file, and the position of the frame on the canvas. It
// returns a file without animation unchanged.
func firstFrame(data []byte) (still []byte, at image.Point, err error) {
	var canvas image.Point
	for id, body := range webpChunks(data) {
		switch {
		case id == "VP8X" && len(body) >= 10:
			if body[0]&webpAnimated == 0 {
				return data, at, nil
			}
			canvas = image.Pt(uint24(body[4:])+1, uint24(body[7:])+1)
		case canvas == (image.Point{}): // without an initial VP8X chunk, there is no animation
			return data, at, nil
		case id == "ANMF" && len(body) >= 16:
			at = image.Pt(2*uint24(body), 2*uint24(body[3:]))
			size := image.Pt(uint24(body[6:])+1, uint24(body[9:])+1)
			if end := at.Add(size); end.X > canvas.X || end.Y > canvas.Y {
				return nil, at, fmt.Errorf("its first frame has %d x %d pixels at %d, %d; want it inside the canvas of %d x %d",
					size.X, size.Y, at.X, at.Y, canvas.X, canvas.Y)
			}
			return stillOf(body[16:], body[6:12]), at, nil
		}
	}
	return nil, at, fmt.Errorf("its first frame is not complete: %w", io.ErrUnexpectedEOF)
}

// stillOf returns a WebP file with the chunks of a frame and its size, in the format of ANMF and VP8X.
func stillOf(frame, size []byte) []byte {
	header := append(make([]byte, 4, 10), size...)
	var body []byte
	for id, data := range chunks(frame) {
		switch id {
		case "ALPH":
			header[0] = webpAlpha
			body = appendChunk(body, id, data)
		case "VP8 ", "VP8L":
			body = appendChunk(body, id, data)
		}
	}
	return appendChunk(nil, "RIFF", append(appendChunk([]byte("WEBP"), "VP8X", header), body...))
}

func appendChunk(dst []byte, id string, body []byte) []byte {
	dst = append(binary.LittleEndian.AppendUint32(append(dst, id...), uint32(len(body))), body...)
	return append(dst, make([]byte, len(body)&1)...)
}

// webpChunks iterates over the chunks of a WebP file.
func webpChunks(data []byte) iter.Seq2[string, []byte] { return chunks(data[min(12, len(data)):]) }

// chunks iterates over the names and bodies of RIFF chunks, up to the first incomplete chunk.
func chunks(data []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for len(data) >= 8 {
			id, length := string(data[:4]), uint64(binary.LittleEndian.Uint32(data[4:]))
			data = data[8:]
			if length > uint64(len(data)) || !yield(id, data[:length]) {
				return
			}
			data = data[min(length+length&1, uint64(len(data))):]
		}
	}
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

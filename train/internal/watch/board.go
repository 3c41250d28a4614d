package watch

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/raster"
	"github.com/unravel-ml/unravel/internal/resample"
	"github.com/unravel-ml/unravel/internal/tfevents"
)

// FigureTag is the prefix of tags of a finished run's figures.
const FigureTag = "figures/"

// The maximum size of a picture in TensorBoard's file, in bytes of PNG, and the side lengths that larger pictures are
// reduced to, in turn.
const maxBoardBytes = 1 << 20

var boardSides = []int{2048, 1024, 512}

// openEvents opens TensorBoard's file without the end of the previous session, because a run ends again.
func (g *Logs) openEvents(step int64) error {
	old, err := tfevents.Find(g.Store.Dir())
	if err != nil {
		return err
	}
	var begun time.Time
	told := false // the settings were written
	if err := g.Store.Held(); err != nil {
		return err
	}
	if old == "" {
		g.Events, err = tfevents.Create(g.Store.Path(fmt.Sprintf("%s%d.unravel", tfevents.FilePrefix, time.Now().Unix())),
			time.Now)
	} else {
		g.Events, err = tfevents.Resume(old, step, time.Now, func(e *tfevents.Event) bool {
			if e.FileVersion != "" {
				begun, told = e.Time(), false
				return false
			}
			switch tag := e.Tag(); {
			case tag == tfevents.SessionStartTag && !told:
				want := tfevents.SessionStart(g.Settings, begun)
				told = bytes.Equal(e.Values[0].Plugin.Content, want.Plugin.Content)
				return !told
			default:
				return tag == tfevents.SessionStartTag || tag == tfevents.SessionEndTag || strings.HasPrefix(tag, FigureTag)
			}
		})
	}
	if err != nil || told {
		return err
	}
	if begun.IsZero() { // a new file
		begun = g.Events.Last()
	}
	return errors.Join(g.Events.Write(0, tfevents.SessionStart(g.Settings, begun)), g.Events.Flush())
}

func Settings(text string) ([]tfevents.Setting, error) {
	root, err := config.Parse("", []byte(text))
	if err != nil {
		return nil, err
	}
	var list []tfevents.Setting
	for _, n := range root.Leaves() {
		list = append(list, tfevents.Setting{Name: n.Path(), Value: n.Value()})
	}
	return list, nil
}

// End records how a session ended and returns the reason.
func (g *Logs) End(step int, why error) error {
	status := tfevents.Succeeded
	if why != nil {
		status = tfevents.Failed
	}
	err := g.Events.Write(int64(step), tfevents.SessionEnd(status, time.Now()))
	if err == nil {
		err = g.Events.Flush()
	}
	if why != nil {
		return why // the first error
	}
	return err
}

// Picture writes a picture for TensorBoard, and reduces it if it is large.
func (g *Logs) Picture(step int, tag, caption string, picture []byte) error {
	value, err := boardImage(picture, maxBoardBytes)
	if err != nil || value == nil {
		return err
	}
	return g.Events.Write(int64(step), tfevents.Value{Tag: tag, Description: caption, Image: value})
}

// boardImage returns a picture with at most the given number of bytes, or nil if it cannot be reduced that far.
func boardImage(picture []byte, most int) (*tfevents.Image, error) {
	size, err := png.DecodeConfig(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	for _, side := range boardSides {
		if len(picture) <= most {
			break
		}
		if size.Width <= side && size.Height <= side {
			continue
		}
		source, err := png.Decode(bytes.NewReader(picture))
		if err != nil {
			return nil, err
		}
		reduced := thumbnail(source, side)
		var out bytes.Buffer
		if err := raster.WritePNG(&out, reduced); err != nil {
			return nil, err
		}
		picture, size = out.Bytes(), image.Config{ColorModel: color.RGBAModel, Width: reduced.Rect.Dx(),
			Height: reduced.Rect.Dy()}
	}
	if len(picture) > most {
		return nil, nil
	}
	return &tfevents.Image{Width: size.Width, Height: size.Height, Gray: size.ColorModel == color.GrayModel,
		PNG: picture}, nil
}

// thumbnail reduces a picture until its longest side has the given length.
func thumbnail(source image.Image, side int) *image.RGBA {
	from := image.NewRGBA(image.Rectangle{Max: source.Bounds().Size()})
	draw.Draw(from, from.Rect, source, source.Bounds().Min, draw.Src)
	h, w := from.Rect.Dy(), from.Rect.Dx()
	longest := max(h, w)
	to := image.NewRGBA(image.Rect(0, 0, max(1, w*side/longest), max(1, h*side/longest)))
	resample.Resize(to.Pix, from.Pix, h, w, to.Rect.Dy(), to.Rect.Dx(), 4, resample.Box)
	return to
}

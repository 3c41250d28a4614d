package raster

import (
	"image"
	"image/color"
	"image/draw"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/inconsolata"
	"golang.org/x/image/math/fixed"

	"github.com/unravel-ml/unravel/internal/colours"
)

// Colours of a table of images.
var (
	paper  = colours.Light.Paper
	ink    = colours.Light.Ink
	faint  = colours.Light.Faint
	border = colours.Light.Line
)

// Tiles is a table of small images on white.
type Tiles struct {
	Title        string
	Subtitle     string          // fainter lines below the title
	ColumnTitle  string          // above the column labels
	Rows         [][]image.Image // nil images leave a blank
	RowLabels    []string        // left of the rows; nil: none
	EndLabels    []string        // right of the rows; nil: none
	ColumnLabels []string        // above the columns; nil: none
	Scale        int             // pixels per pixel of the images; 0: their longer side is about 64 pixels
	Gap          int             // pixels between images; 0: 4
	GroupRows    int             // rows of a group, which is set off from the next; 0: no groups
}

const (
	margin     = 14
	lineHeight = 20
	textUp     = 13 // from the top of a line to its baseline
	defaultGap = 4
)

// Draw draws the table.
func (t *Tiles) Draw() *image.RGBA {
	l := t.layout()
	out := image.NewRGBA(image.Rect(0, 0, l.width, l.height))
	draw.Draw(out, out.Bounds(), image.NewUniform(paper), image.Point{}, draw.Src)
	y := margin
	for i, line := range []string{t.Title, t.Subtitle, t.ColumnTitle} {
		if line == "" {
			continue
		}
		switch i {
		case 0:
			write(out, margin, y+textUp, line, ink, inconsolata.Bold8x16)
		case 1:
			for i, part := range strings.Split(line, "\n") {
				Text(out, margin, y+i*lineHeight+textUp, part, faint)
			}
			y += strings.Count(line, "\n") * lineHeight
		case 2:
			Text(out, l.left, y+textUp, line, faint)
		}
		y += lineHeight
	}
	for c, label := range t.ColumnLabels {
		x := l.left + c*(l.cellW+l.gap) + (l.cellW-TextWidth(label))/2
		Text(out, x, y+textUp, label, faint)
	}
	for r, row := range t.Rows {
		y := l.rowTop(t, r)
		if r < len(t.RowLabels) {
			Text(out, l.left-8-TextWidth(t.RowLabels[r]), y+l.cellH/2+4, t.RowLabels[r], faint)
		}
		if r < len(t.EndLabels) {
			Text(out, l.right+8, y+l.cellH/2+4, t.EndLabels[r], faint)
		}
		for c, img := range row {
			if img == nil {
				continue
			}
			large := Enlarge(img, l.scale)
			at := image.Pt(l.left+c*(l.cellW+l.gap)+(l.cellW-large.Bounds().Dx())/2, y)
			frame := large.Bounds().Add(at).Inset(-1) // frame, so that a white image has an edge
			draw.Draw(out, frame, image.NewUniform(border), image.Point{}, draw.Src)
			draw.Draw(out, large.Bounds().Add(at), large, image.Point{}, draw.Src)
		}
	}
	return out
}

// layout holds the sizes derived from a table.
type layout struct {
	scale, gap    int
	cellW, cellH  int
	left, top     int // of the first image
	right         int // of the last one
	width, height int
}

func (t *Tiles) layout() layout {
	l := layout{scale: t.Scale, gap: t.Gap, left: margin, top: margin}
	if l.gap == 0 {
		l.gap = defaultGap
	}
	columns, imageW, imageH := len(t.ColumnLabels), 1, 1
	for _, row := range t.Rows {
		columns = max(columns, len(row))
		for _, img := range row {
			if img != nil {
				imageW, imageH = max(imageW, img.Bounds().Dx()), max(imageH, img.Bounds().Dy())
			}
		}
	}
	if l.scale == 0 {
		l.scale = FitScale(max(imageW, imageH), 64)
	}
	l.cellW, l.cellH = imageW*l.scale, imageH*l.scale
	for _, label := range t.RowLabels {
		l.left = max(l.left, margin+TextWidth(label)+8)
	}
	for _, label := range t.ColumnLabels {
		l.cellW = max(l.cellW, TextWidth(label)) // labels must not overlap
	}
	for _, line := range []string{t.Title, t.Subtitle, t.ColumnTitle} {
		if line != "" {
			l.top += lineHeight * (1 + strings.Count(line, "\n"))
		}
	}
	if t.ColumnLabels != nil {
		l.top += lineHeight
	}
	l.right = l.left + columns*(l.cellW+l.gap) - l.gap
	l.width = l.right + margin
	for _, label := range t.EndLabels {
		l.width = max(l.width, l.right+8+TextWidth(label)+margin)
	}
	for _, line := range append(strings.Split(t.Subtitle, "\n"), t.Title) {
		l.width = max(l.width, 2*margin+TextWidth(line))
	}
	l.width = max(l.width, l.left+TextWidth(t.ColumnTitle)+margin)
	l.height = l.rowTop(t, len(t.Rows)-1) + l.cellH + margin
	return l
}

// rowTop returns the y of a row of images.
func (l *layout) rowTop(t *Tiles, r int) int {
	y := l.top + r*(l.cellH+l.gap)
	if t.GroupRows > 0 {
		y += r / t.GroupRows * 2 * l.gap
	}
	return y
}

// Text writes a line of ASCII text; the left end of its baseline is at (x, y).
func Text(dst draw.Image, x, y int, s string, c color.Color) {
	write(dst, x, y, s, c, inconsolata.Regular8x16)
}

func write(dst draw.Image, x, y int, s string, c color.Color, face font.Face) {
	d := font.Drawer{Dst: dst, Src: image.NewUniform(c), Face: face, Dot: fixed.P(x, y)}
	d.DrawString(s)
}

// TextWidth returns the width of a line of text in pixels.
func TextWidth(s string) int { return font.MeasureString(inconsolata.Regular8x16, s).Round() }

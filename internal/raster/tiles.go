package raster

import (
	"cmp"
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
	Subtitle     string          // grey lines below the title
	ColumnTitle  string          // above the column labels
	Rows         [][]image.Image // nil images leave a blank
	RowLabels    []string        // left of the rows; nil: none
	EndLabels    []string        // right of the rows; nil: none
	ColumnLabels []string        // above the columns; nil: none
	Scale        int             // pixels per pixel of the images; 0: their longer side is about 64 pixels
	Gap          int             // pixels between images; 0: 4
	GroupRows    int             // rows per group, with a space between groups; 0: no groups
	Captions     [][]string      // below the images, by row; nil: none
	Marks        [][][]bool      // squares below the captions, filled or empty, by row and image; nil: none
	Framed       [][]bool        // images with a thick frame, by row; nil: none
}

// Maximum text sizes in pixels: longer labels are shortened in the middle, longer lines are broken.
const (
	maxLabel = 320
	minLines = 560
)

const (
	margin     = 14
	lineHeight = 20
	textUp     = 13 // distance from the top of a line to its baseline
	defaultGap = 4
)

func (t *Tiles) Draw() *image.RGBA {
	t = t.fitted()
	l := t.layout()
	out := image.NewRGBA(image.Rect(0, 0, l.width, l.height))
	fill(out, out.Rect, paper)
	y := margin
	lines := func(text string, draw func(y int, line string)) {
		if text == "" {
			return
		}
		for line := range strings.SplitSeq(text, "\n") {
			draw(y+textUp, line)
			y += lineHeight
		}
	}
	lines(t.Title, func(y int, line string) { write(out, margin, y, line, ink, inconsolata.Bold8x16) })
	lines(t.Subtitle, func(y int, line string) { Text(out, margin, y, line, faint) })
	lines(t.ColumnTitle, func(y int, line string) { Text(out, l.left, y, line, faint) })
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
			t.frame(out, r, c, large.Bounds().Add(at))
			draw.Draw(out, large.Bounds().Add(at), large, image.Point{}, draw.Src)
			t.below(out, r, c, image.Pt(at.X, at.Y+l.cellH+2))
		}
	}
	return out
}

// frame draws the frame of an image, and an edge around a white image.
func (t *Tiles) frame(out *image.RGBA, r, c int, bounds image.Rectangle) {
	frame := bounds.Inset(-1)
	if r < len(t.Framed) && c < len(t.Framed[r]) && t.Framed[r][c] {
		fill(out, frame.Inset(-2), colours.Light.Accent)
		return
	}
	fill(out, frame, border)
}

// below draws the caption and the marks of an image.
func (t *Tiles) below(out *image.RGBA, r, c int, at image.Point) {
	if t.Captions != nil {
		if r < len(t.Captions) && c < len(t.Captions[r]) {
			Text(out, at.X, at.Y+textUp, t.Captions[r][c], faint)
		}
		at.Y += lineHeight - 2
	}
	if r >= len(t.Marks) || c >= len(t.Marks[r]) {
		return
	}
	for i, full := range t.Marks[r][c] {
		square := image.Rect(0, 0, markSide, markSide).Add(at).Add(image.Pt(i*(markSide+3), 1))
		fill(out, square, colours.Light.Accent)
		if !full {
			fill(out, square.Inset(1), paper)
		}
	}
}

const markSide = 8

// fitted returns the table with text that fits: control characters are escaped, lines are broken at the width of the
// images, and labels are cut.
func (t *Tiles) fitted() *Tiles {
	f := *t
	cut := func(labels []string, width int) []string {
		if labels == nil {
			return nil
		}
		list := make([]string, len(labels))
		for i, label := range labels {
			list[i] = Cut(label, width)
		}
		return list
	}
	f.RowLabels, f.EndLabels = cut(t.RowLabels, maxLabel), cut(t.EndLabels, maxLabel)
	f.Title, f.Subtitle, f.ColumnTitle = "", "", ""
	f.ColumnLabels = nil
	plain := f.layout()
	f.ColumnLabels = cut(t.ColumnLabels, max(plain.cellW, maxLabel*3/8))
	plain = f.layout()
	width := max(plain.width-2*margin, minLines)
	f.Title, f.Subtitle = wrap(t.Title, width), wrap(t.Subtitle, width)
	f.ColumnTitle = wrap(t.ColumnTitle, max(plain.width-plain.left-margin, minLines*2/3))
	return &f
}

// layout has the sizes derived from a table.
type layout struct {
	scale, gap    int
	cellW, cellH  int
	below         int // space below the images
	left, top     int // position of the first image
	right         int // right edge of the last image
	width, height int
}

func (t *Tiles) layout() layout {
	l := layout{scale: t.Scale, gap: t.Gap, left: margin, top: margin}
	l.gap = cmp.Or(l.gap, defaultGap)
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
	if t.Captions != nil {
		l.below += lineHeight
	}
	if t.Marks != nil {
		l.below += markSide + 6
	}
	for _, row := range t.Captions {
		l.cellW = max(l.cellW, widest(row))
	}
	for _, row := range t.Marks {
		for _, marks := range row {
			l.cellW = max(l.cellW, len(marks)*(markSide+3))
		}
	}
	if len(t.RowLabels) > 0 {
		l.left += widest(t.RowLabels) + 8
	}
	l.cellW = max(l.cellW, widest(t.ColumnLabels)) // labels must not overlap
	for _, line := range []string{t.Title, t.Subtitle, t.ColumnTitle} {
		if line != "" {
			l.top += lineHeight * (1 + strings.Count(line, "\n"))
		}
	}
	if t.ColumnLabels != nil {
		l.top += lineHeight
	}
	l.right = l.left + columns*(l.cellW+l.gap) - l.gap
	above, columnTitle := strings.Split(t.Subtitle+"\n"+t.Title, "\n"), strings.Split(t.ColumnTitle, "\n")
	l.width = max(l.right, margin+widest(above), l.left+widest(columnTitle)) + margin
	if len(t.EndLabels) > 0 {
		l.width = max(l.width, l.right+8+widest(t.EndLabels)+margin)
	}
	l.height = l.rowTop(t, len(t.Rows)-1) + l.cellH + l.below + margin
	return l
}

// widest returns the width of the widest line.
func widest(lines []string) (w int) {
	for _, line := range lines {
		w = max(w, TextWidth(line))
	}
	return w
}

// rowTop returns the y coordinate of a row of images.
func (l *layout) rowTop(t *Tiles, r int) int {
	y := l.top + r*(l.cellH+l.below+l.gap)
	if t.GroupRows > 0 {
		y += r / t.GroupRows * 2 * l.gap
	}
	return y
}

// Text draws a line of ASCII text. Its baseline starts at (x, y).
func Text(dst draw.Image, x, y int, s string, c color.Color) {
	write(dst, x, y, s, c, inconsolata.Regular8x16)
}

func write(dst draw.Image, x, y int, s string, c color.Color, face font.Face) {
	d := font.Drawer{Dst: dst, Src: image.NewUniform(c), Face: face, Dot: fixed.P(x, y)}
	d.DrawString(s)
}

// TextWidth returns the width of a line of text in pixels.
func TextWidth(s string) int { return font.MeasureString(inconsolata.Regular8x16, s).Round() }

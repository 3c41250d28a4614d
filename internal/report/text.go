package report

import (
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/unravel-ml/unravel/internal/plain"
)

func sans(size vg.Length) font.Font {
	f := font.From(plot.DefaultFont, size)
	f.Variant = "Sans"
	return f
}

func textStyle(size vg.Length) draw.TextStyle {
	return draw.TextStyle{Color: ink, Font: sans(size), XAlign: draw.XCenter, YAlign: draw.YCenter,
		Handler: plot.DefaultTextHandler}
}

// singleLine escapes control characters, and replaces line feeds, tabs and characters that the font lacks.
func singleLine(s string) string {
	face := font.DefaultCache.Lookup(sans(10), 10).Face
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if glyph, err := face.GlyphIndex(nil, r); err != nil || glyph == 0 {
			return '?'
		}
		return r
	}, plain.Text(s))
}

const maxNameRunes = 400 // maximum number of characters of a name that are examined

// fit truncates a name in the middle, because long names often differ at their ends.
func fit(style draw.TextStyle, name string, width vg.Length) string {
	r := []rune(singleLine(name))
	if len(r) > maxNameRunes {
		r = append(r[:maxNameRunes/2:maxNameRunes/2], r[len(r)-maxNameRunes/2:]...)
	} else if style.Width(string(r)) <= width {
		return string(r)
	}
	shortened := func(kept int) string {
		return string(r[:(kept+1)/2]) + "…" + string(r[len(r)-kept/2:])
	}
	low, high := 0, len(r)-1
	for low < high { // finds the maximum number of characters that fit
		if kept := (low + high + 1) / 2; style.Width(shortened(kept)) <= width {
			low = kept
		} else {
			high = kept - 1
		}
	}
	return shortened(low)
}

func fitAll(style draw.TextStyle, names []string, width vg.Length) []string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = fit(style, n, width)
	}
	return list
}

func maxWidth(style draw.TextStyle, lines []string) (width vg.Length) {
	for _, l := range lines {
		width = max(width, style.Width(l))
	}
	return width
}

const maxTitleLines = 4

// balancedLines is [wrapText] with lines of similar width.
func balancedLines(style draw.TextStyle, text string, width vg.Length) []string {
	lines := wrapText(style, text, width)
	whole := strings.Join(lines, " ")
	for narrow := width - vg.Points(6); len(lines) > 1; narrow -= vg.Points(6) {
		closer := wrapText(style, text, narrow)
		if len(closer) != len(lines) || strings.Join(closer, " ") != whole { // more lines, or a word that is cut
			return lines
		}
		lines = closer
	}
	return lines
}

// wrapText breaks a text into lines no wider than width, between words if possible.
func wrapText(style draw.TextStyle, text string, width vg.Length) (lines []string) {
	line := ""
	for _, word := range strings.Fields(singleLine(text)) {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if line != "" && style.Width(longer) > width {
			lines, longer = append(lines, line), word
		}
		line = fit(style, longer, width)
	}
	if line != "" {
		lines = append(lines, line)
	}
	if len(lines) > maxTitleLines {
		lines = append(lines[:maxTitleLines-1:maxTitleLines-1], fit(style, strings.Join(lines[maxTitleLines-1:], " "), width))
	}
	return lines
}

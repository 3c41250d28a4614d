package raster

import (
	"strings"

	"github.com/unravel-ml/unravel/internal/plain"
)

// drawable makes foreign text safe to draw: it escapes control characters, and replaces tabs by spaces and characters
// that the font lacks by question marks.
func drawable(s string) string {
	s = strings.NewReplacer("\t", " ", "…", "...", "–", "-", "—", "-", "’", "'", "²", "^2").Replace(plain.Text(s))
	return strings.Map(func(r rune) rune {
		if r != '\n' && (r < ' ' || r > '~' && r < 0xa0 || r > 0xff) {
			return '?'
		}
		return r
	}, s)
}

// Cut shortens a one-line label in the middle to at most width pixels.
func Cut(label string, width int) string {
	r := []rune(strings.ReplaceAll(drawable(label), "\n", " "))
	room := max(width/TextWidth("x"), 5)
	if len(r) <= room {
		return string(r)
	}
	left := (room - 2 + 1) / 2
	return string(r[:left]) + ".." + string(r[len(r)-(room-2-left):])
}

// maxLines is the maximum number of lines of a text in a table.
const maxLines = 8

// wrap breaks lines at a width in pixels, between words where possible.
func wrap(text string, width int) string {
	var lines []string
	for _, part := range strings.Split(drawable(text), "\n") {
		line := ""
		for _, word := range strings.Fields(part) {
			longer := strings.TrimPrefix(line+" "+word, " ")
			if line != "" && TextWidth(longer) > width {
				lines, longer = append(lines, line), word
			}
			line = Cut(longer, width)
		}
		lines = append(lines, line)
	}
	if len(lines) > maxLines {
		lines = append(lines[:maxLines-1:maxLines-1], lines[maxLines-1]+" ...")
	}
	return strings.Join(lines, "\n")
}

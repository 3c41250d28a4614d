package raster

import (
	"strings"

	"github.com/unravel-ml/unravel/internal/plain"
)

// drawable makes a text from elsewhere harmless: control characters are escaped, tabs become spaces, and letters that the
// face of tables lacks become question marks.
func drawable(s string) string {
	s = strings.NewReplacer("\t", " ", "…", "...", "–", "-", "—", "-", "’", "'", "²", "^2").Replace(plain.Text(s))
	return strings.Map(func(r rune) rune {
		if r != '\n' && (r < ' ' || r > '~' && r < 0xa0 || r > 0xff) {
			return '?'
		}
		return r
	}, s)
}

// Cut returns a one-line label that is at most width pixels wide. It shortens the label in the middle.
func Cut(label string, width int) string {
	r := []rune(strings.ReplaceAll(drawable(label), "\n", " "))
	room := max(width/TextWidth("x"), 5)
	if len(r) <= room {
		return string(r)
	}
	left := (room - 2 + 1) / 2
	return string(r[:left]) + ".." + string(r[len(r)-(room-2-left):])
}

// maxLines bounds the lines of a text of a table.
const maxLines = 8

// wrap breaks lines at a width in pixels, between words where it can.
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

package report

import (
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/unravel-ml/unravel/internal/must"
)

// Names of any length and with any letters fit into a line, which keeps both ends of the name.
func TestFit(t *testing.T) {
	style := textStyle(10)
	for name, want := range map[string]string{
		"":                         "",
		"größe² of α":              "größe² of α",
		"two\nlines\tand \x1b[31m": `two lines and \x1b[31m`,
		"\xff\xfe":                 `\xff\xfe`,
		"日本":                       "??",
		strings.Repeat("a", 30):    strings.Repeat("a", 30),
	} {
		must.Equal(t, fit(style, name, 4*vg.Inch), want, name)
	}
	for _, length := range []int{40, 100, 100_000} {
		name := "begin" + strings.Repeat("x", length) + "end"
		got := fit(style, name, vg.Inch)
		if w := style.Width(got); !(w <= vg.Inch && w >= 0.8*vg.Inch) || !strings.HasPrefix(got, "begin") ||
			!strings.HasSuffix(got, "end") || strings.Count(got, "…") != 1 {
			t.Errorf("%d letters: %q, %v wide", length, got, w)
		}
	}
	must.Equal(t, fit(style, "name", 0), "…", "no room")
}

func TestBalanced(t *testing.T) {
	if got, want := balancedLines(textStyle(10), "a long title is broken", vg.Inch+vg.Points(15)),
		[]string{"a long title", "is broken"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Titles are broken between words into a few lines.
func TestWrapped(t *testing.T) {
	style := textStyle(10)
	for _, test := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"one line", []string{"one line"}},
		{"  a title that needs\nlines here ", []string{"a title that", "needs lines", "here"}},
		{strings.Repeat("word ", 40), nil},
		{strings.Repeat("w", 400), nil},
	} {
		got := wrapText(style, test.text, vg.Inch)
		if test.want != nil && !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
		if even := balancedLines(style, test.text, vg.Inch); len(even) != len(got) || strings.Join(even, " ") != strings.Join(got, " ") {
			t.Errorf("%q: balanced lines %q, want the words of %q", test.text, even, got)
		}
		if len(got) > maxTitleLines || !(maxWidth(style, got) <= vg.Inch) {
			t.Errorf("%q: %d lines, %v wide", test.text, len(got), maxWidth(style, got))
		}
	}
}

package colours

import (
	"fmt"
	"image/color"
	"strings"
)

// mapSteps is the number of colours of a colour map in Tables.
const mapSteps = 65

// Tables is a theme in CSS notation for pages: a palette, and colour maps at 65 equally spaced values. Cyclic omits its
// last colour, which equals the first.
type Tables struct {
	Palette    []string `json:"palette"`
	Sequential []string `json:"sequential"` // from 0 to 1
	Diverging  []string `json:"diverging"`  // from -1 to 1
	Cyclic     []string `json:"cyclic"`     // from 0 to 1 turn
	Missing    string   `json:"missing"`
}

// Tables returns the palette and the maps of the theme.
func (t *Theme) Tables() Tables {
	tables := Tables{Missing: Hex(t.Missing)}
	for _, c := range t.Palette {
		tables.Palette = append(tables.Palette, Hex(c))
	}
	for i := range mapSteps {
		v := float64(i) / (mapSteps - 1)
		tables.Sequential = append(tables.Sequential, Hex(t.Sequential(v)))
		tables.Diverging = append(tables.Diverging, Hex(t.Diverging(2*v-1)))
		if i < mapSteps-1 {
			tables.Cyclic = append(tables.Cyclic, Hex(Cyclic(v)))
		}
	}
	return tables
}

// CSS returns a style sheet that defines custom properties for both themes: --paper, --panel, --ink, --faint, --line,
// --rule, --missing, --accent, --good, --bad, --series-1 and so on. The attribute data-theme of the root element
// selects the theme. Without it, the system setting of the reader does.
func CSS() string {
	return fmt.Sprintf(`:root { color-scheme: light;
%s}
@media (prefers-color-scheme: dark) {
:root:not([data-theme="light"]) { color-scheme: dark;
%s}
}
:root[data-theme="dark"] { color-scheme: dark;
%s}
`, Light.properties(), Dark.properties(), Dark.properties())
}

func (t *Theme) properties() string {
	var b strings.Builder
	for _, p := range []struct {
		name   string
		colour color.RGBA
	}{{"paper", t.Paper}, {"panel", t.Panel}, {"ink", t.Ink}, {"faint", t.Faint}, {"line", t.Line}, {"rule", t.Rule},
		{"missing", t.Missing}, {"accent", t.Accent}, {"good", t.Good}, {"bad", t.Bad}} {
		fmt.Fprintf(&b, "  --%s: %s;\n", p.name, Hex(p.colour))
	}
	for i, c := range t.Palette {
		fmt.Fprintf(&b, "  --series-%d: %s;\n", i+1, Hex(c))
	}
	return b.String()
}

// Hex returns an opaque colour in CSS notation, such as #0072b2.
func Hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

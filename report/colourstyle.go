package report

import (
	"fmt"
	"image/color"
	"strings"

	"github.com/unravel-ml/unravel/report/web"
)

// Style returns the style sheet of pages about runs, with the colours of figures.
func Style() string { return web.Style() + ColourStyle() }

// ColourStyle returns the colours of data as custom properties of CSS: --category, --sequential, --diverging and --cyclic,
// each a list of colours #rrggbb. Scripts have them by Unravel.palette.
func ColourStyle() string {
	var b strings.Builder
	b.WriteString("\n:root {\n")
	for _, p := range []struct {
		name    string
		colours []color.RGBA
	}{{"category", palette}, {"sequential", sequential}, {"diverging", diverging}, {"cyclic", cyclic}} {
		fmt.Fprintf(&b, "  --%s:", p.name)
		for _, c := range p.colours {
			fmt.Fprintf(&b, " #%02x%02x%02x", c.R, c.G, c.B)
		}
		b.WriteString(";\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// Maps of colours, in equal steps.
var (
	sequential = hexes("440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725")
	diverging  = hexes("053061 2166ac 4393c3 92c5de d1e5f0 f7f7f7 fddbc7 f4a582 d6604d b2182b 67001f")
	cyclic     = hexes("a8780d c5622f d1486a c93db0 9959e0 5f79e0 3791bf 279a8b 449b48 818c0e a8780d")
)

// hexes reads colours rrggbb.
func hexes(text string) (list []color.RGBA) {
	for _, word := range strings.Fields(text) {
		c := color.RGBA{A: 255}
		fmt.Sscanf(word, "%02x%02x%02x", &c.R, &c.G, &c.B)
		list = append(list, c)
	}
	return list
}

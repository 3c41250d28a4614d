package web

import (
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/internal/colours"
)

// Style returns the style sheet of pages and their widgets, with all colours. The colours are the properties of
// colours.CSS and the lists --category, --sequential, --diverging, --cyclic and --points, which scripts read with
// Unravel.palette. --points is the sequential colour map without colours that are too close to the background for small
// marks.
func Style() string {
	return fmt.Sprintf(`%s
:root {
%s}
@media (prefers-color-scheme: dark) {
:root:not([data-theme="light"]) {
%s}
}
:root[data-theme="dark"] {
%s}
%s
%s`, colours.CSS(), colourProperties(&colours.Light), colourProperties(&colours.Dark), colourProperties(&colours.Dark), Text("uplot/uPlot.min.css"), Text("style.css"))
}

const pointsStart = 0.3 // position in the sequential colour map where the map for points begins

// colourProperties returns the CSS properties of palettes and colour maps.
func colourProperties(theme *colours.Theme) string {
	t := theme.Tables()
	points := t.Sequential[int(pointsStart*float64(len(t.Sequential))):]
	cyclic := append(t.Cyclic[:len(t.Cyclic):len(t.Cyclic)], t.Cyclic[0])
	var b strings.Builder
	for _, l := range []struct {
		name string
		list []string
	}{{"category", t.Palette}, {"sequential", t.Sequential}, {"diverging", t.Diverging}, {"cyclic", cyclic}, {"points", points}} {
		fmt.Fprintf(&b, "  --%s: %s;\n", l.name, strings.Join(l.list, " "))
	}
	fmt.Fprintf(&b, "  --on-accent: %s;\n", colours.Hex(colours.On(theme.Accent)))
	return b.String()
}

// Package web holds what pages about runs are made of: the style sheet, scripts that draw curves, codes and maps, and the form in which
// data reach them. The scripts are plain files without a bundler: base.js makes one global, Unravel, and each of the others adds a widget to
// it, a function (element, data) that returns {update, destroy}. A page begins the widgets of its elements with the attribute data-widget.
package web

import (
	"embed"
	"fmt"
	"slices"
)

// Files holds the style sheet and the scripts by their names, for servers.
//
//go:embed *.js *.css uplot/*
var Files embed.FS

// Base is the script that all widgets need.
const Base = "base.js"

// widgets lists the files of each widget, in the order in which they load.
var widgets = map[string][]string{
	"curves":     {"uplot/uPlot.iife.min.js", "curves.js"},
	"explore":    {"operations.js", "products.js", "decoder.js", "picture.js", "ball.js", "controls.js", "explore.js"},
	"codes":      {"points.js", "codes.js", "turning.js"},
	"heat":       {"points.js", "heat.js"},
	"neighbours": {"points.js", "neighbours.js"},
}

// Scripts returns the names of the scripts of widgets in the order in which a page loads them, Base first. Unknown widgets are a
// mistake of the program.
func Scripts(names ...string) []string {
	list := []string{Base}
	for _, name := range names {
		files, ok := widgets[name]
		if !ok {
			panic(fmt.Sprintf("web: there is no widget %q", name))
		}
		for _, f := range files {
			if !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
	}
	return list
}

// Text returns the content of a file, such as a script. A missing file is a mistake of the program.
func Text(name string) string {
	text, err := Files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

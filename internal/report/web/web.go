// Package web has the components of pages about runs: the style sheet, scripts that draw curves, codes and maps, and
// the types of their data. The scripts are plain files without a bundler. base.js defines one global, Unravel. Each
// other script adds a widget to it: a function (element, data) that returns {update, destroy}. A page starts widgets on
// its elements with the attribute data-widget.
package web

import (
	"embed"
	"fmt"
	"slices"
)

// files holds the style sheet and the scripts by their names, for servers.
//
//go:embed *.js *.css uplot/*
var files embed.FS

// Base is the script that all widgets require.
const Base = "base.js"

// widgets lists the files of each widget in loading order.
var widgets = map[string][]string{
	"curves":     {"uplot/uPlot.iife.min.js", "curves.js"},
	"explore":    {"operations.js", "products.js", "decoder.js", "picture.js", "ball.js", "controls.js", "explore.js"},
	"codes":      {"points.js", "codes.js", "turning.js"},
	"heat":       {"points.js", "heat.js"},
	"neighbours": {"points.js", "neighbours.js"},
}

// Scripts returns the scripts of widgets in loading order, starting with Base. It panics for an unknown widget.
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

// Text returns the content of a file, such as a script. It panics for a missing file, which is a programming error.
func Text(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

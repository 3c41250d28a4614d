// Package deps only holds the pinned dependencies while the tree is being laid out.
package deps

import (
	_ "github.com/alecthomas/kong"
	_ "github.com/chewxy/hm"
	_ "github.com/goccy/go-yaml"
	_ "github.com/goccy/go-yaml/ast"
	_ "github.com/goccy/go-yaml/parser"
	_ "github.com/sbinet/npyio"
	_ "github.com/schollz/progressbar/v3"
	_ "go4.org/unsafe/assume-no-moving-gc"
	_ "golang.org/x/image/draw"
	_ "golang.org/x/image/font/basicfont"
	_ "golang.org/x/sys/cpu"
	_ "golang.org/x/term"
	_ "gonum.org/v1/gonum/mat"
	_ "gonum.org/v1/plot"
	_ "gonum.org/v1/plot/plotter"
	_ "gonum.org/v1/plot/vg/vgimg"
	_ "gorgonia.org/gorgonia"
	_ "gorgonia.org/tensor"
)

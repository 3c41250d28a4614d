package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// flagsLast moves flags behind everything else, so that they may stand anywhere:
// kong takes a list of arguments in one piece only. What follows "--" is left alone.
func flagsLast(model *kong.Application, args []string) []string {
	takesValue := map[string]bool{}
	// The visitor returns no errors.
	_ = kong.Visit(model, func(n kong.Visitable, next kong.Next) error {
		if f, ok := n.(*kong.Flag); ok && !f.IsBool() {
			takesValue["--"+f.Name] = true
		}
		return next(nil)
	})
	var words, flags []string
	for len(args) > 0 && args[0] != "--" {
		n := 1
		if takesValue[args[0]] && len(args) > 1 {
			n = 2
		}
		if strings.HasPrefix(args[0], "-") {
			flags = append(flags, args[:n]...)
		} else {
			words = append(words, args[0])
		}
		args = args[n:]
	}
	return append(append(words, flags...), args...)
}

package cli

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// flagsLast moves flags behind the arguments, because kong wants the arguments of a list next to each other. Users
// may then write flags anywhere. Words after "--" stay in place.
func flagsLast(model *kong.Application, args []string) []string {
	takesValue := map[string]func(arg string) bool{}
	// The visitor returns no errors.
	_ = kong.Visit(model, func(n kong.Visitable, next kong.Next) error {
		if f, ok := n.(*kong.Flag); ok && !f.IsBool() {
			takesValue["--"+f.Name] = func(arg string) bool { return takes(f, arg) }
		}
		return next(nil)
	})
	var words, flags []string
	for len(args) > 0 && args[0] != "--" {
		n := 1
		if takes := takesValue[args[0]]; takes != nil && len(args) > 1 && takes(args[1]) {
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

// takes reports whether a word that follows a flag is its value.
func takes(f *kong.Flag, arg string) bool {
	if optional, ok := f.Target.Addr().Interface().(interface{ Takes(arg string) bool }); ok {
		return optional.Takes(arg)
	}
	return !f.IsBool()
}

// helpCommand is `unravel help [COMMAND ...]`, which asCommand turns into `unravel COMMAND --help`.
type helpCommand struct {
	Command []string `arg:"" optional:"" help:"Command to explain (default: all commands)."`
}

// Run does nothing: every such command has --help.
func (*helpCommand) Run() error { return nil }

// asCommand turns `help train` into `train --help`, and `--version` into `version`.
func asCommand(args []string) []string {
	switch {
	case len(args) > 0 && args[0] == "--version":
		return append([]string{"version"}, args[1:]...)
	case len(args) == 0 || args[0] != "help" || slices.Contains(args, "--help"):
		return args
	}
	return append(slices.Clone(args[1:]), "--help")
}

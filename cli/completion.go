package cli

import (
	"embed"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel/cli/internal/coding"
	"github.com/unravel-ml/unravel/cli/internal/data"
	"github.com/unravel-ml/unravel/cli/internal/docs"
	"github.com/unravel-ml/unravel/cli/internal/sweeps"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/pretrained"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models/hierarchy/mimosa"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Shell, for source <(unravel completion bash), source <(unravel completion zsh) or unravel completion fish | source." detail:"In zsh, load the script after compinit."`
}

// completionScripts ask the program for candidates at the cursor. If there are none, they offer files.
//
//go:embed completions
var completionScripts embed.FS

// Run prints the script.
func (c *completionCommand) Run(s *ui.Streams) error {
	script, err := completionScripts.ReadFile("completions/" + c.Shell)
	if err == nil {
		_, err = s.Out.Write(script)
	}
	return err
}

// completeCommand is the command that the scripts call.
type completeCommand struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"Words of the command line up to the cursor."`
}

// Run prints the candidates for the last word, one per line.
func (c *completeCommand) Run(k *kong.Kong, s *ui.Streams) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	for _, candidate := range candidates(k.Model, words[:len(words)-1], last) {
		if strings.HasPrefix(candidate, last) {
			fmt.Fprintln(s.Out, candidate) // s.Out records write errors
		}
	}
	return nil
}

// candidates lists the words that can follow. If the list is empty, the shell should offer files.
func candidates(app *kong.Application, words []string, last string) []string {
	node := app.Node
	var values []string
	var flag *kong.Flag // the flag that may take the next word as its value
	for _, w := range words {
		if flag != nil && takes(flag, w) {
			flag = nil // the word was the flag's value
			continue
		}
		flag = nil
		if strings.HasPrefix(w, "-") {
			if f := flagOf(node, w); f != nil && !f.IsBool() {
				flag = f
			}
		} else if child := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == w }); child >= 0 {
			node = node.Children[child]
		} else {
			values = append(values, w)
		}
	}
	switch {
	case flag != nil && (last == "" || takes(flag, last) || !strings.HasPrefix(last, "-")):
		return flagValues(flag)
	case strings.HasPrefix(last, "-"):
		return flagsOf(node)
	case node == app.Node:
		return childNames(node)
	}
	return append(childNames(node), arguments(app, node, values)...)
}

func flagOf(node *kong.Node, word string) *kong.Flag {
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			if "--"+f.Name == word {
				return f
			}
		}
	}
	return nil
}

func childNames(node *kong.Node) (names []string) {
	for _, n := range node.Children {
		if !n.Hidden {
			names = append(names, n.Name)
		}
	}
	return names
}

// flagValues lists the values of a flag, or nothing for a flag with files or free text.
func flagValues(flag *kong.Flag) []string {
	if flag.Enum != "" {
		return slices.DeleteFunc(flag.EnumSlice(), func(v string) bool { return v == "" })
	}
	switch flag.Name {
	case "metrics":
		return append([]string{"all", "fast"}, metrics.Registry.Names()...)
	case "like":
		return metrics.Dialects.Names()
	case "types":
		return []string{"ordinal", "circular", "categorical", "continuous"}
	case "on":
		return sweeps.Schedulers
	case "what":
		return coding.DecodeKinds
	case "scale":
		if flag.Target.Kind() == reflect.String { // data show and decode also have a numeric flag with this name
			return []string{"quick", "full"}
		}
	}
	return nil
}

func arguments(app *kong.Application, node *kong.Node, values []string) []string {
	switch node.Path() {
	case "train", "import":
		list := overrides(new(train.Defaults()))
		if len(values) == 0 {
			return append(configs.Names(), list...)
		}
		return list
	case "pull":
		var names []string
		for _, m := range pretrained.Models() {
			names = append(names, m.Name)
		}
		return names
	case "table":
		return firstOnly(values, tables.Names())
	case "list":
		return docs.Names(values)
	case "data show":
		return docs.Names(append([]string{"datasets"}, values...))
	case "data fetch", "data check":
		return firstOnly(values, data.PublicNames())
	case "mimosa":
		return overrides(new(mimosa.Defaults()))
	case "completion":
		return firstOnly(values, []string{"bash", "zsh", "fish"})
	case "help":
		return firstOnly(values, childNames(app.Node))
	}
	return nil
}

// firstOnly returns list for the first argument, and nothing for later arguments.
func firstOnly(values, list []string) []string {
	if len(values) > 0 {
		return nil
	}
	return list
}

// overrides lists the keys of settings, each with "=".
func overrides(settings any) (list []string) {
	for _, o := range config.Options(settings) {
		if !slices.Contains(strings.Split(o.Key, "."), "N") {
			list = append(list, o.Key+"=")
		}
	}
	return list
}

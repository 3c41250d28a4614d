package cli

import (
	_ "embed" // for commandExamples
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/internal/kernel"
)

// exitCodes gives the meanings of the exit codes.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitDone, "done"},
	{exitFailed, "failed"},
	{exitUsage, "wrong usage, or a mistake in a config"},
	{exitStopped, "stopped by a signal, after saving"},
}

// variables are the variables of the environment.
var variables = []struct{ name, meaning string }{
	{cache.RootVariable, "folder of public data sets and of converted files without --data; the default is unravel in the user's folder for caches"},
	{kernel.Variable, "instruction set of the kernels, to repeat a run of another machine: go, on amd64 avx2 or avx512, on arm64 neon; the default is the machine's best"},
	{"GOMAXPROCS", "threads, where the config's train.threads is 0; the default is all processors"},
}

// commandExamples is the first part of the page of commands: command lines that work unchanged.
//
//go:embed commands.md
var commandExamples string

// commandsPage describes the commands with their arguments and flags, from kong's model of them.
func commandsPage(app *kong.Application) string {
	var b strings.Builder
	b.WriteString("# Commands\n\nThe commands of `unravel`: examples first, then all arguments, flags and exit codes.\n\n" + commandExamples + "\n## All commands\n\nThe sections below describe these commands.\n\n")
	var sections strings.Builder
	writeCommands(&b, &sections, app.Node)
	b.WriteString(sections.String())
	b.WriteString("\n## Flags of all commands\n\n" + flagTable(app.Flags))
	b.WriteString("\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, escapes.Replace(e.meaning))
	}
	b.WriteString("\n## Variables of the environment\n\n| variable | meaning |\n|---|---|\n")
	for _, v := range variables {
		fmt.Fprintf(&b, "| %s | %s |\n", codeSpan(v.name), escapes.Replace(v.meaning))
	}
	return b.String()
}

// writeCommands writes the list of a node's commands, and their sections.
func writeCommands(list, sections *strings.Builder, n *kong.Node) {
	for _, c := range n.Children {
		if c.Hidden {
			continue
		}
		if len(c.Children) > 0 {
			writeCommands(list, sections, c)
			continue
		}
		name := strings.TrimPrefix(c.FullPath(), "unravel ")
		fmt.Fprintf(list, "* [%s](#%s): %s\n", name, strings.ReplaceAll(name, " ", "-"), strings.TrimSuffix(lowerFirst(escapes.Replace(c.Help)), "."))
		fmt.Fprintf(sections, "\n## %s\n\n%s\n\n```text\n%s\n```\n", name, escapes.Replace(c.Help), c.Summary())
		if len(c.Positional) > 0 {
			sections.WriteString("\n| argument | default | meaning |\n|---|---|---|\n")
			for _, a := range c.Positional {
				fmt.Fprintf(sections, "| %s | %s | %s |\n", codeSpan(a.Summary()), codeSpan(a.Default), meaning(a))
			}
		}
		if len(c.Flags) > 0 {
			sections.WriteString("\n" + flagTable(c.Flags))
		}
	}
}

// flagTable writes a table of flags.
func flagTable(flags []*kong.Flag) string {
	var b strings.Builder
	b.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", codeSpan(flagUsage(f)), codeSpan(f.Default), meaning(f.Value))
	}
	return b.String()
}

// flagUsage returns a flag as it is written: --quiet, --[no-]color or --out=DIR.
func flagUsage(f *kong.Flag) string {
	switch {
	case f.Tag.Negatable != "":
		return "--[no-]" + f.Name
	case f.IsBool() || f.IsCounter():
		return "--" + f.Name
	case f.PlaceHolder == "":
		return "--" + f.Name + "=" + strings.ToUpper(f.Name)
	}
	return "--" + f.Name + "=" + f.PlaceHolder
}

// meaning is plainMeaning for a table in Markdown.
func meaning(v *kong.Value) string { return escapes.Replace(plainMeaning(v)) }

// plainMeaning returns the help of a value with its details, and the possible words if the texts do not name them. The
// tag detail holds the details, because kong prints only the tag help.
func plainMeaning(v *kong.Value) string {
	text := strings.TrimSpace(v.Help + " " + v.Tag.Get("detail"))
	words := v.EnumSlice()
	if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
		text = strings.TrimSpace(text + " One of " + strings.Join(words, ", ") + ".")
	}
	return text
}

// Command dev runs the commands of a developer, by name, and prints them.
//
//	go run ./tools/dev test     the default tests; or go test with other arguments: test ./losses -long
//	go run ./tools/dev lint     formatting, vet, staticcheck, workflows and prose
//	go run ./tools/dev docs     the reference anew, and the tests of pages and links; of one page: docs -run TestDocs/start.md
//	go run ./tools/dev bench    the benchmarks; or of some packages: bench ./graph/machine
//	go run ./tools/dev ci       all checks for a change; ci quick: in minutes
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./tools/dev test|lint|docs|bench|ci [ARGUMENT...]")
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	commands, err := plan(flag.Arg(0), flag.Args()[min(1, flag.NArg()):])
	if err != nil {
		fmt.Fprintln(os.Stderr, "dev:", err)
		flag.Usage()
		os.Exit(2)
	}
	for _, c := range commands {
		if err := run(ctx, os.Stdout, c); err != nil {
			fmt.Fprintf(os.Stderr, "dev: %s: %v\n", c, err)
			os.Exit(1)
		}
	}
}

// plan returns the commands for a name. Arguments replace the default arguments.
func plan(name string, arguments []string) ([]string, error) {
	rest := strings.Join(arguments, " ")
	or := func(usual string) string {
		if rest == "" {
			return usual
		}
		return rest
	}
	switch name {
	case "test":
		return []string{"go test " + or("./...")}, nil
	case "lint":
		packages := or("./...")
		return []string{
			"gofmt -l .",
			"go vet " + packages,
			"go tool -modfile=tools/external/go.mod staticcheck " + packages,
			"go tool -modfile=tools/external/go.mod actionlint",
			"go run ./tools/prose -check",
		}, nil
	case "docs":
		return []string{
			"go run ./cmd/unravel docs --reference docs/reference",
			strings.TrimSpace("go test ./cli/pages " + rest),
			"go test ./cli -run TestSite",
		}, nil
	case "bench":
		return []string{"go test -run ^$ -bench . " + or("./...")}, nil
	case "ci":
		return []string{strings.TrimSpace(".ci/run " + rest)}, nil
	case "":
		return nil, errors.New("a name is missing")
	}
	return nil, fmt.Errorf("%q is no name", name)
}

// run prints a command and runs it. gofmt fails with the names of files that need it.
func run(ctx context.Context, w io.Writer, command string) error {
	fmt.Fprintln(w, "$", command)
	words := strings.Fields(command)
	var out bytes.Buffer
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, io.MultiWriter(w, &out), os.Stderr
	if err := c.Run(); err != nil {
		return err
	}
	if words[0] == "gofmt" && out.Len() > 0 {
		return errors.New("format these files with gofmt -w")
	}
	return nil
}

// Command release builds all files of a release from a clean tree:
//
//	go run ./tools/release v0.1.0
//	go run ./tools/release v0.1.0 --out /tmp/dist linux/amd64
//
// The folder dist/VERSION then has an archive and a Python wheel for each system, a second archive for Linux with GPU
// support, the documentation site, a bill of materials (SBOM), the Dockerfile, the release notes, the trained models
// and the SHA-256 sums. The same commit and Go version give the same bytes in any folder.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/tools/internal/linked"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := arguments(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		fmt.Fprintln(os.Stderr, "usage: go run ./tools/release VERSION [--out DIR] [SYSTEM...]")
		os.Exit(2)
	}
	if err := r.make(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is a release that is being built.
type release struct {
	version string // such as v0.1.0
	out     string
	systems []string

	root string    // root of the repository
	copy string    // tagged clone of the commit
	date time.Time // date of the commit
	log  io.Writer
}

var validVersion = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// arguments parses the command line. Flags may follow the version.
func arguments(args []string) (*release, error) {
	r := &release{root: "."}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&r.out, "out", "", "folder of the files (default: dist/VERSION)")
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if args = flags.Args(); len(args) == 0 {
			break
		}
		if r.version == "" {
			r.version = args[0]
		} else {
			r.systems = append(r.systems, args[0])
		}
		args = args[1:]
	}
	if !validVersion.MatchString(r.version) {
		return nil, fmt.Errorf("version %q: want a version such as v0.1.0 or v0.1.0-rc.1", r.version)
	}
	for _, s := range r.systems {
		if !slices.Contains(linked.Systems, s) {
			return nil, fmt.Errorf("system %q is unknown; want some of %s", s, strings.Join(linked.Systems, ", "))
		}
	}
	if r.systems == nil {
		r.systems = linked.Systems
	}
	r.out = cmp.Or(r.out, filepath.Join("dist", r.version))
	return r, nil
}

// make builds the files in the order of their dependencies, and the sums last.
func (r *release) make(ctx context.Context, log io.Writer) (err error) {
	r.log = log
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	if entries, _ := os.ReadDir(r.out); len(entries) > 0 { // MkdirAll reports other errors
		return fmt.Errorf("%s has files; want a new or empty folder", r.out)
	}
	if err := r.checkTree(ctx); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := r.clone(ctx, filepath.Join(scratch, "unravel")); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o777); err != nil {
		return err
	}
	program := filepath.Join(scratch, "bin")
	for _, v := range r.variants() {
		if err := r.step("program for "+v.name(), func() error { return r.build(ctx, v, program+"-"+v.name()) }); err != nil {
			return err
		}
	}
	texts := filepath.Join(scratch, "texts")
	if err := r.step("site, manual page and completion", func() error { return r.texts(ctx, program, texts) }); err != nil {
		return err
	}
	for _, v := range r.variants() {
		if err := r.step("archive for "+
			v.name(), func() error { return r.pack(ctx, v, program+"-"+v.name(), texts) }); err != nil {
			return err
		}
	}
	if err := r.step("bill of materials, notes and Dockerfile", func() error { return r.describe(ctx) }); err != nil {
		return err
	}
	if err := r.models(); err != nil {
		return err
	}
	return r.sums()
}

// step runs a step, and prints its name and duration.
func (r *release) step(name string, do func() error) error {
	begun := time.Now()
	err := do()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(r.log, "%s (%.0f s)\n", name, time.Since(begun).Seconds())
	return nil
}

// fileName returns a system as a part of a file name.
func fileName(system string) string { return strings.ReplaceAll(system, "/", "-") }

// Command models builds the archives of the trained models that `unravel pull` fetches:
//
//	go run ./tools/models --out results/models
//	go run ./tools/models --out results/models --runs /tmp/models --threads 1 vae-sprites
//
// It trains each model with the config and the seed of its run in the ledger, or uses a finished run from the folder in
// --runs. On the same instruction set, the parameters must equal the ledger's parameters, bit for bit. The command
// rounds the parameters, measures the rounded model and writes NAME.zip. It prints the size and the hash for the table
// in internal/pretrained. The same instruction set and Go version give the same bytes.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/internal/pretrained"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	out := flag.String("out", "", "folder of the archives")
	runs := flag.String("runs", filepath.Join("runs", "models"), "folder of the runs")
	threads := flag.Int("threads", 0, "threads of training (default: all)")
	flag.Parse()
	if *out == "" {
		fmt.Fprintln(os.Stderr, "usage: go run ./tools/models --out DIR [--runs DIR] [--threads N] [NAME...]")
		os.Exit(2)
	}
	if err := makeAll(ctx, *out, *runs, *threads, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "models:", err)
		os.Exit(1)
	}
}

// makeAll builds the archives of the named models, or of all models if there are no names.
func makeAll(ctx context.Context, out, runs string, threads int, names []string) error {
	for _, name := range names {
		if _, err := pretrained.Lookup(name); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	for _, m := range pretrained.Models() {
		if len(names) > 0 && !slices.Contains(names, m.Name) {
			continue
		}
		dir := filepath.Join(runs, m.Name)
		err := repeat(ctx, m, dir, threads)
		if err == nil {
			err = pack(ctx, m, dir, filepath.Join(out, m.Archive()), os.Stdout)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

// repeat trains the ledger's run again in a folder, unless the folder already contains the run.
func repeat(ctx context.Context, m pretrained.Model, dir string, threads int) error {
	_, err := os.Stat(filepath.Join(dir, rundir.Config))
	resume := !errors.Is(err, fs.ErrNotExist)
	if resume {
		if record, err := rundir.ReadRecord(dir); err != nil || record != nil && record.Error == "" {
			return err
		}
	}
	c, _, err := m.Record()
	if err != nil {
		return err
	}
	if threads > 0 {
		c.Train.Threads = threads
	}
	c.Metrics.Final = nil // the rounded model is measured instead
	_, err = train.Run(ctx, c, train.Options{Dir: dir, Resume: resume, Log: plain.Logger(os.Stderr),
		Terminal: plain.Terminal(os.Stderr)})
	return err
}

// pack writes the archive of a run, and prints its size and hash.
func pack(ctx context.Context, m pretrained.Model, dir, path string, to io.Writer) error {
	a, err := pretrained.Pack(ctx, m, dir)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := a.Write(&b); err != nil {
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "%s: Size: %d, SHA256: \"%x\"\n", path, b.Len(), sha256.Sum256(b.Bytes()))
	return err
}

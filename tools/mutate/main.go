// Command mutate measures how many faults the tests detect (mutation testing). It changes one token of the code, runs
// the tests that depend on it, and counts the changes for which a test fails.
//
//	go run ./tools/mutate -count 126 -seed 1              by the default tests
//	go run ./tools/mutate -count 126 -seed 1 -long        by the complete tests
//	go run ./tools/mutate -count 126 -seed 1 -near 3      by the tests of the three nearest packages: a lower bound in a fraction of the time
//	go run ./tools/mutate -from survivors.txt -long       the changes of a list, as -out writes them
//
// Files on disk do not change: go test uses a changed copy of the file (-overlay). Tests of the changed package run
// first, then the tests of the nearest packages in the import graph. The first failing test ends the search. A test
// that exceeds the time limit has also detected the fault.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	count := flag.Int("count", 126, "number of changes")
	seed := flag.Uint64("seed", 1, "seed of the choice")
	long := flag.Bool("long", false, "run the complete tests")
	limit := flag.Duration("limit", 10*time.Minute, "time limit of a package's tests")
	near := flag.Int("near", 0,
		"run only the tests of so many packages, the nearest to the change: a lower bound in less time; 0: all")
	only := flag.String("only", "", "change only packages whose path contains this text")
	from := flag.String("from", "", "make the changes that a file lists")
	out := flag.String("out", "", "write the changes that no test found to a file")
	need := flag.Float64("need", 0, "fail if tests find a smaller fraction than this")
	flag.Parse()
	packages, err := list(ctx)
	if err != nil {
		return err
	}
	var all []mutant
	for _, p := range packages {
		if !strings.Contains(p.ImportPath, *only) || strings.Contains(p.ImportPath, "/tools/") {
			continue
		}
		found, err := mutants(p)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	if *from != "" {
		if all, err = chosen(*from, all); err != nil {
			return err
		}
		*count = len(all)
	} else {
		rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	t := tester{graph: dependents(packages), long: *long, limit: *limit, near: *near}
	survivors, done, err := t.killAll(ctx, all, *count)
	if err != nil {
		return err
	}
	if done == 0 {
		return errors.New("there is nothing to change")
	}
	score := 1 - float64(len(survivors))/float64(done)
	fmt.Printf("tests found %d of %d changes: %.1f %%\n", done-len(survivors), done, 100*score)
	if *out != "" {
		if err := write(*out, survivors); err != nil {
			return err
		}
	}
	if score < *need {
		return fmt.Errorf("want at least %.1f %%", 100*(*need))
	}
	return nil
}

// killAll tests the first count valid mutants, and returns the mutants that no test found, and the number of valid ones.
func (t *tester) killAll(ctx context.Context, all []mutant, count int) (survivors []mutant, done int, err error) {
	for _, m := range all {
		if done == count {
			break
		}
		killer, err := t.kill(ctx, m)
		if errors.Is(err, errInvalid) {
			continue
		}
		if err != nil {
			return nil, done, err
		}
		done++
		if killer == "" {
			survivors = append(survivors, m)
			killer = "NOT FOUND"
		}
		fmt.Printf("%d %s: %s\n", done, m, killer)
	}
	return survivors, done, nil
}

// chosen returns the mutants that a file lists, in the order of the file.
func chosen(name string, all []mutant) ([]mutant, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	var list []mutant
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		at := slices.IndexFunc(all, func(m mutant) bool { return m.String() == lines.Text() })
		if at < 0 {
			return nil, fmt.Errorf("%s: there is no change %q; the code may have changed since", name, lines.Text())
		}
		list = append(list, all[at])
	}
	return list, lines.Err()
}

func write(name string, list []mutant) error {
	var text strings.Builder
	for _, m := range list {
		fmt.Fprintln(&text, m)
	}
	return os.WriteFile(name, []byte(text.String()), 0o666)
}

// relative returns a path relative to the working folder, for messages.
func relative(path string) string {
	root, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(root, path); err == nil {
		return short
	}
	return path
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/fetch"
	"github.com/unravel-ml/unravel/internal/memory"
)

// dataCheckCommand is `unravel data check [NAME]`.
type dataCheckCommand struct {
	Name string `arg:"" optional:"" help:"Name of a data set (default: all on this machine)."`
}

// Run reads all files of the sets and compares them with their hashes.
func (c *dataCheckCommand) Run(ctx context.Context, s *streams) error {
	t := newTransfer(s.log)
	defer t.end()
	ctx = cache.WithProgress(ctx, t.report)
	found, broken := 0, 0
	say := func(name, what string, err error) {
		t.end()
		found++
		if err == nil {
			fmt.Fprintf(s.out, "%s: %s: whole\n", name, what)
			return
		}
		broken++
		fmt.Fprintf(s.out, "%s: %s: %v; %s\n", name, what, err, remedy(name))
	}
	if err := c.converted(ctx, say); err != nil {
		return err
	}
	if err := c.downloads(ctx, say); err != nil {
		return err
	}
	switch {
	case found == 0 && c.Name != "":
		return fmt.Errorf("dataset %s is not in %s; want `unravel data fetch %s`", c.Name, cache.Root(), c.Name)
	case found == 0:
		fmt.Fprintf(s.log, "there are no data sets in %s\n", cache.Root())
	case broken > 0:
		return fmt.Errorf("%d of %d are broken", broken, found)
	}
	return nil
}

// converted checks the converted sets, and calls say for each.
func (c *dataCheckCommand) converted(ctx context.Context, say func(name, what string, err error)) error {
	sets, err := cache.List()
	if err != nil {
		return err
	}
	for _, l := range sets {
		if c.Name != "" && l.Name != c.Name {
			continue
		}
		err := l.Err
		if err == nil || errors.Is(err, cache.ErrTouched) {
			err = cache.Check(ctx, l.Key)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		what := "converted"
		if l.Options != "" {
			what += " with " + l.Options
		}
		if l.Bytes > 0 {
			what += ", " + memory.Text(float64(l.Bytes))
		}
		say(l.Name, what, err)
	}
	return nil
}

// downloads checks the downloaded files of public sets, and calls say for each file on this machine.
func (c *dataCheckCommand) downloads(ctx context.Context, say func(name, what string, err error)) error {
	for _, e := range catalog.Registry.All() {
		p, ok := e.New().(datasets.Public)
		if !ok || c.Name != "" && e.Name != c.Name {
			continue
		}
		for _, f := range p.Origin().Files {
			_, err := fetch.Check(ctx, cache.Downloads(e.Name), f)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !errors.Is(err, fetch.ErrAbsent) {
				say(e.Name, f.Name, err)
			}
		}
	}
	return nil
}

// remedy says how to repair a broken set.
func remedy(name string) string {
	if slices.Contains(publicNames(), name) {
		return fmt.Sprintf("want `unravel data fetch %s`", name)
	}
	return "the next command that uses it makes it again"
}

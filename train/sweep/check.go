package sweep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unravel-ml/unravel/train"
)

const (
	checkPatience = 5 * time.Second // time after which a line says that configs are checked
	maxMistakes   = 10              // mistakes that are listed
)

// check reports configs of missing runs that cannot be trained. Of runs that differ only in their seed it checks one. When
// the context ends, the error is train.ErrStopped. Of runs that are made elsewhere it leaves out what this machine's processor lacks.
func check(ctx context.Context, dir string, runs []Run, retry, elsewhere bool, say func(format string, args ...any)) error {
	entries, err := Scan(dir)
	if err != nil {
		return err
	}
	found, kinds := Find(entries), map[string]bool{}
	var mistakes []error
	begin, said := time.Now(), false
	for i, r := range runs {
		if e, ok := found[r.Hash]; ok && (e.State == Finished || e.State == Failed && !retry) || kinds[kindOf(r)] {
			continue
		}
		kinds[kindOf(r)] = true
		if ctx.Err() != nil {
			return train.ErrStopped
		}
		if !said && time.Since(begin) > checkPatience {
			said = true
			say("checking the configs of %d runs, %d so far", len(runs), i)
		}
		c := r.Config
		if elsewhere {
			c = train.Here(c)
		}
		if err := train.Check(c); err != nil {
			if len(mistakes) == maxMistakes {
				mistakes = append(mistakes, errors.New("and more"))
				break
			}
			mistakes = append(mistakes, fmt.Errorf("run %s: %w", r.Name, err))
		}
	}
	return errors.Join(mistakes...)
}

package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/unravel-ml/unravel/train"
)

const (
	checkPatience = 5 * time.Second // time after which the log says that configs are being checked
	maxMistakes   = 10              // maximum number of mistakes to list
)

// checkRuns returns an error for missing runs with configs that cannot be trained. It only checks one run of each group
// that differs in nothing but the seed. When the context ends, the error is train.ErrStopped. If elsewhere is true,
// checkRuns ignores features that this machine's processor lacks.
func checkRuns(ctx context.Context, dir string, runs []Run, retry, elsewhere bool, log *slog.Logger) error {
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
			log.Info(fmt.Sprintf("checking the configs of %d runs, %d so far", len(runs), i), "event", "check", "runs",
				len(runs), "done", i)
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

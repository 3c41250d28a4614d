package train

import (
	"log/slog"
	"os"

	"github.com/unravel-ml/unravel/train/internal/watch"
)

// Activity shows the progress of encoding, measuring and drawing: a bar or an occasional event. nil shows nothing.
type Activity struct{ shown *watch.Activity }

// NewActivity returns an Activity that draws bars on a terminal or otherwise logs events. It returns nil without both.
func NewActivity(log *slog.Logger, terminal *os.File) *Activity {
	if a := watch.NewActivity(log, terminal); a != nil {
		return &Activity{a}
	}
	return nil
}

// Begin starts to show an activity, such as "encoding", with the given number of parts.
func (a *Activity) Begin(what string, all int) {
	if a != nil {
		a.shown.Begin(what, all)
	}
}

// Step shows the number of finished parts and the current part.
func (a *Activity) Step(done int, part string) {
	if a != nil {
		a.shown.Step(done, part)
	}
}

// End removes the activity.
func (a *Activity) End() {
	if a != nil {
		a.shown.End()
	}
}

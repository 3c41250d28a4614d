package cli

import (
	"io"

	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train"
)

// activity shows the progress of a command's work.
func (s *streams) activity() *train.Activity { return activityOn(s.log) }

// activityOn shows progress on a writer: bars on a terminal, otherwise lines now and then.
func activityOn(w io.Writer) *train.Activity {
	return train.NewActivity(plain.Logger(w), plain.Terminal(w))
}

type writerFunc func(text []byte) (int, error)

func (f writerFunc) Write(text []byte) (int, error) { return f(text) }

package plain

import (
	"context"
	"io"
	"log/slog"
	"strings"
)

// LevelNote is the level of notes: above information, below warnings.
const LevelNote = slog.LevelInfo + 2

// Logger returns a logger for people. It writes one line per event with its message, without attributes. Notes start
// with "note: " and warnings with "warning: ".
func Logger(w io.Writer) *slog.Logger { return slog.New(&handler{w}) }

// Or returns log, or a silent logger if log is nil.
func Or(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}

type handler struct{ w io.Writer }

func (h *handler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }
func (h *handler) WithAttrs([]slog.Attr) slog.Handler           { return h }
func (h *handler) WithGroup(string) slog.Handler                { return h }

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	prefix := ""
	switch r.Level {
	case LevelNote:
		prefix = "note: "
	case slog.LevelWarn:
		prefix = "warning: "
	}
	_, err := io.WriteString(h.w, prefix+strings.TrimSuffix(r.Message, "\n")+"\n")
	return err
}

// Package ui holds the shared parts of commands: outputs, usage errors, exit codes, files, progress and signals.
package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train"
)

// The exit codes.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitUsage   = 2
	ExitStopped = 130
)

// Streams are the outputs of a command.
type Streams struct {
	Out io.Writer // results
	Log io.Writer // text for people; write errors here do not fail the command
}

// Activity shows the progress of a command's work.
func (s *Streams) Activity() *train.Activity { return Activity(s.Log) }

// Activity shows progress on a writer: bars on a terminal, otherwise lines now and then.
func Activity(w io.Writer) *train.Activity {
	return train.NewActivity(plain.Logger(w), plain.Terminal(w))
}

// UsageError is a mistake in the command line.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// Usage makes an error a mistake in the command line.
func Usage(err error) error { return UsageError{err} }

// Usagef returns a mistake in the command line.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Once returns an error if a change key.path=value replaces the value of an earlier one.
func Once(changes []string) error {
	for i, c := range changes {
		path, _, ok := config.CutAssignment(c)
		for _, earlier := range changes[:i] {
			other, _, _ := config.CutAssignment(earlier)
			if below, isBelow := strings.CutPrefix(other, path+"."); ok && !strings.HasSuffix(path, "+") &&
				(other == path || isBelow && !strings.HasPrefix(below, "+")) {
				return Usagef("%s replaces %s; want one of them", c, earlier)
			}
		}
	}
	return nil
}

// Count is a flag for a number of at least 1; 0 means that the flag is absent.
type Count int

// UnmarshalText reads a number.
func (c *Count) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return fmt.Errorf("got %q; want 1 or more", text)
	}
	*c = Count(n)
	return nil
}

// Span writes seconds with two or three digits.
func Span(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d <= 0:
		return "0 s"
	}
	return d.Round(time.Duration(math.Pow(10, math.Floor(math.Log10(float64(d)))-2))).String()
}

// Some joins the first texts of a list, with the number of omitted texts.
func Some(list []string, limit int) string {
	text := strings.Join(list[:min(len(list), limit)], ", ")
	if more := len(list) - limit; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// SomeLines joins the first three lines, with the number of omitted lines.
func SomeLines(list []string) string {
	more := ""
	if n := len(list); n > 3 {
		list, more = list[:3], fmt.Sprintf("\nand %d more", n-3)
	}
	return strings.Join(list, "\n") + more
}

// Confirm asks a question on the terminal. Without a terminal, it returns an error that asks for the flag.
func Confirm(ctx context.Context, log io.Writer, question, flag string) (bool, error) {
	if plain.Terminal(log) == nil || plain.Terminal(os.Stdin) == nil {
		return false, Usagef("%s: want %s", question, flag)
	}
	fmt.Fprintf(log, "%s? [y/N] ", question)
	answer := make(chan string, 1)
	go func() { // the terminal cannot be interrupted
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n') // the end of the input means no
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return false, train.ErrStopped
	case a := <-answer:
		return a == "y" || a == "yes", nil
	}
}

// PlainWidth is the width of a table without a terminal.
const PlainWidth = 100

// Width returns the width of a terminal in characters, or PlainWidth without a terminal.
func Width(w io.Writer) int {
	if f := plain.Terminal(w); f != nil {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return PlainWidth
}

// Digits writes a number with all its digits.
func Digits(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func CSV(records [][]string) func(io.Writer) error {
	return func(w io.Writer) error { return plain.WriteCSV(w, records) }
}

func WriteJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

// Patience returns the time after which a computation counts as slow. The time is shorter on a terminal.
func Patience(log io.Writer) time.Duration {
	if plain.Terminal(log) != nil {
		return time.Second
	}
	return 10 * time.Second
}

// Unless logs a text after [Patience], unless the returned function is called before.
func Unless(log io.Writer, text string) (fast func()) {
	logged := make(chan struct{})
	timer := time.AfterFunc(Patience(log), func() {
		defer close(logged)
		fmt.Fprintln(log, text)
	})
	return func() {
		if !timer.Stop() {
			<-logged
		}
	}
}

// Watch returns a function that logs the progress of slow repeats, at most once per [Patience].
func Watch(s *Streams, format string) func(name string, done, of int) {
	patience, last := Patience(s.Log), time.Now()
	return func(name string, done, of int) {
		if now := time.Now(); now.Sub(last) > patience {
			fmt.Fprintf(s.Log, format, name, done, of)
			last = now
		}
	}
}

// Patiently runs a computation, and calls slow once the patience is over. When the context ends, it returns
// train.ErrStopped at once, and the computation ends a little later.
func Patiently[T any](ctx context.Context, patience time.Duration, compute func() (T, error), slow func()) (T, error) {
	type outcome struct {
		value   T
		err     error
		failure *parallel.Panic // the panic of the computation
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o.failure = parallel.Recovered(p)
			}
			done <- o
		}()
		o.value, o.err = compute()
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case o := <-done:
			if o.failure != nil {
				panic(o.failure) // [run] reports it
			}
			if ctx.Err() != nil && errors.Is(o.err, ctx.Err()) {
				o.err = train.ErrStopped
			}
			return o.value, o.err
		case <-timer.C:
			slow()
		case <-ctx.Done():
			var none T
			return none, train.ErrStopped
		}
	}
}

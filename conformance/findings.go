package conformance

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
)

// ErrNeedsSettings is the error of [CheckDataset], and of the other functions for one entry, for an entry without valid
// defaults, such as an entry that needs the name of a file.
// Tests of a registry skip such an entry. A program can check it with valid settings.
var ErrNeedsSettings = errors.New("the defaults are not valid settings")

// findings collects the faults of one part.
type findings struct {
	part string // "dataset square"
	errs []error
}

// add records a fault once. It keeps only the first few faults.
func (f *findings) add(format string, args ...any) {
	const most = 10
	err := fmt.Errorf("%s: %w", f.part, fmt.Errorf(format, args...))
	for _, known := range f.errs {
		if known.Error() == err.Error() {
			return
		}
	}
	if len(f.errs) < most {
		f.errs = append(f.errs, err)
	}
}

// guard turns a panic of the part into a fault.
func (f *findings) guard() {
	if p := recover(); p != nil {
		stack := strings.Split(string(debug.Stack()), "\n")
		f.add("it panics: %v\n%s", p, strings.Join(stack[min(len(stack), 7):min(len(stack), 21)], "\n"))
	}
}

func (f *findings) err() error { return errors.Join(f.errs...) }

// entryOf checks the rules for every registry entry: a name and a sentence, new settings at every call, and a text
// for every option. It returns settings, and whether they are valid.
func entryOf[T any](f *findings, e registry.Entry[T]) (settings T, ok bool) {
	if e.Name == "" || e.Doc == "" || e.New == nil {
		f.add("it has no Name, Doc or New; want all of them")
		return settings, false
	}
	settings = e.New()
	if v := reflect.ValueOf(settings); v.Kind() == reflect.Pointer {
		if other := reflect.ValueOf(e.New()); v.Type().Elem().Size() > 0 && other.Pointer() == v.Pointer() {
			f.add("New returns the same settings twice; want new ones at every call")
		}
	}
	for _, o := range config.Options(settings) {
		if o.Doc == "" {
			f.add("the option %s has no text; want the tag `doc`", o.Key)
		}
	}
	if v, has := any(settings).(config.Validator); has {
		if err := v.Validate(); err != nil {
			f.errs = append(f.errs, fmt.Errorf("%s: %w: %w", f.part, ErrNeedsSettings, err))
			return settings, false
		}
	}
	return settings, len(f.errs) == 0
}

// verdict fails, skips or passes a test.
func verdict(t *testing.T, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrNeedsSettings):
		t.Skip(err)
	case err != nil:
		t.Error(err)
	}
}

package conformance

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
)

// ErrNeedsSettings is the error of [CheckDataset], and of other functions, for an entry without valid defaults. Such an
// entry may need the name of a file. Tests of a registry skip it. A program can check it with valid settings.
var ErrNeedsSettings = errors.New("the defaults are not valid settings")

// findings collects the faults of one part.
type findings struct {
	part string // "dataset square"
	errs []error
}

func (f *findings) add(format string, args ...any) {
	f.record(fmt.Errorf("%s: %w", f.part, fmt.Errorf(format, args...)))
}

// record records a fault once. It keeps only the first few faults.
func (f *findings) record(err error) {
	const maxFaults = 10
	isRecorded := func(e error) bool { return e.Error() == err.Error() }
	if len(f.errs) < maxFaults && !slices.ContainsFunc(f.errs, isRecorded) {
		f.errs = append(f.errs, err)
	}
}

// stopped is the panic that ends a check after a fatal fault.
type stopped struct{}

// fatal records a fault and ends the check; see run.
func (f *findings) fatal(format string, args ...any) {
	f.add(format, args...)
	panic(stopped{})
}

// must is fatal with an error, unless it is nil.
func (f *findings) must(err error, format string, args ...any) {
	if err != nil {
		f.fatal(format+": %w", append(args, err)...)
	}
}

// run runs checks. After a fatal fault or a panic of the part in one check, the other checks still run.
func (f *findings) run(checks ...func()) {
	for _, check := range checks {
		func() {
			defer f.guard()
			check()
		}()
	}
}

// checkConcurrently runs a check on several goroutines at once. Each goroutine gets the numbers 0 to n-1 in order, from
// another start.
func (f *findings) checkConcurrently(n int, check func(f *findings, order []int)) {
	const workers = 4
	var parts [workers]findings
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			order := make([]int, n)
			for i := range order {
				order[i] = (i + w*n/workers) % n
			}
			parts[w].part = f.part
			parts[w].run(func() { check(&parts[w], order) })
		})
	}
	wait.Wait()
	for _, w := range parts {
		for _, err := range w.errs {
			f.record(err)
		}
	}
}

// guard turns a panic of the part into a fault.
func (f *findings) guard() {
	if p := recover(); p != nil && p != any(stopped{}) {
		stack := strings.Split(string(debug.Stack()), "\n")
		f.add("it panics: %v\n%s", p, strings.Join(stack[min(len(stack), 7):min(len(stack), 21)], "\n"))
	}
}

func (f *findings) err() error { return errors.Join(f.errs...) }

func faultsOf(part string, check func(f *findings)) error {
	f := &findings{part: part}
	f.run(func() { check(f) })
	return f.err()
}

// faultsOfEntry returns the faults of a registry entry ([entryOf]). If it has none, it checks the entry's settings.
func faultsOfEntry[T any](kind string, e registry.Entry[T], check func(f *findings, settings T)) error {
	return faultsOf(kind+" "+e.Name, func(f *findings) {
		if s, ok := entryOf(f, e); ok {
			check(f, s)
		}
	})
}

// entryOf checks the rules for every registry entry: a name and a sentence, new settings at every call, and a text
// for every option. It returns settings, and whether they are valid.
func entryOf[T any](f *findings, e registry.Entry[T]) (settings T, ok bool) {
	if e.Name == "" || e.Doc == "" || e.New == nil {
		f.add("it has no Name, Doc or New; want all of them")
		return settings, false
	}
	settings = e.New()
	if v := reflect.ValueOf(settings); v.Kind() == reflect.Pointer {
		if second := reflect.ValueOf(e.New()); v.Type().Elem().Size() > 0 && second.Pointer() == v.Pointer() {
			f.add("New returns the same settings twice; want new ones at every call")
		}
	}
	for _, o := range config.Options(settings) {
		if o.Doc == "" {
			f.add("the option %s has no text; want the tag `doc`", o.Key)
		}
	}
	if v, validates := any(settings).(config.Validator); validates {
		if err := v.Validate(); err != nil {
			f.errs = append(f.errs, fmt.Errorf("%s: %w: %w", f.part, ErrNeedsSettings, err))
			return settings, false
		}
	}
	return settings, len(f.errs) == 0
}

// testEach returns a test of the entries of a registry, with a subtest for each. It skips entries without valid
// defaults.
func testEach[T any](entries []registry.Entry[T], check func(registry.Entry[T]) error) func(*testing.T) {
	return func(t *testing.T) {
		for _, e := range entries {
			t.Run(e.Name, func(t *testing.T) { verdict(t, check(e)) })
		}
	}
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

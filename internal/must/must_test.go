package must

import (
	"errors"
	"testing"
)

// failures counts the failures of a test.
type failures struct {
	testing.TB
	n int
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) { f.n++ }

func TestChecks(t *testing.T) {
	fault := errors.New("want 3")
	f := &failures{TB: t}
	Error(f, fault, "want")
	Error(f, nil, "")
	ErrorOf(1, fault)(f, "3", "name")
	Fails(0, fault)(f, []string{"want", "3"})
	Equal(f, 1, 1)
	EqualSlices(f, []int{}, nil)
	if f.n > 0 {
		t.Errorf("%d failures of what a test wants", f.n)
	}
	Error(f, fault, "")
	Error(f, fault, "4")
	Error(f, nil, "want")
	ErrorOf(1, fault)(f, "4", "name")
	Fails(1, fault)(f, []string{"3", "4"})
	Equal(f, 1, 2)
	EqualSlices(f, []int{1}, nil)
	if f.n != 8 {
		t.Errorf("%d failures of what a test does not want, want 8", f.n)
	}
	if got := name([]any{"a", 1}); got != "a 1: " {
		t.Errorf("the name of a case is %q", got)
	}
}

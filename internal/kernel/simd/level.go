package simd

import (
	"cmp"
	"fmt"
	"os"
	"slices"
)

// Variable is the environment variable that forces an instruction set.
const Variable = "UNRAVEL_KERNEL"

type Level int

const (
	Go Level = iota
	AVX2
	AVX512
	NEON
)

var levelNames = [...]string{"go", "avx2", "avx512", "neon"}

func (l Level) String() string { return levelNames[l] }

// active is the instruction set in use; only tests change it.
var active, activeErr = choose(os.Getenv(Variable), Available())

// Vectors reports whether assembly is in use instead of Go.
func Vectors() bool { return active != Go }

// choose returns the level called name if has contains it, or the last level of has if name is empty.
func choose(name string, has []Level) (Level, error) {
	best := has[len(has)-1]
	if name == "" {
		return best, nil
	}
	l := Level(slices.Index(levelNames[:], name))
	switch {
	case slices.Contains(has, l):
		return l, nil
	case l < 0:
		return best, fmt.Errorf("%s=%q: want %s", Variable, name, list(architecture, "or"))
	}
	return best, fmt.Errorf("%s=%s: this processor only has %s", Variable, name, list(has, "and"))
}

func list(levels []Level, last string) string {
	text := levels[0].String()
	for i, l := range levels[1:] {
		if i == len(levels)-2 {
			text += " " + last + " " + l.String()
		} else {
			text += ", " + l.String()
		}
	}
	return text
}

// InstructionSet returns the instruction set in use: go, avx2, avx512 or neon. The error is not nil if UNRAVEL_KERNEL
// asks for an instruction set that this machine lacks.
func InstructionSet() (string, error) { return active.String(), activeErr }

// CPU describes the processor as far as the kernels know it. Sizes of caches are in bytes, for one core; 0: unknown.
type CPU struct {
	Vendor        string // such as GenuineIntel
	Family, Model int
	L1, L2, L3    int // data caches
}

// processor is the processor as identified by CPUID.
var processor = identify()

// caches is the processor for which products divide their work. Only tests change it. An unknown second-level cache
// counts as 1 MiB.
var caches = assumed(processor)

func assumed(c CPU) CPU {
	c.L2 = cmp.Or(c.L2, 1<<20)
	return c
}

// Choices are the sizes of the parts of matrix products.
type Choices struct {
	Rows, Columns int // of a block of sums in registers
	Depth         int // approximate number of terms of a sum that are computed at a time, equal on all processors
	Packed        int // minimum rows of an item that copies its right operand
	Left          int // maximum bytes of the left operand that an item of work keeps in the second-level cache
}

func Processor() (CPU, Choices) {
	rows := 8
	switch active {
	case AVX512:
		rows = 12
	case AVX2:
		rows = 6
	case Go:
		return processor, Choices{2, 4, Depth, WorthLaying(), 4 * LeftElements()}
	}
	return processor, Choices{rows, PanelWidth(), Depth, WorthLaying(), 4 * LeftElements()}
}

// Force sets the instruction set for a test, until the test calls restore.
func Force(l Level) (restore func()) { return set(&active, l) }

// PlanFor makes products divide their work for another processor in a test, until the test calls restore.
func PlanFor(c CPU) (restore func()) { return set(&caches, c) }

// Emulate disables the instructions for pairs in a test, until the test calls restore.
func Emulate() (restore func()) { return set(&hasBF16, false) }

func set[T any](p *T, v T) (restore func()) {
	old := *p
	*p = v
	return func() { *p = old }
}

package kernel

import (
	"fmt"
	"os"
	"slices"
)

// Variable is the environment variable that forces an instruction set.
const Variable = "UNRAVEL_KERNEL"

type level int

const (
	levelGo level = iota
	levelAVX2
	levelAVX512
	levelNEON
)

var levelNames = [...]string{"go", "avx2", "avx512", "neon"}

func (l level) String() string { return levelNames[l] }

// active is the instruction set in use; only tests change it.
var active, activeErr = choose(os.Getenv(Variable), available())

// choose returns the level called name if has contains it, or the last level of has if name is empty.
func choose(name string, has []level) (level, error) {
	best := has[len(has)-1]
	if name == "" {
		return best, nil
	}
	l := level(slices.Index(levelNames[:], name))
	switch {
	case slices.Contains(has, l):
		return l, nil
	case l < 0:
		return best, fmt.Errorf("%s=%q: want %s", Variable, name, list(architecture, "or"))
	}
	return best, fmt.Errorf("%s=%s: this processor only has %s", Variable, name, list(has, "and"))
}

// list joins the names of levels.
func list(levels []level, last string) string {
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

package kernel

import (
	"fmt"
	"os"
)

// Variable is the environment variable that forces an instruction set.
const Variable = "UNRAVEL_KERNEL"

type level int

const (
	levelGo level = iota
	levelAVX2
	levelAVX512
)

func (l level) String() string { return [...]string{"go", "avx2", "avx512"}[l] }

// active is the instruction set in use; only tests change it.
var active, activeErr = choose(os.Getenv(Variable), best())

// choose returns the level called name if the machine has it, or the best one if no name is given.
func choose(name string, best level) (level, error) {
	if name == "" {
		return best, nil
	}
	for l := levelGo; l <= levelAVX512; l++ {
		if l.String() != name {
			continue
		}
		if l > best {
			return best, fmt.Errorf("%s=%s: this processor only has %v", Variable, name, best)
		}
		return l, nil
	}
	return best, fmt.Errorf("%s=%q: want go, avx2 or avx512", Variable, name)
}

// InstructionSet returns the instruction set in use: go, avx2 or avx512. It is an error if
// UNRAVEL_KERNEL asks for one that does not exist here.
func InstructionSet() (string, error) { return active.String(), activeErr }

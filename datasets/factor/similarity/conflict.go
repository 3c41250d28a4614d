package similarity

import (
	"fmt"
	"slices"
	"strings"
)

// conflict is an answer different about two rows that a chain of answers same joins.
type conflict struct {
	factor string
	answer Answer
	chain  []Answer // from answer.A to answer.B, with A and B of its answers in the order of the chain
}

// path returns a shortest chain of answers same between the two rows of an answer.
func (u *union) path(list []Answer, from Answer) []Answer {
	root := u.find(from.A)
	beside := map[int32][]int{} // by row of the class: answers same
	for n, x := range list {
		if x.Same && x.A != x.B && u.find(x.A) == root {
			beside[x.A], beside[x.B] = append(beside[x.A], n), append(beside[x.B], n)
		}
	}
	came := map[int32]Answer{from.A: {}}
	for queue := []int32{from.A}; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		if i == from.B {
			break
		}
		for _, n := range beside[i] {
			step := list[n]
			if step.A != i {
				step.A, step.B = step.B, step.A
			}
			if _, seen := came[step.B]; !seen {
				came[step.B] = step
				queue = append(queue, step.B)
			}
		}
	}
	var chain []Answer
	for i := from.B; i != from.A; i = came[i].A {
		chain = append(chain, came[i])
	}
	slices.Reverse(chain)
	return chain
}

// String names the answers of the cycle.
func (c conflict) String() string {
	at := func(x Answer) string {
		if x.Line == 0 {
			return ""
		}
		return fmt.Sprintf(" (line %d)", x.Line)
	}
	text := fmt.Sprintf("%s: rows %d and %d are different%s", c.factor, c.answer.A, c.answer.B, at(c.answer))
	if len(c.chain) == 0 {
		return text + ", and one row"
	}
	var same []string
	for n, x := range c.chain {
		if n == 6 && len(c.chain) > 8 {
			same = append(same, fmt.Sprintf("and so on, %d more", len(c.chain)-n))
			break
		}
		same = append(same, fmt.Sprintf("%d = %d%s", x.A, x.B, at(x)))
	}
	return text + ", but the same: " + strings.Join(same, ", ")
}

// ConflictError is the error of [Unite] for answers that contradict each other. Correct the answers in Cycles, or let
// Options settle conflicts.
type ConflictError struct {
	Name   string   // name of the file; "": none
	Count  int      // answers different between rows that are the same
	Cycles []string // for the first conflict of each factor, the contradictory answers
}

// Error lists the first cycles.
func (e *ConflictError) Error() string {
	shown := e.Cycles[:min(len(e.Cycles), 3)]
	text := "answers contradict each other: " + strings.Join(shown, "; ")
	if more := e.Count - len(shown); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	if e.Name != "" {
		text = e.Name + ": " + text
	}
	return text + "; want them corrected, or conflicts: drop or majority"
}

func conflictError(name string, list []conflict) error {
	e := &ConflictError{Name: name, Count: len(list)}
	for _, c := range list {
		if c.factor != "" {
			e.Cycles = append(e.Cycles, c.String())
		}
	}
	return e
}

package similarity

import (
	"fmt"
	"slices"
	"strings"
)

// path returns a shortest chain of same answers between the two rows of an answer.
func (u *union) path(list []Answer, from Answer) []Answer {
	root := u.find(from.A)
	beside := map[int32][]int{} // same answers by row of the class
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

// cycle describes a different answer, and the chain of same answers that joins its two rows.
func cycle(different Answer, chain []Answer) string {
	at := func(x Answer) string {
		if x.Line == 0 {
			return ""
		}
		return fmt.Sprintf(" (line %d)", x.Line)
	}
	text := fmt.Sprintf("rows %d and %d are different%s", different.A, different.B, at(different))
	if len(chain) == 0 {
		return text + ", and one row"
	}
	var same []string
	for n, x := range chain {
		if n == 6 && len(chain) > 8 {
			same = append(same, fmt.Sprintf("and so on, %d more", len(chain)-n))
			break
		}
		same = append(same, fmt.Sprintf("%d = %d%s", x.A, x.B, at(x)))
	}
	return text + ", but the same: " + strings.Join(same, ", ")
}

// ConflictError is the error of [Unite] for contradictory answers. To resolve the conflicts, correct the answers in
// Cycles or set Conflicts in Options.
type ConflictError struct {
	Name   string   // name of the file; "": none
	Count  int      // number of different answers between rows of the same class
	Cycles []string // contradictory answers, for the first three conflicts of each factor
}

// Error describes the first cycles.
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

package similarity

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Conflicts says how to treat a chain of same answers that joins two rows which another answer tells apart.
type Conflicts string

// The treatments of contradictions.
const (
	ConflictsAuto     Conflicts = ""         // ConflictsError, or ConflictsMajority with a noise rate
	ConflictsError    Conflicts = "error"    // an error that lists the answers
	ConflictsDrop     Conflicts = "drop"     // classes with a contradiction are dropped
	ConflictsMajority Conflicts = "majority" // classes that agree with as many answers as possible
)

func (c *Conflicts) UnmarshalText(text []byte) error {
	switch *c = Conflicts(text); *c {
	case ConflictsAuto, ConflictsError, ConflictsDrop, ConflictsMajority:
		return nil
	}
	return fmt.Errorf("unknown rule of conflicts %q; known: error, drop, majority", text)
}

// Options are the options of Unite.
type Options struct {
	Conflicts Conflicts
	Noise     float64 // fraction of wrong answers, 0 to less than 0.5
}

func (o Options) Validate() error {
	_, err := o.policy()
	return err
}

// policy returns the rule, or an error for options out of range.
func (o Options) policy() (Conflicts, error) {
	if !(o.Noise >= 0 && o.Noise < 0.5) {
		return "", fmt.Errorf("noise %v is out of range; want 0 or more, and less than 0.5", o.Noise)
	}
	switch {
	case o.Conflicts == ConflictsAuto && o.Noise > 0:
		return ConflictsMajority, nil
	case o.Conflicts == ConflictsAuto:
		return ConflictsError, nil
	case o.Noise > 0 && o.Conflicts != ConflictsMajority:
		return "", fmt.Errorf("conflicts are %s and noise %v; want majority with noise: wrong answers contradict others",
			o.Conflicts, o.Noise)
	}
	return o.Conflicts, o.Conflicts.UnmarshalText([]byte(o.Conflicts))
}

// Classes are the equivalence classes that follow from answers.
type Classes struct {
	Factors []string
	Of      [][]int32 // by factor and row: number of its class, from 0; -1: no class
	Count   []int     // by factor: number of classes

	// Kept lists the answers that agree with the classes, without dropped and overruled answers.
	Kept []Answer

	Dropped   int   // number of answers in classes that ConflictsDrop drops
	Overruled int   // number of answers that ConflictsMajority overrules
	Unsure    int   // with a noise rate: number of rows with too few answers for their class; their same answers are overruled, too
	Least     []int // by factor: minimum excess of same over different answers in a class; see Unite
}

// Unite computes equivalence classes from answers, separately for each factor. A class consists of the rows that same
// answers join, directly or through a chain. A class has at least two rows, but a row that is the same as itself may
// form a class alone.
//
// With [ConflictsMajority], two greedy passes look for the classes that agree with the most answers, where answers
// contradict each other. The first pass joins two classes if more answers between them say same than different,
// starting with the largest excess (greedy additive edge contraction, Keuper et al. 2015). The second pass moves rows
// to another class, or out of their class, if more answers then agree (correlation clustering, Bansal et al. 2004). The
// time is O(n log n) for n answers.
//
// With a noise rate e, a row must also belong to its class with a probability above one half. With s same answers and d
// different answers about members of the class, the row stays if
//
//	(s - d) log((1 - e)/e) + log(p/(1 - p)) > 0
//
// where p is the rate of equal pairs, estimated as (r - e)/(1 - 2e) from the rate r of same answers. Other rows have no
// class.
func Unite(a *Answers, o Options) (*Classes, error) {
	policy, err := o.policy()
	if err != nil {
		return nil, err
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	c := &Classes{Factors: a.Factors, Of: make([][]int32, len(a.Factors)), Count: make([]int, len(a.Factors)),
		Least: make([]int, len(a.Factors))}
	conflict := &ConflictError{Name: a.Name}
	for k, list := range a.byFactor() {
		u := newUnion(a.Rows, list)
		contradictions := u.contradictions(list)
		minExcess := requiredExcess(list, o.Noise)
		c.Least[k] = minExcess
		switch {
		case len(contradictions) > 0 && policy == ConflictsError:
			conflict.Count += len(contradictions)
			for _, n := range contradictions[:min(len(contradictions), 3)] {
				conflict.cycles = append(conflict.cycles, a.Factors[k]+": "+cycle(list[n], u.path(list, list[n])))
			}
		case len(contradictions) > 0 && policy == ConflictsDrop:
			list = c.drop(u, list, contradictions)
			u = newUnion(a.Rows, list)
		case len(contradictions) > 0 || minExcess > 1:
			m := newMajority(u, list, contradictions, minExcess)
			u.label = m.label
			c.Unsure += m.unsure
		}
		c.Of[k], c.Count[k] = u.classes(list)
		c.keep(c.Of[k], list)
	}
	if conflict.Count > 0 {
		return nil, conflict
	}
	return c, nil
}

// Rejoin returns the classes, by factor and row, that the answers in list join, such as the answers without held-out
// images. The answers must agree with classes, the classes so far. A factor without classes gets none.
func Rejoin(classes [][]int32, list []Answer) [][]int32 {
	if classes == nil {
		return nil
	}
	a, joined := Answers{Factors: make([]string, len(classes)), List: list}, make([][]int32, len(classes))
	for k, answers := range a.byFactor() {
		if classes[k] != nil {
			joined[k], _ = newUnion(len(classes[k]), answers).classes(answers)
		}
	}
	return joined
}

// keep appends the answers that agree with the classes of a factor to Kept, and counts the others as overruled.
func (c *Classes) keep(classes []int32, list []Answer) {
	for _, x := range list {
		same := classes[x.A] >= 0 && classes[x.A] == classes[x.B]
		if same == x.Same {
			c.Kept = append(c.Kept, x)
		} else {
			c.Overruled++
		}
	}
}

// drop removes the answers within classes with a contradiction.
func (c *Classes) drop(u *union, list []Answer, contradictions []int) []Answer {
	contradictory := u.contradictoryClasses(list, contradictions)
	var rest []Answer
	for _, x := range list {
		if r := u.find(x.A); contradictory[r] && r == u.find(x.B) {
			c.Dropped++
			continue
		}
		rest = append(rest, x)
	}
	return rest
}

// requiredExcess returns the minimum excess of same answers that makes two rows more likely the same than not.
func requiredExcess(list []Answer, noise float64) int {
	if noise == 0 {
		return 1
	}
	n := float64(len(list))
	rate := (float64(countSame(list))/max(n, 1) - noise) / (1 - 2*noise)
	rate = min(max(rate, 1/(n+2)), 1-1/(n+2))
	return max(1, 1+int(math.Floor(math.Log((1-rate)/rate)/math.Log((1-noise)/noise))))
}

// union is a disjoint-set forest of rows (union-find).
type union struct {
	parent []int32
	label  []int32 // by row: class, which replaces parent's; nil: use parent
}

func newUnion(rows int, list []Answer) *union {
	u := &union{parent: make([]int32, rows)}
	for i := range u.parent {
		u.parent[i] = int32(i)
	}
	for _, x := range list {
		if x.Same {
			u.join(x.A, x.B)
		}
	}
	return u
}

// find returns the lowest row of a class.
func (u *union) find(i int32) int32 {
	for u.parent[i] != i {
		u.parent[i] = u.parent[u.parent[i]]
		i = u.parent[i]
	}
	return i
}

func (u *union) join(a, b int32) {
	a, b = u.find(a), u.find(b)
	u.parent[max(a, b)] = min(a, b)
}

// contradictions returns the indices of the different answers within a class.
func (u *union) contradictions(list []Answer) []int {
	var indices []int
	for n, x := range list {
		if !x.Same && u.find(x.A) == u.find(x.B) {
			indices = append(indices, n)
		}
	}
	return indices
}

// contradictoryClasses returns the classes, by their lowest rows, with contradictory answers.
func (u *union) contradictoryClasses(list []Answer, contradictions []int) map[int32]bool {
	contradictory := map[int32]bool{}
	for _, n := range contradictions {
		contradictory[u.find(list[n].A)] = true
	}
	return contradictory
}

// classes numbers the classes in the order of their first rows.
func (u *union) classes(list []Answer) (classes []int32, count int) {
	classes = make([]int32, len(u.parent))
	root := func(i int32) int32 {
		if u.label != nil {
			return u.label[i]
		}
		return u.find(i)
	}
	size := make([]int32, len(classes))
	for i := range classes {
		size[root(int32(i))]++
	}
	for _, x := range list {
		if x.Same && x.A == x.B {
			size[root(x.A)] = max(size[root(x.A)], 2) // may be alone
		}
	}
	number := make([]int32, len(classes))
	for i := range classes {
		r := root(int32(i))
		if classes[i] = -1; size[r] < 2 {
			continue
		}
		if number[r] == 0 {
			count++
			number[r] = int32(count)
		}
		classes[i] = number[r] - 1
	}
	return classes, count
}

// path returns a shortest chain of same answers between the two rows of an answer.
func (u *union) path(list []Answer, different Answer) []Answer {
	root := u.find(different.A)
	neighbours := map[int32][]int{} // same answers by row of the class
	for n, x := range list {
		if x.Same && x.A != x.B && u.find(x.A) == root {
			neighbours[x.A], neighbours[x.B] = append(neighbours[x.A], n), append(neighbours[x.B], n)
		}
	}
	previous := map[int32]Answer{different.A: {}}
	for queue := []int32{different.A}; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		for _, n := range neighbours[i] {
			step := list[n]
			if step.A != i {
				step.A, step.B = step.B, step.A
			}
			if _, seen := previous[step.B]; !seen {
				previous[step.B] = step
				queue = append(queue, step.B)
			}
		}
	}
	var chain []Answer
	for i := different.B; i != different.A; i = previous[i].A {
		chain = append(chain, previous[i])
	}
	slices.Reverse(chain)
	return chain
}

// cycle describes a different answer, and the chain of same answers that joins its two rows.
func cycle(different Answer, chain []Answer) string {
	lineNote := func(x Answer) string {
		if x.Line == 0 {
			return ""
		}
		return fmt.Sprintf(" (line %d)", x.Line)
	}
	text := fmt.Sprintf("rows %d and %d are different%s", different.A, different.B, lineNote(different))
	if len(chain) == 0 {
		return text + ", and one row"
	}
	var same []string
	for n, x := range chain {
		if n == 6 && len(chain) > 8 {
			same = append(same, fmt.Sprintf("and so on, %d more", len(chain)-n))
			break
		}
		same = append(same, fmt.Sprintf("%d = %d%s", x.A, x.B, lineNote(x)))
	}
	return text + ", but the same: " + strings.Join(same, ", ")
}

// ConflictError is the error of [Unite] for contradictory answers. To resolve the conflicts, correct the answers
// or set Conflicts in Options.
type ConflictError struct {
	Name   string   // name of the file; "": none
	Count  int      // number of different answers between rows of the same class
	cycles []string // contradictory answers, for the first three conflicts of each factor
}

// Error describes the first cycles.
func (e *ConflictError) Error() string {
	shown := e.cycles[:min(len(e.cycles), 3)]
	text := "answers contradict each other: " + strings.Join(shown, "; ")
	if more := e.Count - len(shown); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	if e.Name != "" {
		text = e.Name + ": " + text
	}
	return text + "; want them corrected, or conflicts: drop or majority"
}

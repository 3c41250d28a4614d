package similarity

import (
	"fmt"
	"math"
)

// Conflicts says what becomes of answers that contradict each other: rows that chains of the answer same join, and
// that an answer calls different.
type Conflicts string

// What becomes of contradictions.
const (
	ConflictsAuto     Conflicts = ""         // error, or majority where a noise rate is stated
	ConflictsError    Conflicts = "error"    // an error that names the answers
	ConflictsDrop     Conflicts = "drop"     // classes with a contradiction are left out
	ConflictsMajority Conflicts = "majority" // classes that as many answers as possible agree with
)

// UnmarshalText accepts a known name.
func (c *Conflicts) UnmarshalText(text []byte) error {
	switch *c = Conflicts(text); *c {
	case ConflictsAuto, ConflictsError, ConflictsDrop, ConflictsMajority:
		return nil
	}
	return fmt.Errorf("unknown rule of conflicts %q; known: error, drop, majority", text)
}

// Options say how answers are united.
type Options struct {
	Conflicts Conflicts
	Noise     float64 // rate of wrong answers, 0 to less than 0.5
}

// Validate reports options out of range.
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
		return "", fmt.Errorf("conflicts are %s and noise %v; want majority with noise: wrong answers contradict others", o.Conflicts, o.Noise)
	}
	return o.Conflicts, o.Conflicts.UnmarshalText([]byte(o.Conflicts))
}

// Classes are the equivalence classes of answers.
type Classes struct {
	Factors []string
	Of      [][]int32 // by factor and row: the number of its class, from 0 on; -1: it is in none
	Count   []int     // by factor: classes

	// Kept are the answers that the classes agree with, without those that majority and drop have left out.
	Kept []Answer

	Dropped   int   // answers of classes that ConflictsDrop has left out
	Overruled int   // answers that ConflictsMajority does not follow
	Unsure    int   // rows that too few answers hold in their class, of a noise rate; their answers same are overruled too
	Least     []int // by factor: by how many answers same must exceed different in a class; see Unite
}

// Unite makes equivalence classes of answers, factor by factor: rows that the answer same joins, directly or by a chain. A class has
// at least two rows; a row that is called the same as itself may be alone.
//
// With [ConflictsMajority] classes are those that agree with the most answers, where answers contradict each other, as far as two
// greedy passes find them: classes are joined while more answers between them say same than different, those with the largest excess
// first (greedy additive edge contraction, Keuper et al. 2015), and then rows move to the class, or leave theirs, where
// that makes more answers agree (correlation clustering, Bansal et al. 2004). Time is O(n log n) in the answers.
//
// With a noise rate e the answers to a row's questions must also make it more likely than not that it belongs to its class: with
// s and d answers same and different to members of the class, it stays if
//
//	(s - d) log((1 - e)/e) + log(p/(1 - p)) > 0
//
// where p is the rate of pairs that are the same, estimated from the rate r of answers same as (r - e)/(1 - 2e). Other rows
// are in no class.
func Unite(a *Answers, o Options) (*Classes, error) {
	policy, err := o.policy()
	if err != nil {
		return nil, err
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	c := &Classes{Factors: a.Factors, Of: make([][]int32, len(a.Factors)), Count: make([]int, len(a.Factors)), Least: make([]int, len(a.Factors))}
	var conflicts []conflict
	for k, list := range a.of() {
		u := newUnion(a.Rows, list)
		against := u.against(list)
		least := leastExcess(list, o.Noise)
		c.Least[k] = least
		switch {
		case len(against) > 0 && policy == ConflictsError:
			for _, n := range against[:min(len(against), 3)] {
				conflicts = append(conflicts, conflict{a.Factors[k], list[n], u.path(list, list[n])})
			}
			conflicts = append(conflicts, make([]conflict, max(0, len(against)-3))...)
		case len(against) > 0 && policy == ConflictsDrop:
			list = c.drop(u, list, against)
			u = newUnion(a.Rows, list)
		case len(against) > 0 || least > 1:
			m := newMajority(u, list, against, least)
			u.label = m.label
			c.Unsure += m.unsure
		}
		c.Of[k], c.Count[k] = u.classes(list)
		c.keep(c.Of[k], list)
	}
	if conflicts != nil {
		return nil, conflictError(a.Name, conflicts)
	}
	return c, nil
}

// keep adds the answers that the classes of a factor agree with.
func (c *Classes) keep(of []int32, list []Answer) {
	for _, x := range list {
		same := of[x.A] >= 0 && of[x.A] == of[x.B]
		if same == x.Same {
			c.Kept = append(c.Kept, x)
		} else {
			c.Overruled++
		}
	}
}

// drop returns the answers without those within the classes of some answers.
func (c *Classes) drop(u *union, list []Answer, against []int) []Answer {
	bad := map[int32]bool{}
	for _, n := range against {
		bad[u.find(list[n].A)] = true
	}
	var rest []Answer
	for _, x := range list {
		if r := u.find(x.A); bad[r] && r == u.find(x.B) {
			c.Dropped++
			continue
		}
		rest = append(rest, x)
	}
	return rest
}

// leastExcess returns the least excess of the answers same over different that makes rows more likely the same than not.
func leastExcess(list []Answer, noise float64) int {
	if noise == 0 {
		return 1
	}
	same := 0
	for _, x := range list {
		if x.Same {
			same++
		}
	}
	n := float64(len(list))
	rate := (float64(same)/max(n, 1) - noise) / (1 - 2*noise)
	rate = min(max(rate, 1/(n+2)), 1-1/(n+2))
	return max(1, 1+int(math.Floor(math.Log((1-rate)/rate)/math.Log((1-noise)/noise))))
}

// union joins rows into classes.
type union struct {
	parent []int32
	label  []int32 // by row: its class in place of parent's; nil: parent's
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

// find returns the least row of a class.
func (u *union) find(i int32) int32 {
	for u.parent[i] != i {
		u.parent[i] = u.parent[u.parent[i]]
		i = u.parent[i]
	}
	return i
}

// join joins two classes.
func (u *union) join(a, b int32) {
	a, b = u.find(a), u.find(b)
	u.parent[max(a, b)] = min(a, b)
}

// against lists the answers different within a class.
func (u *union) against(list []Answer) []int {
	var at []int
	for n, x := range list {
		if !x.Same && u.find(x.A) == u.find(x.B) {
			at = append(at, n)
		}
	}
	return at
}

// classes numbers the classes by their first rows.
func (u *union) classes(list []Answer) (of []int32, count int) {
	of = make([]int32, len(u.parent))
	root := func(i int32) int32 {
		if u.label != nil {
			return u.label[i]
		}
		return u.find(i)
	}
	size := make([]int32, len(of))
	for i := range of {
		size[root(int32(i))]++
	}
	for _, x := range list {
		if x.Same && x.A == x.B {
			size[root(x.A)] = max(size[root(x.A)], 2) // it may be alone
		}
	}
	number := make([]int32, len(of))
	for i := range of {
		r := root(int32(i))
		if of[i] = -1; size[r] < 2 {
			continue
		}
		if number[r] == 0 {
			count++
			number[r] = int32(count)
		}
		of[i] = number[r] - 1
	}
	return of, count
}

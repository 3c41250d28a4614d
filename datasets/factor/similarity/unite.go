package similarity

import (
	"fmt"
	"math"
)

// Conflicts says how to treat contradictory answers: a chain of answers same joins two rows, and another answer calls
// them different.
type Conflicts string

// The treatments of contradictions.
const (
	ConflictsAuto     Conflicts = ""         // error, or majority with a noise rate
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

// Options tell Unite how to unite answers.
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
	Of      [][]int32 // by factor and row: the number of its class, counted from 0; -1: no class
	Count   []int     // by factor: number of classes

	// Kept are the answers that agree with the classes, without answers that majority and drop removed.
	Kept []Answer

	Dropped   int   // answers of classes that ConflictsDrop has left out
	Overruled int   // answers that ConflictsMajority does not follow
	Unsure    int   // rows that too few answers hold in their class, of a noise rate; their answers same are overruled too
	Least     []int // by factor: least excess of answers same over different in a class; see Unite
}

// Unite makes equivalence classes from answers, factor by factor. A class holds the rows that answers same join,
// directly or by a chain. A class has at least two rows, except that a row called the same as itself may be alone.
//
// With [ConflictsMajority], two greedy passes look for the classes that agree with the most answers, where answers
// contradict each other. The first pass joins classes while more answers between them say same than different, and
// takes the largest excess first (greedy additive edge contraction, Keuper et al. 2015). The second pass moves rows to
// another class, or out of their class, if more answers then agree (correlation clustering, Bansal et al. 2004). The
// time is O(n log n) in the number of answers.
//
// With a noise rate e, a row must also belong to its class with a probability above one half. With s answers same and d
// answers different to members of the class, the row stays if
//
//	(s - d) log((1 - e)/e) + log(p/(1 - p)) > 0
//
// with the rate p of equal pairs, estimated from the rate r of answers same as (r - e)/(1 - 2e). Other rows have no
// class.
func Unite(a *Answers, o Options) (*Classes, error) {
	policy, err := o.policy()
	if err != nil {
		return nil, err
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	c := &Classes{Factors: a.Factors, Of: make([][]int32, len(a.Factors)), Count: make([]int, len(a.Factors)), Least: make([]int, len(a.Factors))}
	conflict := &ConflictError{Name: a.Name}
	for k, list := range a.of() {
		u := newUnion(a.Rows, list)
		against := u.against(list)
		least := leastExcess(list, o.Noise)
		c.Least[k] = least
		switch {
		case len(against) > 0 && policy == ConflictsError:
			conflict.Count += len(against)
			for _, n := range against[:min(len(against), 3)] {
				conflict.Cycles = append(conflict.Cycles, a.Factors[k]+": "+cycle(list[n], u.path(list, list[n])))
			}
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
	if conflict.Count > 0 {
		return nil, conflict
	}
	return c, nil
}

// keep adds the answers that agree with the classes of a factor.
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

// drop removes the answers within classes that hold a contradiction.
func (c *Classes) drop(u *union, list []Answer, against []int) []Answer {
	bad := u.contradictory(list, against)
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

// leastExcess returns the least excess of answers same over different that makes rows more likely the same than not.
func leastExcess(list []Answer, noise float64) int {
	if noise == 0 {
		return 1
	}
	n := float64(len(list))
	rate := (float64(countSame(list))/max(n, 1) - noise) / (1 - 2*noise)
	rate = min(max(rate, 1/(n+2)), 1-1/(n+2))
	return max(1, 1+int(math.Floor(math.Log((1-rate)/rate)/math.Log((1-noise)/noise))))
}

// union joins rows into classes.
type union struct {
	parent []int32
	label  []int32 // by row: its class, which replaces parent's; nil: parent decides
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

// contradictory returns the classes, by their least rows, of some answers different.
func (u *union) contradictory(list []Answer, against []int) map[int32]bool {
	bad := map[int32]bool{}
	for _, n := range against {
		bad[u.find(list[n].A)] = true
	}
	return bad
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

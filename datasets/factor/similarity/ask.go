package similarity

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/graph/rng"
)

// Query describes which questions Ask and Random choose.
type Query struct {
	Count   int       // number of questions, divided evenly among the factors
	Factors []string  // empty: all factors of the answers
	Codes   []float64 // rows x Width: codes of the rows; nil: none
	Width   int
	Explore float64     // fraction of questions that are random
	Stream  *rng.Stream // chooses the rows to examine
}

// Limits on the rows and classes examined for a factor.
const (
	maxQuestions = 1 << 20 // maximum number of questions
	maxClasses   = 300     // maximum number of classes
	maxMembers   = 30      // maximum number of rows of a class
)

// Ask chooses questions that the answers do not settle yet, and adds them to Open. For each factor, it first asks which
// classes are the same, and then to which class single rows belong. It first takes rows from earlier answers without a
// class, and then random rows. It compares each row with the class, or with an earlier single row, that maximises
//
//	P(same) n/(n + 1)
//
// where n is the size of the class. It compares two classes, starting with the largest, if P(same) is at least 0.1 and
// P(same) nm/(n + m) is at least 1/2. The latter is the gain in knowledge about variation within classes. P(same) is a
// logistic function of the differences of standardised codes, fitted to the previous answers about the factor. The
// probability of a class is the probability of its most similar row, among 30 random rows. If there are more than 300
// classes, only the largest 300 are examined. Without codes, P(same) is equal for all pairs.
//
// Rows are random; codes only determine their partners. Classes therefore stay random samples of all rows with a
// level. In contrast, questions about the most similar pairs would join rows with codes that are already close. Losses
// of modularity learn little from such pairs.
//
// Ask skips pairs within a class, and pairs of two classes with rows that earlier answers tell apart. It counts each
// chosen question as answered with same, so no later question follows if all answers are same. A fraction Explore of
// the questions is about random pairs, for the fit of P(same).
func Ask(a *Answers, q Query) error {
	factors, err := q.check(a)
	if err != nil {
		return err
	}
	z, width := standardise(q.Codes, a.Rows, q.Width)
	for n, name := range factors {
		count := (q.Count*(n+1))/len(factors) - q.Count*n/len(factors)
		x, err := newAsker(a, a.factor(name), z, width, q.Stream)
		if err != nil {
			return err
		}
		x.askRandom(int(math.Round(q.Explore * float64(count))))
		x.joinClasses(count)
		x.placeRows(count)
		a.Open = append(a.Open, x.questions...)
	}
	return nil
}

// check returns the factors to ask about.
func (q *Query) check(a *Answers) ([]string, error) {
	factors := q.Factors
	if len(factors) == 0 {
		factors = a.Factors
	}
	switch {
	case q.Count < 1 || q.Count > maxQuestions:
		return nil, fmt.Errorf("%d questions are out of range; want 1 to %d", q.Count, maxQuestions)
	case len(factors) == 0:
		return nil, errors.New("there is no factor to ask about; want the name of one, such as colour")
	case q.Codes != nil && (q.Width < 1 || len(q.Codes) != a.Rows*q.Width):
		return nil, fmt.Errorf("codes hold %d numbers; want %d rows of %d", len(q.Codes), a.Rows, q.Width)
	case !(q.Explore >= 0 && q.Explore <= 1):
		return nil, fmt.Errorf("explore %v is out of range; want 0 to 1", q.Explore)
	case q.Stream == nil:
		return nil, errors.New("there is no stream of random numbers; want one")
	case a.Rows < 2:
		return nil, errors.New("there is one row; want two or more to compare")
	}
	for i, name := range factors {
		if name == "" || slices.Contains(factors[:i], name) {
			return nil, fmt.Errorf("factor %d, %q, is empty or repeated; want distinct names", i, name)
		}
	}
	for i, v := range q.Codes {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("codes: row %d, column %d is %v; want finite numbers", i/q.Width, i%q.Width, v)
		}
	}
	return factors, a.Validate()
}

// standardise returns the columns with mean 0 and variance 1, without constant columns.
func standardise(codes []float64, rows, width int) ([]float64, int) {
	var columns [][]float64
	if codes == nil {
		width = 0
	}
	for c := range width {
		column := make([]float64, rows)
		var mean, square float64
		for i := range column {
			mean += codes[i*width+c] / float64(rows)
		}
		for i := range column {
			column[i] = codes[i*width+c] - mean
			square += column[i] * column[i] / float64(rows)
		}
		deviation := math.Sqrt(square)
		if !(deviation > 1e-12*math.Abs(mean)) || math.IsInf(deviation, 0) {
			continue
		}
		for i := range column {
			column[i] /= deviation
		}
		columns = append(columns, column)
	}
	z := make([]float64, 0, rows*len(columns))
	for i := range rows {
		for _, column := range columns {
			z = append(z, column[i])
		}
	}
	return z, len(columns)
}

// asker chooses the questions about a factor.
type asker struct {
	factor    int32
	questions []Answer

	group      *union            // classes if all questions so far are answered with same
	different  map[[2]int32]bool // classes that are known to differ, by their lowest rows
	roots      []int32           // by row: its class before any question
	classes    []*class          // classes of several rows, largest first
	singles    []*class          // rows to ask about, as classes of one row
	unassigned []int32           // rows in earlier questions that are in no class
	same       *sameModel
	stream     *rng.Stream
}

// class is a class of equal rows, or a single row.
type class struct {
	root int32
	rows []int32 // sample of its rows
	size float64
}

func newAsker(a *Answers, k int32, z []float64, width int, s *rng.Stream) (*asker, error) {
	single, err := a.Only(a.Factors[k : k+1])
	if err != nil {
		return nil, err
	}
	classes, err := Unite(single, Options{Conflicts: ConflictsMajority})
	if err != nil {
		return nil, err
	}
	x := &asker{factor: k, different: map[[2]int32]bool{}, group: newUnion(a.Rows, nil), roots: make([]int32, a.Rows),
		stream: s}
	members := make([][]int32, classes.Count[0])
	for i, c := range classes.Of[0] {
		if x.roots[i] = int32(i); c >= 0 {
			members[c] = append(members[c], int32(i))
			x.roots[i] = members[c][0]
			x.group.join(members[c][0], int32(i))
		}
	}
	for _, rows := range members {
		x.classes = append(x.classes, x.newClass(rows))
	}
	slices.SortStableFunc(x.classes, func(a, b *class) int { return cmp.Compare(b.size, a.size) })
	x.classes = x.classes[:min(len(x.classes), maxClasses)]
	seen := map[int32]bool{}
	for _, answer := range classes.Kept {
		if !answer.Same {
			x.different[x.classPair(answer.A, answer.B)] = true
		}
		for _, i := range []int32{answer.A, answer.B} {
			if classes.Of[0][i] < 0 && !seen[i] {
				seen[i], x.unassigned = true, append(x.unassigned, i)
			}
		}
	}
	for _, open := range a.Open { // already asked
		if open.Factor == k {
			x.group.join(open.A, open.B)
		}
	}
	x.same = newSameModel(z, width, classes.Kept, s)
	return x, nil
}

// newClass returns a class with a random sample of its rows.
func (x *asker) newClass(rows []int32) *class {
	c := &class{root: x.roots[rows[0]], rows: rows, size: float64(len(rows))}
	if len(rows) > maxMembers {
		c.rows = nil
		for _, i := range x.stream.Perm(len(rows))[:maxMembers] {
			c.rows = append(c.rows, rows[i])
		}
	}
	return c
}

// classPair returns the key of the classes of two rows.
func (x *asker) classPair(a, b int32) [2]int32 {
	a, b = x.roots[a], x.roots[b]
	return [2]int32{min(a, b), max(a, b)}
}

// isOpen reports whether the answer about two rows is unknown.
func (x *asker) isOpen(i, j int32) bool {
	return i != j && !x.different[x.classPair(i, j)] && x.group.find(i) != x.group.find(j)
}

func (x *asker) ask(i, j int32) {
	x.group.join(i, j)
	x.questions = append(x.questions, Answer{A: i, B: j, Factor: x.factor})
}

// askRandom asks about random pairs of rows.
func (x *asker) askRandom(count int) {
	for tries := 0; len(x.questions) < count && tries < 20*count; tries++ {
		if i, j := int32(x.stream.IntN(len(x.roots))), int32(x.stream.IntN(len(x.roots))); x.isOpen(i, j) {
			x.ask(i, j)
		}
	}
}

// mostSimilar returns the rows of two classes that are most likely the same, and their P(same).
func (x *asker) mostSimilar(a, b *class) (i, j int32, p float64) {
	p = -1
	for _, r := range a.rows {
		for _, s := range b.rows {
			if q := x.same.probability(int(r), int(s)); q > p {
				i, j, p = r, s, q
			}
		}
	}
	return i, j, p
}

// joinClasses asks at most count questions about whether likely pairs of classes are the same.
func (x *asker) joinClasses(count int) {
	for n, a := range x.classes {
		for _, b := range x.classes[:n] {
			if len(x.questions) >= count {
				return
			}
			if !x.isOpen(a.root, b.root) {
				continue
			}
			if i, j, p := x.mostSimilar(a, b); p*a.size*b.size/(a.size+b.size) >= 0.5 && p >= 0.1 {
				x.ask(i, j)
			}
		}
	}
}

// placeRows asks to which class single rows belong, until there are count questions or no rows are left.
func (x *asker) placeRows(count int) {
	seen := map[int32]bool{}
	ask := func(row int32) {
		if seen[row] {
			return
		}
		seen[row] = true
		single := &class{root: row, rows: []int32{row}, size: 1}
		a, b, found := x.bestQuestion(single)
		if x.singles = append(x.singles, single); found {
			x.ask(a, b)
		}
	}
	for _, row := range x.unassigned {
		if len(x.questions) >= count {
			return
		}
		ask(row)
	}
	for _, row := range x.stream.Perm(len(x.roots)) {
		if len(x.questions) >= count {
			return
		}
		if x.roots[row] == int32(row) && !x.hasClass(int32(row)) {
			ask(int32(row))
		}
	}
}

// bestQuestion returns the most useful question about a single row and a class.
func (x *asker) bestQuestion(single *class) (a, b int32, found bool) {
	best := 0.0
	for _, list := range [][]*class{x.classes, x.singles} {
		for _, c := range list {
			if !x.isOpen(single.root, c.root) {
				continue
			}
			if i, j, p := x.mostSimilar(single, c); p*c.size/(c.size+1) > best {
				a, b, best = i, j, p*c.size/(c.size+1)
			}
		}
	}
	return a, b, best > 0
}

// hasClass reports whether a row is in a class of several rows.
func (x *asker) hasClass(row int32) bool {
	return slices.ContainsFunc(x.classes, func(c *class) bool { return c.root == row })
}

// Random chooses random questions, as a baseline for [Ask]: pairs of different rows, uniform with replacement.
func Random(a *Answers, q Query) error {
	factors, err := q.check(a)
	if err != nil {
		return err
	}
	for n := range q.Count {
		k := a.factor(factors[n%len(factors)])
		i := q.Stream.IntN(a.Rows)
		j := (i + 1 + q.Stream.IntN(a.Rows-1)) % a.Rows
		a.Open = append(a.Open, Answer{A: int32(i), B: int32(j), Factor: k})
	}
	return nil
}

// Fill answers the open questions from the levels of a factor, for simulations. A question about an unknown level stays
// open. level returns the level of a row, or a negative number for an unknown level.
func (a *Answers) Fill(level func(factor string, row int) (int, error)) error {
	var open []Answer
	for _, x := range a.Open {
		l, err := level(a.Factors[x.Factor], int(x.A))
		if err != nil {
			return err
		}
		m, err := level(a.Factors[x.Factor], int(x.B))
		if err != nil {
			return err
		}
		if x.Same = l == m; l < 0 || m < 0 {
			open = append(open, x)
			continue
		}
		a.List = append(a.List, x)
	}
	a.Open = open
	return nil
}

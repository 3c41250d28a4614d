package similarity

import (
	"cmp"
	"container/heap"
	"slices"
)

// majority finds the classes that agree with the most answers; see [Unite].
type majority struct {
	label  []int32 // by row: lowest row of its class
	unsure int

	rows       []int32 // rows in contradictory answers
	neighbours map[int32][]vote
}

// vote is the number of same minus different answers between a row and another row.
type vote struct {
	row    int32
	excess int32
}

// newMajority clusters the classes of u with a contradiction, or all if minExcess, the required excess, is above 1.
func newMajority(u *union, list []Answer, contradictions []int, minExcess int) *majority {
	m := &majority{label: make([]int32, len(u.parent)), neighbours: map[int32][]vote{}}
	for i := range m.label {
		m.label[i] = u.find(int32(i))
	}
	contradictory := u.contradictoryClasses(list, contradictions)
	m.countVotes(list, func(x Answer) bool {
		r := u.find(x.A)
		return x.A != x.B && r == u.find(x.B) && (minExcess > 1 || contradictory[r])
	})
	m.contract()
	for range 20 {
		if !m.moveRows() {
			break
		}
	}
	if minExcess > 1 {
		m.removeUnsure(int32(minExcess))
	}
	m.relabel()
	return m
}

// countVotes sums the accepted answers for each pair of rows.
func (m *majority) countVotes(list []Answer, accept func(Answer) bool) {
	type pair struct{ a, b int32 }
	excess := map[pair]int32{}
	for _, x := range list {
		if !accept(x) {
			continue
		}
		p := pair{min(x.A, x.B), max(x.A, x.B)}
		if x.Same {
			excess[p]++
		} else {
			excess[p]--
		}
	}
	for p, e := range excess {
		m.neighbours[p.a] = append(m.neighbours[p.a], vote{p.b, e})
		m.neighbours[p.b] = append(m.neighbours[p.b], vote{p.a, e})
	}
	for i, votes := range m.neighbours {
		slices.SortFunc(votes, func(a, b vote) int { return cmp.Compare(a.row, b.row) })
		m.rows = append(m.rows, i)
		m.label[i] = i
	}
	slices.Sort(m.rows)
}

// edge is a pair of classes in the queue of contract.
type edge struct{ a, b, excess int32 }

type edges []edge

func (q edges) Len() int      { return len(q) }
func (q edges) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q edges) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[j].excess, q[i].excess), cmp.Compare(q[i].a, q[j].a), cmp.Compare(q[i].b, q[j].b)) < 0
}
func (q *edges) Push(x any) { *q = append(*q, x.(edge)) }
func (q *edges) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}

// contract repeatedly joins the two classes with the largest positive excess of answers between them.
func (m *majority) contract() {
	between := map[int32]map[int32]int32{} // by pair of classes
	var queue edges
	for _, i := range m.rows {
		between[i] = map[int32]int32{}
		for _, v := range m.neighbours[i] {
			between[i][v.row] = v.excess
			if i < v.row && v.excess > 0 {
				queue = append(queue, edge{i, v.row, v.excess})
			}
		}
	}
	heap.Init(&queue)
	joined := newUnion(len(m.label), nil)
	for len(queue) > 0 {
		e := heap.Pop(&queue).(edge)
		if current, ok := between[e.a][e.b]; !ok || current != e.excess {
			continue // outdated: the classes have changed
		}
		to, from := e.a, e.b
		if len(between[to]) < len(between[from]) {
			to, from = from, to
		}
		delete(between[to], from)
		for other, votes := range between[from] {
			delete(between[other], from)
			if other == to {
				continue
			}
			sum := between[to][other] + votes
			between[to][other], between[other][to] = sum, sum
			if sum > 0 {
				heap.Push(&queue, edge{min(to, other), max(to, other), sum})
			}
		}
		delete(between, from)
		joined.parent[from] = to
	}
	for _, i := range m.rows {
		m.label[i] = joined.find(i)
	}
}

// moveRows moves each row to the class with most excess answers, or to a new class. It returns false if no row moves.
func (m *majority) moveRows() bool {
	moved, size := false, map[int32]int{}
	for _, i := range m.rows {
		size[m.label[i]]++
	}
	excess := map[int32]int32{}
	for _, i := range m.rows {
		clear(excess)
		for _, v := range m.neighbours[i] {
			excess[m.label[v.row]] += v.excess
		}
		best, bestExcess := m.label[i], excess[m.label[i]]
		for _, v := range m.neighbours[i] { // sorted, because the order decides ties
			if l := m.label[v.row]; excess[l] > bestExcess {
				best, bestExcess = l, excess[l]
			}
		}
		if bestExcess < 0 {
			best = m.emptyLabel(i, size)
		}
		if best == m.label[i] {
			continue
		}
		size[m.label[i]]--
		size[best]++
		m.label[i], moved = best, true
	}
	return moved
}

func (m *majority) emptyLabel(i int32, size map[int32]int) int32 {
	if size[i] == 0 {
		return i
	}
	for _, l := range m.rows {
		if size[l] == 0 {
			return l
		}
	}
	return m.label[i]
}

// removeUnsure removes rows from their classes until every other row has at least minExcess excess answers within its
// class.
func (m *majority) removeUnsure(minExcess int32) {
	excess := map[int32]int32{}
	var queue []int32
	removed := map[int32]bool{}
	for _, i := range m.rows {
		for _, v := range m.neighbours[i] {
			if m.label[v.row] == m.label[i] {
				excess[i] += v.excess
			}
		}
		if excess[i] < minExcess {
			queue = append(queue, i)
			removed[i] = true
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		for _, v := range m.neighbours[i] {
			if removed[v.row] || m.label[v.row] != m.label[i] {
				continue
			}
			if excess[v.row] -= v.excess; excess[v.row] < minExcess {
				queue = append(queue, v.row)
				removed[v.row] = true
			}
		}
	}
	m.unsure = len(removed)
	for i := range removed {
		m.label[i] = -1
	}
}

// relabel labels each class by its lowest row.
func (m *majority) relabel() {
	first := map[int32]int32{}
	for _, i := range m.rows {
		l := m.label[i]
		if l < 0 {
			m.label[i] = i
			continue
		}
		if _, ok := first[l]; !ok {
			first[l] = i
		}
		m.label[i] = first[l]
	}
}

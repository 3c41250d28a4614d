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

	rows   []int32 // rows in contradictory answers
	beside map[int32][]vote
}

// vote is the number of same minus different answers between a row and another row.
type vote struct {
	row    int32
	excess int32
}

// newMajority clusters the classes of u with a contradiction, or all if least, the required excess, is above 1.
func newMajority(u *union, list []Answer, against []int, least int) *majority {
	m := &majority{label: make([]int32, len(u.parent)), beside: map[int32][]vote{}}
	for i := range m.label {
		m.label[i] = u.find(int32(i))
	}
	bad := u.contradictory(list, against)
	m.count(list, func(x Answer) bool {
		r := u.find(x.A)
		return x.A != x.B && r == u.find(x.B) && (least > 1 || bad[r])
	})
	m.contract()
	for range 20 {
		if !m.move() {
			break
		}
	}
	if least > 1 {
		m.peel(int32(least))
	}
	m.rename()
	return m
}

// count sums the accepted answers for each pair of rows.
func (m *majority) count(list []Answer, counts func(Answer) bool) {
	type pair struct{ a, b int32 }
	excess := map[pair]int32{}
	for _, x := range list {
		if !counts(x) {
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
		m.beside[p.a] = append(m.beside[p.a], vote{p.b, e})
		m.beside[p.b] = append(m.beside[p.b], vote{p.a, e})
	}
	for i, votes := range m.beside {
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
		for _, v := range m.beside[i] {
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
		if now, ok := between[e.a][e.b]; !ok || now != e.excess {
			continue // outdated: the classes have changed
		}
		to, from := e.a, e.b
		if len(between[to]) < len(between[from]) {
			to, from = from, to
		}
		delete(between[to], from)
		for other, excess := range between[from] {
			delete(between[other], from)
			if other == to {
				continue
			}
			sum := between[to][other] + excess
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

// move moves each row to the class with most excess answers, or to a new class. It returns false if no row moves.
func (m *majority) move() bool {
	moved, size := false, map[int32]int{}
	for _, i := range m.rows {
		size[m.label[i]]++
	}
	excess := map[int32]int32{}
	for _, i := range m.rows {
		clear(excess)
		for _, v := range m.beside[i] {
			excess[m.label[v.row]] += v.excess
		}
		best, most := m.label[i], excess[m.label[i]]
		for _, v := range m.beside[i] { // sorted, because the order decides ties
			if l := m.label[v.row]; excess[l] > most {
				best, most = l, excess[l]
			}
		}
		if most < 0 {
			best = m.free(i, size)
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

func (m *majority) free(i int32, size map[int32]int) int32 {
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

// peel removes rows from their classes until every other row has at least least excess answers within its class.
func (m *majority) peel(least int32) {
	held := map[int32]int32{}
	var queue []int32
	out := map[int32]bool{}
	for _, i := range m.rows {
		for _, v := range m.beside[i] {
			if m.label[v.row] == m.label[i] {
				held[i] += v.excess
			}
		}
		if held[i] < least {
			queue = append(queue, i)
			out[i] = true
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		for _, v := range m.beside[i] {
			if out[v.row] || m.label[v.row] != m.label[i] {
				continue
			}
			if held[v.row] -= v.excess; held[v.row] < least {
				queue = append(queue, v.row)
				out[v.row] = true
			}
		}
	}
	m.unsure = len(out)
	for i := range out {
		m.label[i] = -1
	}
}

// rename labels each class by its lowest row.
func (m *majority) rename() {
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

package neon

import (
	"fmt"
	"math/bits"
	"slices"
)

// generalRegisters are the registers that assembly functions may use in Go. R18 belongs to the system, R27 to the
// assembler and R28 to the goroutine. R29 and R30 are the frame pointer and the link register.
var generalRegisters = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23, 24, 25, 26}

// set is a set of small numbers.
type set []uint64

func newSet(n int) set       { return make(set, (n+63)/64) }
func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 == 1 }
func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s set) remove(i int)   { s[i/64] &^= 1 << (i % 64) }

func (s set) each(f func(i int)) {
	for w, x := range s {
		for ; x != 0; x &= x - 1 {
			f(64*w + bits.TrailingZeros64(x))
		}
	}
}

// join adds the numbers of another set and reports whether one was new.
func (s set) join(other set) bool {
	changed := false
	for i, x := range other {
		changed = changed || x&^s[i] != 0
		s[i] |= x
	}
	return changed
}

// written and read return the registers that an instruction writes and reads.
func (n instruction) written() []Reg { return n.chosen(n.writes) }
func (n instruction) read() []Reg    { return n.chosen(n.reads) }

func (n instruction) chosen(mask uint) (list []Reg) {
	for i, r := range n.registers {
		if mask>>i&1 == 1 {
			list = append(list, r)
		}
	}
	return list
}

// live returns, for each instruction of code, the registers that later instructions read.
func live(code []instruction, registers int) []set {
	labels := map[string]int{}
	for i, n := range code {
		if n.label != "" {
			labels[n.label] = i
		}
	}
	after, before := make([]set, len(code)), make([]set, len(code)+1)
	for i := range code {
		after[i], before[i] = newSet(registers), newSet(registers)
	}
	before[len(code)] = newSet(registers)
	for changed := true; changed; {
		changed = false
		for i := len(code) - 1; i >= 0; i-- {
			n := code[i]
			if !n.always {
				after[i].join(before[i+1])
			}
			if n.target != "" {
				after[i].join(before[labels[n.target]])
			}
			in := slices.Clone(after[i])
			for _, r := range n.written() {
				in.remove(int(r))
			}
			for _, r := range n.read() {
				in.add(int(r))
			}
			changed = before[i].join(in) || changed
		}
	}
	return after
}

// withoutDead removes instructions with unread results from code.
func withoutDead(code []instruction, registers int) []instruction {
	for {
		after := live(code, registers)
		var kept []instruction
		for i, n := range code {
			used := n.effect || n.label != ""
			for _, r := range n.written() {
				used = used || after[i].has(int(r))
			}
			if used {
				kept = append(kept, n)
			}
		}
		if len(kept) == len(code) {
			return code
		}
		code = kept
	}
}

// allocate chooses the registers of a function and returns them by Reg. It removes copies from a register to itself.
func (f *Function) allocate() ([]int, error) {
	f.code = append(slices.Clone(f.entry), f.code...)
	f.entry = nil
	f.code = withoutDead(f.code, len(f.vectors))
	g := f.interference()
	g.coalesce(f.code)
	chosen := make([]int, len(f.vectors))
	if err := g.colour(chosen); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	f.code = slices.DeleteFunc(f.code, func(n instruction) bool { return n.move && chosen[n.registers[0]] == chosen[n.registers[1]] })
	return chosen, nil
}

// graph is the interference graph: it records the registers that hold values at the same time.
type graph struct {
	vectors []bool
	same    []Reg // union-find of coalesced registers
	with    []set
	used    []bool
}

func (f *Function) interference() *graph {
	n := len(f.vectors)
	g := &graph{vectors: f.vectors, same: make([]Reg, n), with: make([]set, n), used: make([]bool, n)}
	for i := range n {
		g.same[i], g.with[i] = Reg(i), newSet(n)
	}
	after := live(f.code, n)
	for i, x := range f.code {
		for _, r := range x.registers {
			g.used[r] = true
		}
		for _, w := range x.written() {
			for _, other := range x.written() {
				g.connect(w, other)
			}
			after[i].each(func(l int) {
				if !(x.move && slices.Contains(x.read(), Reg(l))) {
					g.connect(w, Reg(l))
				}
			})
		}
	}
	return g
}

func (g *graph) connect(a, b Reg) {
	if a != b && g.vectors[a] == g.vectors[b] {
		g.with[a].add(int(b))
		g.with[b].add(int(a))
	}
}

func (g *graph) find(r Reg) Reg {
	for g.same[r] != r {
		r = g.same[r]
	}
	return r
}

// coalesce merges the two registers of a copy unless they interfere.
func (g *graph) coalesce(code []instruction) {
	for i := len(code) - 1; i >= 0; i-- { // inner loops come last
		n := code[i]
		if !n.move {
			continue
		}
		a, b := g.find(n.registers[0]), g.find(n.registers[1])
		if a == b || g.with[a].has(int(b)) {
			continue
		}
		g.same[b], g.used[b] = a, false
		g.with[b].each(func(c int) {
			g.with[c].remove(int(b))
			g.connect(a, Reg(c))
		})
	}
}

// colour chooses a register for each node. Nodes with few neighbours come last.
func (g *graph) colour(chosen []int) error {
	degree := make([]int, len(g.same))
	var rest, stack []Reg
	for i, u := range g.used {
		if u && i > 0 {
			rest = append(rest, Reg(i))
			g.with[i].each(func(int) { degree[i]++ })
		}
	}
	for len(rest) > 0 {
		at := 0
		for i, r := range rest { // node of least degree
			if degree[r]-g.room(r) < degree[rest[at]]-g.room(rest[at]) {
				at = i
			}
		}
		r := rest[at]
		rest = slices.Delete(rest, at, at+1)
		stack = append(stack, r)
		g.with[r].each(func(c int) { degree[c]-- })
	}
	for i := range chosen {
		chosen[i] = -1
	}
	for i := len(stack) - 1; i >= 0; i-- {
		r := stack[i]
		var taken [32]bool
		g.with[r].each(func(c int) {
			if chosen[c] >= 0 {
				taken[chosen[c]] = true
			}
		})
		for c := range g.room(r) {
			if !g.vectors[r] {
				c = generalRegisters[c]
			}
			if !taken[c] {
				chosen[r] = c
				break
			}
		}
		if chosen[r] < 0 {
			return fmt.Errorf("too few registers (vector: %v)", g.vectors[r])
		}
	}
	for i := range chosen {
		chosen[i] = chosen[g.find(Reg(i))]
	}
	return nil
}

func (g *graph) room(r Reg) int {
	if g.vectors[r] {
		return 32
	}
	return len(generalRegisters)
}

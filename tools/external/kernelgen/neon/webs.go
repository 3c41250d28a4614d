package neon

import (
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// web is a set of definitions of a register with the reads that they reach. A function reuses registers, and a web is
// one value or one loop variable.
type web struct {
	definitions []*ir.Instruction
	readers     []*ir.Instruction
}

// place is one operand of an instruction: a register that it reads or writes.
type place struct {
	instruction *ir.Instruction
	register    reg.ID
	written     bool
}

// webs maps places to their webs.
type webs map[place]*web

// parameter is the pseudo-register of a parameter in memory.
func parameter(offset int) reg.ID { return reg.ID(1<<31 | offset) }

// isParameter reports whether an operand is a parameter.
func isParameter(o operand.Op) (operand.Mem, bool) {
	m, ok := o.(operand.Mem)
	return m, ok && m.Base == reg.FramePointer
}

// names returns the registers that an instruction reads and writes, including parameters.
func names(n *ir.Instruction) (read, written []reg.ID) {
	for _, r := range n.InputRegisters() {
		if r != reg.FramePointer && r != reg.StaticBase {
			read = append(read, r.ID())
		}
	}
	for _, r := range n.OutputRegisters() {
		written = append(written, r.ID())
	}
	for _, o := range n.Inputs {
		if m, ok := isParameter(o); ok {
			read = append(read, parameter(m.Disp))
		}
	}
	for _, o := range n.Outputs {
		if m, ok := isParameter(o); ok {
			written = append(written, parameter(m.Disp))
		}
	}
	return read, written
}

// definition is a write to a register. For parameters, instruction is nil.
type definition struct {
	register    reg.ID
	instruction *ir.Instruction
}

// findWebs returns the webs of a function.
func findWebs(f *ir.Function) webs {
	var definitions []definition
	numbers := map[definition]int{}
	of := map[reg.ID][]int{}
	define := func(d definition) {
		if _, ok := numbers[d]; !ok {
			numbers[d] = len(definitions)
			of[d.register] = append(of[d.register], len(definitions))
			definitions = append(definitions, d)
		}
	}
	for _, n := range f.Instructions() {
		read, written := names(n)
		for _, r := range append(read, written...) {
			if r&(1<<31) != 0 {
				define(definition{r, nil})
			}
		}
		for _, r := range written {
			define(definition{r, n})
		}
	}
	same := make([]int, len(definitions))
	for i := range same {
		same[i] = i
	}
	find := func(i int) int {
		for same[i] != i {
			i = same[i]
		}
		return i
	}
	reach := reaching(f, definitions, numbers, of)
	for i, n := range f.Instructions() {
		read, _ := names(n)
		for _, r := range read {
			first := -1
			for _, d := range of[r] {
				if !reach[i].has(d) {
					continue
				}
				if first >= 0 {
					same[find(d)] = find(first)
				}
				first = d
			}
			if first < 0 {
				panic("neon: " + f.Name + ": a register is read before it is written")
			}
		}
	}
	all := make(map[int]*web)
	result := webs{}
	at := func(d int) *web {
		root := find(d)
		if all[root] == nil {
			all[root] = &web{}
		}
		return all[root]
	}
	for d, x := range definitions {
		w := at(d)
		w.definitions = append(w.definitions, x.instruction)
		if x.instruction != nil {
			result[place{x.instruction, x.register, true}] = w
		}
	}
	for i, n := range f.Instructions() {
		read, _ := names(n)
		for _, r := range read {
			for _, d := range of[r] {
				if reach[i].has(d) {
					w := at(d)
					w.readers = append(w.readers, n)
					result[place{n, r, false}] = w
					break
				}
			}
		}
	}
	return result
}

// reaching returns the definitions that reach each instruction.
func reaching(f *ir.Function, definitions []definition, numbers map[definition]int, of map[reg.ID][]int) []set {
	var code []*ir.Instruction
	labels := map[string]int{}
	for _, n := range f.Nodes {
		switch n := n.(type) {
		case ir.Label:
			labels[string(n)] = len(code)
		case *ir.Instruction:
			code = append(code, n)
		}
	}
	reach := make([]set, len(code)+1)
	for i := range reach {
		reach[i] = newSet(len(definitions))
	}
	for i, d := range definitions {
		if d.instruction == nil {
			reach[0].add(i)
		}
	}
	for changed := true; changed; {
		changed = false
		for i, n := range code {
			out := append(set(nil), reach[i]...)
			_, written := names(n)
			for _, r := range written {
				for _, d := range of[r] {
					out.remove(d)
				}
				out.add(numbers[definition{r, n}])
			}
			if !n.IsTerminal && !n.IsUnconditionalBranch() {
				changed = reach[i+1].join(out) || changed
			}
			if l := n.TargetLabel(); l != nil {
				changed = reach[labels[string(*l)]].join(out) || changed
			}
		}
	}
	return reach
}

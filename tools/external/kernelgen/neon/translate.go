package neon

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// value is a register of AVX2: a constant, or two vector registers for the halves. Both halves are the same register if
// all lanes are equal or if the value has only one half.
type value struct {
	half     [2]Reg
	constant bool
	bits     uint32
	inverted bool // a mask that holds its complement
	uniform  bool // all lanes are equal
	scalar   bool // only lane 0 is set, and stands for all lanes
}

// single reports whether a value has one register.
func (v value) single() bool { return !v.constant && v.half[0] == v.half[1] }

// translator translates a function.
type translator struct {
	*Function
	webs
	vectors map[*web]value
	general map[*web]Reg
	uniform map[*web]bool // all lanes are equal
	n       *ir.Instruction

	sums   map[key]Reg // sums of registers since the last label
	copies map[Reg]Reg // copies of registers since the last label, with their originals
}

// translate translates an AVX2 function to NEON and exports its name. hold lists the constants with a register.
func translate(f *ir.Function, hold map[uint32]bool) (*Function, error) {
	name := strings.ToUpper(f.Name[:1]) + f.Name[1:]
	doc := strings.Replace(strings.Join(f.Doc, " "), f.Name, name, 1)
	t := &translator{
		Function: NewFunction(name, doc, f.Signature.String(), f.ArgumentBytes()), webs: findWebs(f),
		vectors: map[*web]value{}, general: map[*web]Reg{}, uniform: map[*web]bool{},
	}
	t.hold = hold
	t.findUniform(f)
	t.forget()
	for _, n := range f.Nodes {
		switch n := n.(type) {
		case ir.Label:
			t.Label(string(n))
			t.forget()
		case *ir.Instruction:
			t.n = n
			if err := t.instruction(); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", f.Name, printed(n), err)
			}
		}
	}
	return t.Function, nil
}

func printed(n *ir.Instruction) string {
	text := n.OpcodeWithSuffixes()
	for i, o := range n.Operands {
		text += strings.Repeat(",", min(i, 1)) + " " + o.Asm()
	}
	return text
}

// Translate returns the better form of a function, with 8 or 4 lanes: the form with fewer instructions in loops per
// lane. It keeps as many constants in registers as fit.
func Translate(forms map[int]*ir.Function) (*Function, error) {
	var best *Function
	var least float64
	var all []error
	for _, lanes := range slices.Sorted(maps.Keys(forms)) {
		f, err := fit(forms[lanes])
		if err != nil {
			all = append(all, fmt.Errorf("%d lanes: %w", lanes, err))
			continue
		}
		if n := f.inLoops() / float64(lanes); best == nil || n < least {
			best, least = f, n
		}
	}
	if best == nil {
		return nil, errors.Join(all...)
	}
	return best, nil
}

// fit translates a function and keeps as many constants in registers as fit, the most used constants first.
func fit(f *ir.Function) (*Function, error) {
	first, err := translate(f, nil)
	if err != nil {
		return nil, err
	}
	constants := slices.Sorted(maps.Keys(first.uses))
	slices.SortStableFunc(constants, func(a, b uint32) int { return first.uses[b] - first.uses[a] })
	for n := len(constants); ; n-- {
		hold := map[uint32]bool{}
		for _, c := range constants[:n] {
			hold[c] = true
		}
		g, err := translate(f, hold)
		if err != nil {
			return nil, err
		}
		if err = g.try(); err == nil {
			return g, nil
		}
		if n == 0 {
			return nil, err
		}
	}
}

// try allocates registers for a copy of a function.
func (f *Function) try() error {
	copied := *f
	_, err := copied.allocate()
	return err
}

// inLoops returns the number of instructions between labels and jumps back to them.
func (f *Function) inLoops() float64 {
	copied := *f
	if _, err := copied.allocate(); err != nil {
		return 0
	}
	labels, inner := map[string]int{}, make([]float64, len(copied.code)+1)
	for i, n := range copied.code {
		if n.label != "" {
			labels[n.label] = i
		}
		if at, ok := labels[n.target]; ok && n.target != "" {
			for j := at; j <= i; j++ {
				inner[j] = max(1, 8*inner[j])
			}
		}
	}
	sum := 0.0
	for _, n := range inner {
		sum += n
	}
	return sum
}

// forget invalidates all facts about registers at a label.
func (t *translator) forget() { t.sums, t.copies = map[key]Reg{}, map[Reg]Reg{} }

// constantBits returns the bits of a constant in memory.
func constantBits(o operand.Op) (uint32, bool) {
	m, ok := o.(operand.Mem)
	if !ok || m.Base != reg.StaticBase {
		return 0, false
	}
	bits, err := strconv.ParseUint(m.Symbol.Name[len(m.Symbol.Name)-8:], 16, 32)
	return uint32(bits), err == nil
}

// isZero reports whether an instruction sets a register to 0.
func isZero(n *ir.Instruction) bool { return n.Opcode == "VXORPS" && n.Operands[0] == n.Operands[1] }

// source returns the constant that an instruction copies to a register.
func source(n *ir.Instruction) (uint32, bool) {
	if isZero(n) {
		return 0, true
	}
	if strings.HasPrefix(n.Opcode, "VMOV") && len(n.Operands) == 2 {
		return constantBits(n.Operands[0])
	}
	return 0, false
}

// findUniform finds the webs with equal lanes: broadcasts, and webs computed only from uniform webs.
func (t *translator) findUniform(f *ir.Function) {
	for _, w := range t.webs {
		t.uniform[w] = true
	}
	for changed := true; changed; {
		changed = false
		for p, w := range t.webs {
			if p.written && t.uniform[w] && !t.makesUniform(p.instruction) {
				t.uniform[w], changed = false, true
			}
		}
	}
}

func (t *translator) makesUniform(n *ir.Instruction) bool {
	if _, ok := source(n); ok {
		return true
	}
	if strings.HasPrefix(n.Opcode, "VBROADCAST") || n.Opcode == "VMOVDDUP" {
		return true
	}
	if n.Opcode == "VEXTRACTF128" || n.Opcode == "VPERM2F128" || strings.HasPrefix(n.Opcode, "VUNPCK") || strings.HasPrefix(n.Opcode, "VMOVMSK") || n.Opcode == "MOVSS" {
		return false
	}
	for _, o := range n.Inputs {
		switch o := o.(type) {
		case operand.Mem:
			if _, ok := constantBits(o); !ok {
				return false
			}
		case reg.Register:
			if w := t.webs[place{n, o.ID(), false}]; w == nil || !t.uniform[w] {
				return false
			}
		}
	}
	return true
}

// read returns the value of a vector operand. It loads an operand in memory.
func (t *translator) read(o operand.Op) value {
	if bits, ok := constantBits(o); ok {
		return value{constant: true, bits: bits}
	}
	if m, ok := o.(operand.Mem); ok {
		v := value{half: [2]Reg{t.V(), 0}}
		v.half[1] = v.half[0]
		if t.width() == 32 {
			v.half[1] = t.V()
		}
		t.load(v, m)
		return v
	}
	w := t.webs[place{t.n, o.(reg.Register).ID(), false}]
	return t.of(w, o.(reg.Register))
}

// width is the number of bytes of the instruction's widest register.
func (t *translator) width() (bytes uint) {
	for _, r := range t.n.Registers() {
		if r.Kind() == reg.KindVector {
			bytes = max(bytes, r.Size())
		}
	}
	return bytes
}

// of returns the value of a web.
func (t *translator) of(w *web, r reg.Register) value {
	if v, ok := t.vectors[w]; ok {
		return v
	}
	var v value
	if len(w.definitions) == 1 {
		if bits, ok := source(w.definitions[0]); ok {
			v = value{constant: true, bits: bits}
			t.vectors[w] = v
			return v
		}
		v.inverted = isInverted(w.definitions[0])
	}
	v.uniform, v.scalar = t.uniform[w], isFactor(w)
	v.half[0] = t.V()
	v.half[1] = v.half[0]
	if !v.uniform && widest(w) == 32 {
		v.half[1] = t.V()
	}
	t.vectors[w] = v
	return v
}

// widest is the number of bytes that the definitions of a web write.
func widest(w *web) (bytes uint) {
	for _, d := range w.definitions {
		for _, r := range d.OutputRegisters() {
			bytes = max(bytes, r.Size())
		}
	}
	return bytes
}

// isInverted reports whether NEON has only the complement of a comparison.
func isInverted(n *ir.Instruction) bool {
	if n.Opcode != "VCMPPS" && n.Opcode != "VCMPPD" {
		return false
	}
	p := n.Operands[0].Asm()
	return p == "$0x06" || p == "$0x15"
}

// write returns the value that the instruction writes to its last operand.
func (t *translator) write() value {
	o := t.n.Operands[len(t.n.Operands)-1].(reg.Register)
	return t.of(t.webs[place{t.n, o.ID(), true}], o)
}

// register returns the register of a value's half.
func (t *translator) register(v value, half int) Reg {
	if v.constant {
		return t.Constant(v.bits)
	}
	return v.half[half]
}

// halves calls f for each distinct half of a value.
func (t *translator) halves(v value, f func(half int)) {
	f(0)
	if !v.single() {
		f(1)
	}
}

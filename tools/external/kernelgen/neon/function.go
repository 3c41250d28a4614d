// Package neon writes functions for arm64: it translates avo's AVX2 functions, and assembles handwritten NEON
// functions. Go's assembler lacks most floating-point vector instructions, so they are written as words.
package neon

import (
	"fmt"
	"strings"
)

// Reg is a virtual register before allocation; 0 is none.
type Reg int

// instruction is one instruction of code: a vector instruction by its name in encodings, or text for Go's assembler
// with a %s for each register.
type instruction struct {
	name          string
	text          string
	registers     []Reg
	writes, reads uint // bit i for registers[i]
	i             int  // immediate

	move   bool   // copies registers[1] to registers[0]; for text, registers[0] to registers[1]
	effect bool   // has an effect besides writing registers
	label  string // a label; all other fields are empty
	target string // label of a jump
	always bool   // the jump is unconditional
}

// Function is a function under construction.
type Function struct {
	Name, Doc, Signature string
	Arguments            int // bytes

	code    []instruction
	entry   []instruction // goes before code
	vectors []bool        // by register: whether it is a vector
	pool    Reg           // address of constants
	held    map[uint32]Reg
	hold    map[uint32]bool // constants with a register throughout the function
	uses    map[uint32]int  // uses of constants in code
	slots   map[int]Reg     // parameters by offset
}

// NewFunction returns an empty function.
func NewFunction(name, doc, signature string, arguments int) *Function {
	return &Function{Name: name, Doc: doc, Signature: signature, Arguments: arguments, vectors: make([]bool, 1),
		held: map[uint32]Reg{}, uses: map[uint32]int{}, slots: map[int]Reg{}}
}

// V returns a new vector register.
func (f *Function) V() Reg { return f.register(true) }

// X returns a new general register.
func (f *Function) X() Reg { return f.register(false) }

func (f *Function) register(vector bool) Reg {
	f.vectors = append(f.vectors, vector)
	return Reg(len(f.vectors) - 1)
}

// vector returns the vector instruction with a name. Its registers are in the order of the text.
func vector(name string, i int, registers ...Reg) instruction {
	e, ok := encodings[name]
	if !ok {
		panic("neon: no instruction " + name)
	}
	n := instruction{name: name, registers: registers, i: i, move: strings.HasPrefix(name, "mov.")}
	all := uint(1)<<len(registers) - 1
	switch {
	case e.form == prefetch || strings.HasPrefix(name, "st"):
		n.reads, n.effect = all, true
	case e.form == pairs:
		n.writes, n.reads = 3, all&^3
	default:
		n.writes, n.reads = 1, all&^1
		if e.tied {
			n.reads |= 1
		}
	}
	return n
}

// Do adds a vector instruction. Its result, if any, comes first.
func (f *Function) Do(name string, registers ...Reg) {
	f.code = append(f.code, vector(name, 0, registers...))
}

// DoAt adds a vector instruction with an immediate number.
func (f *Function) DoAt(name string, i int, registers ...Reg) {
	f.code = append(f.code, vector(name, i, registers...))
}

// Go adds an instruction of Go's assembler. text has a %s for each register. The instruction writes the last n
// registers.
func (f *Function) Go(n int, text string, registers ...Reg) {
	f.code = append(f.code, general(n, text, registers...))
}

func general(n int, text string, registers ...Reg) instruction {
	all, reads := uint(1)<<len(registers)-1, uint(1)<<(len(registers)-n)-1
	return instruction{text: text, registers: registers, writes: all &^ reads, reads: reads,
		effect: n == 0 || strings.HasPrefix(text, "SUBS"), move: text == "MOVD %s, %s"}
}

// Count adds a number to a register and sets the flags.
func (f *Function) Count(r Reg, by int) {
	n := instruction{text: fmt.Sprintf("SUBS $%d, %%s, %%s", -by), registers: []Reg{r, r}, writes: 2, reads: 1, effect: true}
	f.code = append(f.code, n)
}

// Label adds a label.
func (f *Function) Label(name string) { f.code = append(f.code, instruction{label: name}) }

// Jump jumps to a label if a condition of Go's assembler holds: EQ, NE, LT, GT, GE or LE. An empty condition always
// holds.
func (f *Function) Jump(condition, label string) {
	text := "B " + label
	if condition != "" {
		text = "B" + condition + " " + label
	}
	f.code = append(f.code, instruction{text: text, target: label, always: condition == "", effect: true})
}

// Return ends the function.
func (f *Function) Return() {
	f.code = append(f.code, instruction{text: "RET", always: true, effect: true})
}

// Parameter returns the register of a parameter. The function loads it at the beginning.
func (f *Function) Parameter(name string, offset int, float bool) Reg {
	if r, ok := f.slots[offset]; ok {
		return r
	}
	r, op := f.register(float), "MOVD"
	if float {
		op = "FMOVS"
	}
	f.slots[offset] = r
	f.entry = append(f.entry, general(1, fmt.Sprintf("%s %s+%d(FP), %%s", op, name, offset), r))
	return r
}

// Broadcast returns a register with a float32 parameter in all lanes.
func (f *Function) Broadcast(name string, offset int) Reg {
	if r, ok := f.slots[-1-offset]; ok {
		return r
	}
	x, r := f.Parameter(name, offset, true), f.V()
	f.entry = append(f.entry, vector("dup.s", 0, r, x))
	f.slots[-1-offset] = r
	return r
}

// Constant returns a read-only register with the float32 of these bits in all lanes.
func (f *Function) Constant(bits uint32) Reg {
	f.uses[bits]++
	if !f.hold[bits] {
		r := f.V()
		f.code = append(f.code, f.constant(bits, r))
		return r
	}
	r, ok := f.held[bits]
	if !ok {
		r = f.V()
		f.held[bits] = r
		f.entry = append(f.entry, f.constant(bits, r))
	}
	return r
}

// SetConstant sets all lanes of a register to the float32 of these bits.
func (f *Function) SetConstant(r Reg, bits uint32) { f.code = append(f.code, f.constant(bits, r)) }

// constant returns the instruction that loads a constant. All functions of a file share the pool; see File.
func (f *Function) constant(bits uint32, r Reg) instruction {
	if bits == 0 {
		return vector("movi.4s", 0, r)
	}
	if f.pool == 0 {
		f.pool = f.X()
		f.entry = append([]instruction{general(1, "MOVD $"+poolName+"<>(SB), %s", f.pool)}, f.entry...)
	}
	n := vector("ldr.q", 0, r, f.pool)
	n.i = poolOffset(bits)
	return n
}

// poolName is the name of a file's constants.
const poolName = "neonConstants"

// poolBits are the constants of a file in order of first use.
var poolBits []uint32

func poolOffset(bits uint32) int {
	for i, b := range poolBits {
		if b == bits {
			return 16 * i
		}
	}
	poolBits = append(poolBits, bits)
	return 16 * (len(poolBits) - 1)
}

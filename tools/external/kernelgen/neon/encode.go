package neon

import (
	"fmt"
	"strings"
)

// form is the encoding and notation of an instruction's operands.
type form int

const (
	three      form = iota // vd, vn, vm
	two                    // vd, vn
	element                // vd, vn, vm[i]
	copyOf                 // vd, vn[i]
	shift                  // vd, vn, #i
	zero                   // vd, #0
	scalars                // sd, sn, sm
	toX                    // xd, dn
	load                   // vd, [xn, #i]
	loadAt                 // vd, [xn, xm]
	loadScaled             // vd, [xn, xm, lsl #2]
	pairs                  // vd, vd, [xn, #i]
	repeated               // {vd}, [xn]
	prefetch               // [xn, #i]
)

// encoding is a vector instruction that Go's assembler lacks or writes differently.
type encoding struct {
	form form
	bits uint32 // bits with all registers and immediates 0
	// tied instructions read the register that they write
	tied bool
}

// encodings lists the instructions by mnemonic and arrangement of lanes (Arm Architecture Reference Manual, C7.2).
var encodings = map[string]encoding{
	"fadd.4s": {three, 0x4e20d400, false}, "fadd.2d": {three, 0x4e60d400, false},
	"fsub.4s": {three, 0x4ea0d400, false}, "fsub.2d": {three, 0x4ee0d400, false},
	"fmul.4s": {three, 0x6e20dc00, false}, "fmul.2d": {three, 0x6e60dc00, false},
	"fdiv.4s": {three, 0x6e20fc00, false}, "fdiv.2d": {three, 0x6e60fc00, false},
	"fmla.4s": {three, 0x4e20cc00, true}, "fmla.2d": {three, 0x4e60cc00, true},
	"fmls.4s": {three, 0x4ea0cc00, true}, "fmls.2d": {three, 0x4ee0cc00, true},
	"fmax.4s": {three, 0x4e20f400, false}, "fmax.2d": {three, 0x4e60f400, false},
	"fmin.4s": {three, 0x4ea0f400, false}, "fmin.2d": {three, 0x4ee0f400, false},
	"fmaxnm.4s": {three, 0x4e20c400, false}, "fmaxnm.2d": {three, 0x4e60c400, false},
	"fminnm.4s": {three, 0x4ea0c400, false}, "fminnm.2d": {three, 0x4ee0c400, false},
	"fcmeq.4s": {three, 0x4e20e400, false}, "fcmeq.2d": {three, 0x4e60e400, false},
	"fcmge.4s": {three, 0x6e20e400, false}, "fcmge.2d": {three, 0x6e60e400, false},
	"fcmgt.4s": {three, 0x6ea0e400, false}, "fcmgt.2d": {three, 0x6ee0e400, false},
	"frsqrts.4s": {three, 0x4ea0fc00, false},
	"add.4s":     {three, 0x4ea08400, false}, "sub.4s": {three, 0x6ea08400, false},
	"and.16b": {three, 0x4e201c00, false}, "bic.16b": {three, 0x4e601c00, false}, "orr.16b": {three, 0x4ea01c00, false},
	"bsl.16b": {three, 0x6e601c00, true}, "bit.16b": {three, 0x6ea01c00, true}, "bif.16b": {three, 0x6ee01c00, true},
	"zip1.4s": {three, 0x4e803800, false}, "zip1.2d": {three, 0x4ec03800, false},
	"zip2.4s": {three, 0x4e807800, false}, "zip2.2d": {three, 0x4ec07800, false},
	"umaxp.4s": {three, 0x6ea0a400, false},
	"fabs.4s":  {two, 0x4ea0f800, false}, "fabs.2d": {two, 0x4ee0f800, false},
	"fneg.4s": {two, 0x6ea0f800, false}, "fneg.2d": {two, 0x6ee0f800, false},
	"fsqrt.4s": {two, 0x6ea1f800, false}, "fsqrt.2d": {two, 0x6ee1f800, false},
	"frintn.4s": {two, 0x4e218800, false}, "fcvtns.4s": {two, 0x4e21a800, false},
	"scvtf.4s": {two, 0x4e21d800, false}, "frsqrte.4s": {two, 0x6ea1d800, false},
	"mov.16b": {two, 0x4ea01c00, false},
	"fmla.s":  {element, 0x4f801000, true}, "fmla.d": {element, 0x4fc01000, true},
	"fmls.s": {element, 0x4f805000, true}, "fmls.d": {element, 0x4fc05000, true},
	"fmul.s": {element, 0x4f809000, false}, "fmul.d": {element, 0x4fc09000, false},
	"dup.s": {copyOf, 0x4e040400, false}, "dup.d": {copyOf, 0x4e080400, false},
	"shl.4s": {shift, 0x4f205400, false}, "sshr.4s": {shift, 0x4f000400, false},
	"movi.4s": {zero, 0x4f000400, false},
	"fadd":    {scalars, 0x1e202800, false},
	"fmov":    {toX, 0x9e660000, false},
	"ldr.q":   {load, 0x3dc00000, false}, "str.q": {load, 0x3d800000, false},
	"ldr.s": {load, 0xbd400000, false}, "str.s": {load, 0xbd000000, false},
	"ldr.q.x": {loadAt, 0x3ce06800, false}, "str.q.x": {loadAt, 0x3ca06800, false},
	"ldr.s.x": {loadAt, 0xbc606800, false}, "ldr.s.x4": {loadScaled, 0xbc607800, false},
	"ldp.q": {pairs, 0xad400000, false}, "stp.q": {pairs, 0xad000000, false},
	"ld1r.4s": {repeated, 0x4d40c800, false}, "ld1r.2d": {repeated, 0x4d40cc00, false},
	"prfm": {prefetch, 0xf9800000, false},
}

// bytesOf is the number of bytes of a register's part.
var bytesOf = map[string]int{"q": 16, "d": 8, "s": 4}

// encode returns the bits of an instruction and its text in disassemblers. registers are in the order of the text.
func encode(name string, registers []int, i int) (uint32, string, error) {
	e, ok := encodings[name]
	if !ok {
		return 0, "", fmt.Errorf("unknown instruction %q", name)
	}
	op, lanes, _ := strings.Cut(name, ".")
	r := func(n int) uint32 { return uint32(registers[n]) }
	v := func(n int) string { return fmt.Sprintf("v%d.%s", registers[n], lanes) }
	switch e.form {
	case three:
		if op == "orr" && r(1) == r(2) {
			return encode("mov.16b", registers[:2], 0)
		}
		return e.bits | r(2)<<16 | r(1)<<5 | r(0), fmt.Sprintf("%s %s, %s, %s", op, v(0), v(1), v(2)), nil
	case two:
		bits := e.bits | r(1)<<5 | r(0)
		if op == "mov" { // mov is the or of a register and itself
			bits |= r(1) << 16
		}
		return bits, fmt.Sprintf("%s %s, %s", op, v(0), v(1)), nil
	case element:
		bits, all := e.bits|uint32(i>>1)<<11|uint32(i&1)<<21, "4s"
		if lanes == "d" {
			bits, all = e.bits|uint32(i)<<11, "2d"
		}
		return bits | r(2)<<16 | r(1)<<5 | r(0), fmt.Sprintf("%s v%d.%s, v%d.%s, v%d.%s[%d]", op, r(0), all, r(1), all, r(2), lanes, i), nil
	case copyOf:
		at, all := uint32(i)<<19, "4s"
		if lanes == "d" {
			at, all = uint32(i)<<20, "2d"
		}
		return e.bits | at | r(1)<<5 | r(0), fmt.Sprintf("%s v%d.%s, v%d.%s[%d]", op, r(0), all, r(1), lanes, i), nil
	case shift:
		n := uint32(i)
		if op == "sshr" {
			n = 64 - n
		}
		return e.bits + n<<16 | r(1)<<5 | r(0), fmt.Sprintf("%s %s, %s, #%d", op, v(0), v(1), i), nil
	case zero:
		return e.bits | r(0), fmt.Sprintf("%s %s, #0x0", op, v(0)), nil
	case scalars:
		return e.bits | r(2)<<16 | r(1)<<5 | r(0), fmt.Sprintf("%s s%d, s%d, s%d", op, r(0), r(1), r(2)), nil
	case toX:
		return e.bits | r(1)<<5 | r(0), fmt.Sprintf("%s x%d, d%d", op, r(0), r(1)), nil
	}
	return e.memory(op, lanes, registers, i)
}

// memory encodes an instruction that reads or writes memory. The last registers form the address.
func (e encoding) memory(op, lanes string, registers []int, i int) (uint32, string, error) {
	r := func(n int) uint32 { return uint32(registers[n]) }
	size, _, _ := strings.Cut(lanes, ".")
	address := func(n int) string {
		if i == 0 {
			return fmt.Sprintf("[x%d]", r(n))
		}
		return fmt.Sprintf("[x%d, #%d]", r(n), i)
	}
	bytes := bytesOf[size]
	switch e.form {
	case load:
		if i%bytes != 0 || i < 0 || i/bytes >= 1<<12 {
			return 0, "", fmt.Errorf("%s: offset %d", op, i)
		}
		return e.bits | uint32(i/bytes)<<10 | r(1)<<5 | r(0), fmt.Sprintf("%s %s%d, %s", op, size, r(0), address(1)), nil
	case loadAt:
		return e.bits | r(2)<<16 | r(1)<<5 | r(0), fmt.Sprintf("%s %s%d, [x%d, x%d]", op, size, r(0), r(1), r(2)), nil
	case loadScaled:
		return e.bits | r(2)<<16 | r(1)<<5 | r(0), fmt.Sprintf("%s %s%d, [x%d, x%d, lsl #2]", op, size, r(0), r(1), r(2)), nil
	case pairs:
		if !isPairOffset(i) {
			return 0, "", fmt.Errorf("%s: offset %d", op, i)
		}
		return e.bits | uint32(i/16)&0x7f<<15 | r(1)<<10 | r(2)<<5 | r(0), fmt.Sprintf("%s q%d, q%d, %s", op, r(0), r(1), address(2)), nil
	case repeated:
		return e.bits | r(1)<<5 | r(0), fmt.Sprintf("%s {v%d.%s}, [x%d]", op, r(0), lanes, r(1)), nil
	case prefetch:
		return e.bits | uint32(i/8)<<10 | r(0)<<5, fmt.Sprintf("%s pldl1keep, %s", op, address(0)), nil
	}
	return 0, "", fmt.Errorf("%s: no form", op)
}

// isPairOffset reports whether an offset fits loads and stores of two registers.
func isPairOffset(i int) bool { return i%16 == 0 && i >= -1024 && i < 1024 }

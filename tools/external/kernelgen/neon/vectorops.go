package neon

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lanewise maps the instructions that compute lane by lane to their names in encodings. Operands are in Go's order, the
// reverse of the manual's order.
var lanewise = map[string]string{
	"VADDPS": "fadd.4s", "VADDPD": "fadd.2d", "VSUBPS": "fsub.4s", "VSUBPD": "fsub.2d", "VMULPD": "fmul.2d",
	"VDIVPS": "fdiv.4s", "VDIVPD": "fdiv.2d", "VPADDD": "add.4s", "VPSUBD": "sub.4s", "VORPS": "orr.16b",
	"VUNPCKLPS": "zip1.4s", "VUNPCKHPS": "zip2.4s", "VADDSS": "fadd",
}

// unary maps the instructions with one operand.
var unary = map[string]string{
	"VSQRTPS": "fsqrt.4s", "VSQRTPD": "fsqrt.2d", "VROUNDPS": "frintn.4s", "VCVTPS2DQ": "fcvtns.4s", "VCVTDQ2PS": "scvtf.4s",
}

// instruction translates one instruction.
func (t *translator) instruction() error {
	op, operands := t.n.Opcode, t.n.Operands
	last := len(operands) - 1
	if op == "VMULPS" {
		return t.multiply(t.read(operands[1]), t.read(operands[0]))
	}
	if name, ok := lanewise[op]; ok {
		return t.binary(name, t.read(operands[1]), t.read(operands[0]))
	}
	if name, ok := unary[op]; ok {
		x := t.read(operands[last-1])
		to := t.write()
		t.halves(to, func(h int) { t.Do(name, to.half[h], t.register(x, h)) })
		return nil
	}
	switch op {
	case "VMOVUPS", "VMOVUPD", "VMOVAPS", "VMOVAPD", "VMOVSS", "MOVSS":
		return t.moveVector(operands[0], operands[1])
	case "VXORPS":
		if !isZero(t.n) {
			return fmt.Errorf("not a zero")
		}
		t.set(t.write(), value{constant: true})
	case "VBROADCASTSS", "VBROADCASTSD", "VMOVDDUP":
		return t.broadcast(operands[0])
	case "VMAXPS", "VMINPS", "VMAXPD", "VMINPD":
		t.extreme(strings.ToLower(op[1:4]), lanes(op), t.read(operands[1]), t.read(operands[0]))
	case "VCMPPS", "VCMPPD":
		return t.compare(operands[0].Asm(), lanes(op), t.read(operands[2]), t.read(operands[1]))
	case "VBLENDVPS":
		t.blend(t.read(operands[0]), t.read(operands[1]), t.read(operands[2]))
	case "VANDPS":
		t.and(t.read(operands[1]), t.read(operands[0]))
	case "VPSLLD", "VPSRAD":
		name, to, x := map[string]string{"VPSLLD": "shl.4s", "VPSRAD": "sshr.4s"}[op], t.write(), t.read(operands[1])
		t.halves(to, func(h int) { t.DoAt(name, number(operands[0]), to.half[h], t.register(x, h)) })
	case "VRSQRTPS":
		t.inverseRoot(t.read(operands[0]))
	case "VSHUFPS":
		name := map[int]string{0x44: "zip1.2d", 0xee: "zip2.2d"}[number(operands[0])]
		return t.binary(name, t.read(operands[2]), t.read(operands[1]))
	case "VPERM2F128":
		a, b, to, h := t.read(operands[2]), t.read(operands[1]), t.write(), number(operands[0])&1
		t.Do("mov.16b", to.half[0], a.half[h])
		t.Do("mov.16b", to.half[1], b.half[h])
	case "VEXTRACTF128":
		t.Do("mov.16b", t.write().half[0], t.read(operands[1]).half[1])
	case "VMOVHLPS":
		t.DoAt("dup.d", 1, t.write().half[0], t.read(operands[0]).half[0])
	case "VMOVSHDUP":
		t.DoAt("dup.s", 1, t.write().half[0], t.read(operands[0]).half[0])
	case "VMOVMSKPD":
		t.anyLane(t.read(operands[0]))
	case "VZEROUPPER":
	default:
		if strings.HasPrefix(op, "VFM") || strings.HasPrefix(op, "VFNM") {
			return t.multiplyAdd(op, operands)
		}
		return t.integer(op, operands)
	}
	return nil
}

func lanes(op string) string {
	if strings.HasSuffix(op, "PD") {
		return ".2d"
	}
	return ".4s"
}

// binary computes a op b.
func (t *translator) binary(name string, a, b value) error {
	if name == "" {
		return fmt.Errorf("unknown selection")
	}
	to := t.write()
	t.halves(to, func(h int) {
		x, y := t.register(a, h), t.register(b, h)
		t.Do(name, to.half[h], x, y)
	})
	return nil
}

// set copies a value.
func (t *translator) set(to, x value) {
	if to.constant {
		return // every read knows the constant
	}
	t.halves(to, func(h int) {
		if x.constant {
			t.SetConstant(to.half[h], x.bits)
		} else {
			t.Do("mov.16b", to.half[h], x.half[h])
		}
	})
}

func (t *translator) moveVector(from, to operand.Op) error {
	if m, ok := to.(operand.Mem); ok {
		t.store(t.read(from), m)
		return nil
	}
	if m, ok := isParameter(from); ok {
		t.Do("mov.16b", t.write().half[0], t.Parameter(m.Symbol.Name, m.Disp, true))
		return nil
	}
	if m, ok := from.(operand.Mem); ok {
		if bits, ok := constantBits(m); ok {
			t.set(t.write(), value{constant: true, bits: bits})
			return nil
		}
		t.load(t.write(), m)
		return nil
	}
	t.set(t.write(), t.read(from))
	return nil
}

// broadcast copies a number to all lanes.
func (t *translator) broadcast(from operand.Op) error {
	to := t.write()
	if !to.single() {
		return fmt.Errorf("a broadcast with two halves")
	}
	name := map[string]string{"VBROADCASTSS": "4s", "VBROADCASTSD": "2d", "VMOVDDUP": "2d"}[t.n.Opcode]
	if m, ok := isParameter(from); ok {
		t.Do("mov.16b", to.half[0], t.Broadcast(m.Symbol.Name, m.Disp))
		return nil
	}
	if m, ok := from.(operand.Mem); ok {
		if to.scalar {
			t.loadScalar(to.half[0], m)
			return nil
		}
		base, offset := t.address(m)
		if offset != 0 {
			base = t.offset(base, offset)
		}
		t.Do("ld1r."+name, to.half[0], base)
		return nil
	}
	t.Do("dup."+name[1:], to.half[0], t.read(from).half[0])
	return nil
}

// isFactor reports whether a web is a number in memory that instructions use only as a factor. A product can use one
// lane, and loading all lanes takes an arithmetic slot on many processors.
func isFactor(w *web) bool {
	if len(w.definitions) != 1 || w.definitions[0] == nil || w.definitions[0].Opcode != "VBROADCASTSS" {
		return false
	}
	if m, ok := w.definitions[0].Operands[0].(operand.Mem); !ok || m.Base == reg.FramePointer {
		return false
	}
	name := w.definitions[0].Operands[1].(reg.Register).ID()
	for _, n := range w.readers {
		factors := n.Operands[:2]
		if n.Opcode != "VMULPS" {
			if !strings.HasPrefix(n.Opcode, "VFM") && !strings.HasPrefix(n.Opcode, "VFNM") || !strings.HasSuffix(n.Opcode, "231PS") {
				return false
			}
			if last, ok := n.Operands[2].(reg.Register); ok && last.ID() == name {
				return false
			}
		}
		times := 0
		for _, f := range factors {
			if r, ok := f.(reg.Register); ok && r.ID() == name {
				times++
			}
		}
		if times != 1 {
			return false
		}
	}
	return true
}

// multiply computes a b.
func (t *translator) multiply(a, b value) error {
	if a.scalar {
		a, b = b, a
	}
	if a.scalar {
		return errOneLane
	}
	to := t.write()
	t.halves(to, func(h int) {
		x, y := t.register(a, h), t.register(b, h)
		if b.scalar {
			t.Do("fmul.s", to.half[h], x, y)
		} else {
			t.Do("fmul.4s", to.half[h], x, y)
		}
	})
	return nil
}

var errOneLane = errors.New("both factors are in one lane")

// extreme computes the larger or smaller of a and b like AVX: b if either is NaN. A constant or a value with equal
// lanes is never NaN. If the other value is NaN, fmax returns NaN and fmaxnm the number.
func (t *translator) extreme(op, lanes string, a, b value) {
	to := t.write()
	t.halves(to, func(h int) {
		x, y := t.register(a, h), t.register(b, h)
		switch {
		case a.constant || a.uniform:
			t.Do("f"+op+lanes, to.half[h], x, y)
		case b.constant || b.uniform:
			t.Do("f"+op+"nm"+lanes, to.half[h], x, y)
		default:
			mask := t.V()
			if op == "max" {
				t.Do("fcmgt"+lanes, mask, x, y)
			} else {
				t.Do("fcmgt"+lanes, mask, y, x)
			}
			t.Do("bsl.16b", mask, x, y)
			t.Do("mov.16b", to.half[h], mask)
		}
	})
}

// compare sets a mask. Predicates are as in VCMPPS.
func (t *translator) compare(predicate, lanes string, a, b value) error {
	to := t.write()
	var err error
	t.halves(to, func(h int) {
		x, y := t.register(a, h), t.register(b, h)
		switch predicate {
		case "$0x00": // a = b
			t.Do("fcmeq"+lanes, to.half[h], x, y)
		case "$0x11": // a < b
			t.Do("fcmgt"+lanes, to.half[h], y, x)
		case "$0x1e": // a > b
			t.Do("fcmgt"+lanes, to.half[h], x, y)
		case "$0x06": // not a <= b
			t.Do("fcmge"+lanes, to.half[h], y, x)
		case "$0x15": // not a < b
			t.Do("fcmgt"+lanes, to.half[h], y, x)
		default:
			err = fmt.Errorf("unknown predicate %s", predicate)
		}
	})
	if isInverted(t.n) && !to.inverted {
		err = fmt.Errorf("an inverted mask that is written twice")
	}
	return err
}

// blend selects yes where the mask is set, and no elsewhere.
func (t *translator) blend(mask, yes, no value) {
	if mask.inverted {
		yes, no = no, yes
	}
	to := t.write()
	t.halves(to, func(h int) {
		r := t.V()
		t.Do("mov.16b", r, mask.half[h])
		t.Do("bsl.16b", r, t.register(yes, h), t.register(no, h))
		t.Do("mov.16b", to.half[h], r)
	})
}

func (t *translator) and(a, b value) {
	to := t.write()
	if b.constant && b.bits == 0x7fffffff {
		t.halves(to, func(h int) { t.Do("fabs.4s", to.half[h], a.half[h]) })
		return
	}
	name := "and.16b"
	if b.inverted {
		a, b = b, a
	}
	if a.inverted {
		a, b, name = b, a, "bic.16b"
	}
	t.halves(to, func(h int) {
		x, y := t.register(a, h), t.register(b, h)
		t.Do(name, to.half[h], x, y)
	})
}

// multiplyAdd computes ±(x y) ± z. The digits in an instruction's name give the order of operands, 1 being the last.
func (t *translator) multiplyAdd(op string, operands []operand.Op) error {
	at := func(digit byte) value { return t.read(operands[3-(digit-'0')]) }
	digits := strings.TrimLeft(op, "VFNMADSUB")
	x, y, z, to := at(digits[0]), at(digits[1]), at(digits[2]), t.write()
	name := "fmla" + lanes(op)
	if strings.HasPrefix(op, "VFNM") {
		name = "fmls" + lanes(op)
	}
	subtract := strings.Contains(op, "MSUB")
	if x.scalar {
		x, y = y, x
	}
	if x.scalar {
		return errOneLane
	}
	if y.scalar {
		name = name[:4] + ".s"
	}
	t.halves(to, func(h int) {
		a, b, r := t.register(x, h), t.register(y, h), t.V()
		switch {
		case z.constant && subtract:
			t.SetConstant(r, z.bits^1<<31)
		case z.constant:
			t.SetConstant(r, z.bits)
		case subtract:
			t.Do("fneg"+lanes(op), r, z.half[h])
		default:
			t.Do("mov.16b", r, z.half[h])
		}
		t.Do(name, r, a, b)
		t.Do("mov.16b", to.half[h], r)
	})
	return nil
}

// inverseRoot computes 16 bits, from an 8-bit estimate and one Newton step. AVX has 12 bits.
func (t *translator) inverseRoot(x value) {
	to := t.write()
	t.halves(to, func(h int) {
		estimate, product, step := t.V(), t.V(), t.V()
		t.Do("frsqrte.4s", estimate, t.register(x, h))
		t.Do("fmul.4s", product, t.register(x, h), estimate)
		t.Do("frsqrts.4s", step, product, estimate)
		t.Do("fmul.4s", to.half[h], estimate, step)
	})
}

// anyLane sets a general register to a nonzero number if any bit of a mask is set.
func (t *translator) anyLane(mask value) {
	all := mask.half[0]
	if !mask.single() {
		all = t.V()
		t.Do("orr.16b", all, mask.half[0], mask.half[1])
	}
	r := t.V()
	t.Do("umaxp.4s", r, all, all)
	t.Do("fmov", t.gpWritten(t.n.Operands[1]), r)
}

package neon

import (
	"fmt"
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
)

// key identifies the address of an operand by its registers.
type key struct {
	base, index Reg
	scale       uint8
}

// address returns a register and an offset for an operand. It reuses the sum of base and index until the next label.
func (t *translator) address(m operand.Mem) (Reg, int) {
	base := t.gp(m.Base)
	if m.Index == nil {
		return base, m.Disp
	}
	index := t.gp(m.Index)
	k := key{base, index, m.Scale}
	if r, ok := t.sums[k]; ok {
		return r, m.Disp
	}
	r := t.X()
	text := "ADD %s, %s, %s"
	if m.Scale > 1 {
		text = fmt.Sprintf("ADD %%s<<%d, %%s, %%s", bits.TrailingZeros8(m.Scale))
	}
	t.Go(1, text, index, base, r)
	t.sums[k] = r
	return r, m.Disp
}

// offset returns a new register with the value of base plus n.
func (t *translator) offset(base Reg, n int) Reg {
	r := t.X()
	t.Go(1, fmt.Sprintf("ADD $%d, %%s, %%s", n), base, r)
	return r
}

// changed invalidates the addresses that contain a register.
func (t *translator) changed(r Reg) {
	for k, sum := range t.sums {
		if k.base == r || k.index == r || sum == r {
			delete(t.sums, k)
		}
	}
	for v, u := range t.copies {
		if v == r || u == r {
			delete(t.copies, v)
		}
	}
}

// load sets a value from memory.
func (t *translator) load(v value, m operand.Mem) { t.transfer("ld", v, m) }

// store stores a value.
func (t *translator) store(v value, m operand.Mem) {
	if v.constant {
		r := t.register(v, 0)
		v = value{half: [2]Reg{r, r}}
	}
	t.transfer("st", v, m)
}

func (t *translator) transfer(op string, v value, m operand.Mem) {
	part := "r.q"
	if t.n.Opcode == "VMOVSS" || t.n.Opcode == "VADDSS" {
		part = "r.s"
	}
	base, offset := t.address(m)
	width := bytesOf[part[2:]]
	if offset%width != 0 || offset < 0 || offset >= width<<12 {
		base, offset = t.offset(base, offset), 0
	}
	switch {
	case t.width() < 32: // one half
		t.DoAt(op+part, offset, v.half[0], base)
	case isPairOffset(offset) && (op == "st" || !v.single()):
		t.DoAt(op+"p.q", offset, v.half[0], v.half[1], base)
	default:
		t.DoAt(op+part, offset, v.half[0], base)
		t.DoAt(op+part, offset+16, v.half[1], base)
	}
}

// loadScalar sets lane 0 of a register to a number in memory.
func (t *translator) loadScalar(r Reg, m operand.Mem) {
	if m.Index != nil && m.Disp == 0 && (m.Scale == 1 || m.Scale == 4) {
		name := map[uint8]string{1: "ldr.s.x", 4: "ldr.s.x4"}[m.Scale]
		t.Do(name, r, t.gp(m.Base), t.gp(m.Index))
		return
	}
	base, offset := t.address(m)
	if offset%4 != 0 || offset < 0 || offset >= 4<<12 {
		base, offset = t.offset(base, offset), 0
	}
	t.DoAt("ldr.s", offset, r, base)
}

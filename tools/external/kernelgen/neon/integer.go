package neon

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// conditions maps jumps to their conditions in Go's assembler for arm64.
var conditions = map[string]string{"JMP": "", "JE": "EQ", "JZ": "EQ", "JEQ": "EQ", "JNZ": "NE", "JNE": "NE", "JL": "LT", "JLT": "LT", "JG": "GT", "JGT": "GT", "JGE": "GE", "JLE": "LE"}

// integer translates an instruction on general registers.
func (t *translator) integer(op string, operands []operand.Op) error {
	if condition, ok := conditions[op]; ok {
		t.Jump(condition, string(operands[0].(operand.LabelRef)))
		return nil
	}
	switch op {
	case "MOVQ":
		if m, ok := operands[1].(operand.Mem); ok && m.Base != reg.FramePointer {
			return fmt.Errorf("a general register is stored")
		}
		if m, ok := operands[0].(operand.Mem); ok && m.Base != reg.FramePointer {
			return fmt.Errorf("a general register is loaded")
		}
		t.assign("MOVD %s, %s", t.gpWritten(operands[1]), t.gp(operands[0]))
	case "MOVLQSX":
		base, offset := t.address(operands[0].(operand.Mem))
		t.assign(fmt.Sprintf("MOVW %d(%%s), %%s", offset), t.gpWritten(operands[1]), base)
	case "XORQ":
		if operands[0] != operands[1] {
			return fmt.Errorf("not a zero")
		}
		t.assign("MOVD $0, %s", t.gpWritten(operands[1]))
	case "ADDQ", "SUBQ":
		t.arithmetic(map[string]string{"ADDQ": "ADD", "SUBQ": "SUBS"}[op], operands[0], operands[1])
	case "INCQ":
		t.arithmetic("ADD", operand.Imm(1), operands[0])
	case "DECQ":
		t.arithmetic("SUBS", operand.Imm(1), operands[0])
	case "SHLQ":
		t.assign(fmt.Sprintf("LSL $%d, %%s, %%s", number(operands[0])), t.gpWritten(operands[1]), t.gp(operands[1]))
	case "IMULQ":
		t.assign("MUL %s, %s, %s", t.gpWritten(operands[1]), t.gp(operands[0]), t.gp(operands[1]))
	case "LEAQ":
		to := t.gpWritten(operands[1])
		base, offset := t.address(operands[0].(operand.Mem))
		if offset != 0 {
			t.assign(fmt.Sprintf("ADD $%d, %%s, %%s", offset), to, base)
		} else {
			t.assign("MOVD %s, %s", to, base)
		}
	case "CMPQ":
		if c, ok := operands[1].(operand.Constant); ok {
			t.Go(0, fmt.Sprintf("CMP $%d, %%s", number(c)), t.gp(operands[0]))
		} else {
			t.Go(0, "CMP %s, %s", t.gp(operands[1]), t.gp(operands[0]))
		}
	case "TESTL", "TESTQ":
		if operands[0] != operands[1] {
			return fmt.Errorf("a test of bits")
		}
		t.Go(0, "CMP $0, %s", t.gp(operands[0]))
	case "RET":
		t.Return()
	default:
		return fmt.Errorf("unknown instruction")
	}
	return nil
}

// number returns the value of a constant operand.
func number(o operand.Op) int {
	n, err := strconv.ParseInt(strings.TrimPrefix(o.Asm(), "$"), 0, 64)
	if err != nil {
		panic("neon: not a number: " + o.Asm())
	}
	return int(n)
}

func (t *translator) arithmetic(op string, a, to operand.Op) {
	if c, ok := a.(operand.Constant); ok {
		t.assign(fmt.Sprintf("%s $%d, %%s, %%s", op, number(c)), t.gpWritten(to), t.gp(to))
		return
	}
	x, y := t.gp(a), t.gp(to)
	t.assign(op+" %s, %s, %s", t.gpWritten(to), x, y)
}

// assign writes a general register and invalidates the facts that depended on it.
func (t *translator) assign(text string, to Reg, from ...Reg) {
	t.Go(1, text, append(from, to)...)
	t.changed(to)
	if text == "MOVD %s, %s" && from[0] != to {
		t.copies[to] = from[0]
	}
}

// gp returns the register of a general operand or of a parameter. For a copy, it returns the copied register.
func (t *translator) gp(o operand.Op) Reg {
	r := t.generalOf(o, false)
	if from, ok := t.copies[r]; ok {
		return from
	}
	return r
}

// gpWritten returns the register that the instruction writes.
func (t *translator) gpWritten(o operand.Op) Reg { return t.generalOf(o, true) }

func (t *translator) generalOf(o operand.Op, written bool) Reg {
	m, isMemory := isParameter(o)
	var w *web
	if isMemory {
		w = t.webs[place{t.n, parameter(m.Disp), written}]
	} else {
		w = t.webs[place{t.n, o.(reg.Register).ID(), written}]
	}
	if r, ok := t.general[w]; ok {
		return r
	}
	var r Reg
	if isMemory {
		for _, d := range w.definitions {
			if d == nil { // the web begins with the parameter's value
				r = t.Parameter(m.Symbol.Name, m.Disp, false)
			}
		}
	}
	if r == 0 {
		r = t.X()
	}
	t.general[w] = r
	return r
}

package neon

import (
	"bytes"
	"fmt"
	"strings"
)

// File is a file of functions for arm64.
type File struct {
	functions []*Function
	text      bytes.Buffer
}

// Add allocates the registers of a function and writes the function.
func (t *File) Add(f *Function) error {
	chosen, err := f.allocate()
	if err != nil {
		return err
	}
	t.functions = append(t.functions, f)
	fmt.Fprintf(&t.text, "\n// func %s%s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", f.Name, strings.TrimPrefix(f.Signature, "func"), f.Name, f.Arguments)
	for _, n := range f.code {
		line, err := n.print(chosen)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		t.text.WriteString(line)
	}
	return nil
}

// print formats the line of an instruction.
func (n instruction) print(chosen []int) (string, error) {
	if n.label != "" {
		return "\n" + n.label + ":\n", nil
	}
	if n.name == "" {
		names := make([]any, len(n.registers))
		for i, r := range n.registers {
			names[i] = fmt.Sprintf("R%d", chosen[r])
			if strings.HasPrefix(n.text, "FMOVS ") {
				names[i] = fmt.Sprintf("F%d", chosen[r])
			}
		}
		return "\t" + fmt.Sprintf(n.text, names...) + "\n", nil
	}
	registers := make([]int, len(n.registers))
	for i, r := range n.registers {
		registers[i] = chosen[r]
	}
	bits, text, err := encode(n.name, registers, n.i)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("\tWORD $0x%08x // %s\n", bits, text), nil
}

// Assembly returns the file for Go's assembler.
func (t *File) Assembly(header string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n//go:build arm64\n\n#include \"textflag.h\"\n", header)
	b.Write(t.text.Bytes())
	b.WriteString("\n")
	for i, x := range poolBits {
		for j := range 2 {
			fmt.Fprintf(&b, "DATA %s<>+%d(SB)/8, $0x%08x%08x\n", poolName, 16*i+8*j, x, x)
		}
	}
	fmt.Fprintf(&b, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", poolName, 16*len(poolBits))
	return b.Bytes()
}

// Stubs returns the declarations of the functions in Go.
func (t *File) Stubs(header string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n//go:build arm64\n\npackage simd\n", header)
	for _, f := range t.functions {
		fmt.Fprintf(&b, "\n// %s\n//\n//go:noescape\nfunc %s%s\n", f.Doc, f.Name, strings.TrimPrefix(f.Signature, "func"))
	}
	return b.Bytes()
}

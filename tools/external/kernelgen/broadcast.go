package main

import (
	"os"
	"regexp"
	"strings"
)

// instruction splits a line of assembly into opcode and operands.
var instruction = regexp.MustCompile(`^\t([A-Z][A-Z0-9.]*) +(.*)$`)

// broadcast rewrites a generated file so that instructions read constants as 4 bytes and broadcast them. Go aligns data
// to at most 32 bytes. Some linkers place constants at odd multiples of 32, where blocks of 64 bytes cross cache lines.
// In that case exp took 1.6 times as long.
func broadcast(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		m := instruction.FindStringSubmatch(line)
		if m == nil || !strings.Contains(m[2], "c"+suffix) || !strings.Contains(m[2], "Z") {
			continue
		}
		opcode, mask, _ := strings.Cut(m[1], ".")
		if mask != "" {
			mask = "." + mask
		}
		if opcode == "VMOVUPS" {
			opcode = "VBROADCASTSS"
		} else {
			opcode += ".BCST"
		}
		lines[i] = "\t" + opcode + mask + " " + m[2]
	}
	align(lines)
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644)
}

// align aligns the operands of adjacent instructions.
func align(lines []string) {
	for from := 0; from < len(lines); from++ {
		width, to := 0, from
		for ; to < len(lines); to++ {
			m := instruction.FindStringSubmatch(lines[to])
			if m == nil {
				break
			}
			width = max(width, len(m[1]))
		}
		for i := from; i < to; i++ {
			m := instruction.FindStringSubmatch(lines[i])
			lines[i] = "\t" + m[1] + strings.Repeat(" ", width-len(m[1])+1) + m[2]
		}
		from = to
	}
}

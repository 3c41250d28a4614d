package neon

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// disassemble returns objdump's output for words. Without an objdump for arm64, it skips the test.
func disassemble(t *testing.T, words []uint32) []string {
	t.Helper()
	program, err := exec.LookPath("aarch64-linux-gnu-objdump")
	if err != nil {
		t.Skip("no aarch64-linux-gnu-objdump (Debian's binutils-aarch64-linux-gnu): the encodings are not checked")
	}
	file := filepath.Join(t.TempDir(), "words")
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, words); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "-D", "-z", "-b", "binary", "-m", "aarch64", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range regexp.MustCompile(`(?m)^ *[0-9a-f]+:\t[0-9a-f]{8} \t(.*)$`).FindAllStringSubmatch(string(out), -1) {
		text, _, _ := strings.Cut(m[1], " //") // objdump's own comments
		lines = append(lines, strings.Join(strings.Fields(text), " "))
	}
	if len(lines) != len(words) {
		t.Fatalf("%d instructions of %d words", len(lines), len(words))
	}
	return lines
}

func compare(t *testing.T, words []uint32, want []string) {
	t.Helper()
	for i, got := range disassemble(t, words) {
		if got != want[i] {
			t.Errorf("0x%08x is %q, the comment says %q", words[i], got, want[i])
		}
	}
}

// TestEncodings encodes every instruction with many registers and numbers.
func TestEncodings(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var words []uint32
	var want []string
	for _, name := range slices.Sorted(maps.Keys(encodings)) {
		_, lanes, _ := strings.Cut(name, ".")
		for range 50 {
			var registers []int
			for range 3 {
				registers = append(registers, random.IntN(31)) // 31 is the stack pointer in addresses
			}
			i := 0
			switch encodings[name].form {
			case element, copyOf:
				i = random.IntN(16 / bytesOf[lanes])
			case shift:
				i = 1 + random.IntN(31)
			case load:
				i = bytesOf[lanes] * random.IntN(1<<12)
			case pairs:
				i = 16 * (random.IntN(128) - 64)
				registers[1] = registers[0] ^ 1 // two loads to the same register are undefined
			case prefetch:
				i = 8 * random.IntN(1<<12)
			}
			bits, text, err := encode(name, registers, i)
			if err != nil {
				t.Fatal(err)
			}
			words, want = append(words, bits), append(want, text)
		}
	}
	compare(t, words, want)
}

func TestOffsets(t *testing.T) {
	for _, x := range []struct {
		name string
		i    int
	}{{"ldr.q", 8}, {"ldr.q", -16}, {"ldr.q", 1 << 16}, {"ldp.q", 1024}, {"stp.q", -1040}, {"stp.q", 8}, {"str.s", 2}} {
		if _, text, err := encode(x.name, []int{0, 1, 2}, x.i); err == nil {
			t.Errorf("%s with offset %d is %q, want an error", x.name, x.i, text)
		}
	}
	if _, _, err := encode("fsin.4s", []int{0, 1, 2}, 0); err == nil {
		t.Error("an unknown instruction was encoded")
	}
}

// TestWords compares the words in the generated file with their comments.
func TestWords(t *testing.T) {
	text, err := os.ReadFile("../../../../internal/kernel/simd/neon_arm64.s")
	if err != nil {
		t.Fatal(err)
	}
	var words []uint32
	var want []string
	for _, line := range strings.Split(string(text), "\n") {
		rest, ok := strings.CutPrefix(line, "\tWORD ")
		if !ok {
			continue
		}
		number, comment, _ := strings.Cut(rest, " // ")
		bits, err := strconv.ParseUint(strings.TrimPrefix(number, "$"), 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		words, want = append(words, uint32(bits)), append(want, comment)
	}
	if len(words) == 0 {
		t.Fatal("no words")
	}
	compare(t, words, want)
}

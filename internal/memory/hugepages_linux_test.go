package memory

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestMapping(t *testing.T) {
	const maps = `400000-500000 r-xp 00000000 fe:00 12 /bin/program
500000-600000 rw-p 00100000 fe:00 12 /bin/program
700000-800000 ---p 00000000 00:00 0
800000-a00000 rw-p 00000000 00:00 0
a00000-c00000 rw-p 00000000 00:00 0
d00000-e00000 rw-p 00000000 00:00 0 [stack]
`
	for _, c := range []struct{ address, from, to uintptr }{{0x500000, 0x500000, 0x600000}, {0x900000, 0x800000, 0xc00000},
		{0xbfffff, 0x800000, 0xc00000},
		{0xd00008, 0xd00000, 0xe00000}, {0x450000, 0, 0}, {0x750000, 0, 0}, {0xc00000, 0, 0}, {0xe00000, 0, 0}} {
		if from, to := mapping(maps, c.address); from != c.from || to != c.to {
			t.Errorf("%x: %x-%x, want %x-%x", c.address, from, to, c.from, c.to)
		}
	}
	if from, to := mapping("nothing of the kind\n\n", 1); from != to {
		t.Errorf("%x-%x in a text without mappings", from, to)
	}
}

func TestUsedPages(t *testing.T) {
	const of = hugePage / smallPage
	resident := make([]byte, 7*of+3)
	for _, i := range []int{1, 2*of - 1, 3 * of, 6*of + 7, 7 * of} {
		resident[i] = 1
	}
	resident[5*of] = 2 // other bits are irrelevant
	if got, want := usedPages(resident), [][2]uintptr{{0, 2}, {3, 4}, {6, 7}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// hugePages returns the size of this process's huge pages in kilobytes.
func hugePages(t *testing.T) (n int) {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		t.Skip(err)
	}
	_, after, _ := strings.Cut(string(text), "AnonHugePages:")
	fmt.Sscan(after, &n)
	return n
}

// The advice does not change the content of memory. It moves memory to huge pages if Linux supports them.
func TestHugePages(t *testing.T) {
	x := make([]byte, worthHuge)
	const apart = 509 // eight bytes per page of 4 KB
	for i := 0; i < len(x); i += apart {
		x[i] = byte(i % 251)
	}
	before := hugePages(t)
	HugePages()
	for i := 0; i < len(x); i += apart {
		if x[i] != byte(i%251) {
			t.Fatalf("byte %d is %d, want %d", i, x[i], i%251)
		}
	}
	setting, _ := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if !bytes.Contains(setting, []byte("[madvise]")) {
		t.Skipf("huge pages: %s", bytes.TrimSpace(setting))
	}
	if hugePages(t) == before {
		t.Skip("Linux moved nothing: it has no huge page free, or is older than 6.1")
	}
}

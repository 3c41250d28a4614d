package memory

import (
	"bytes"
	"fmt"
	"os"
	"runtime/metrics"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	hugePage  = 2 << 20
	worthHuge = 64 << 20 // least bytes of objects: in a smaller heap the advice takes longer than it saves
)

// HugePages asks Linux to hold a large heap in pages of 2 MB, where its setting is madvise. Training reads all of its
// arrays at every step. With pages of 4 KB, processors spend up to a tenth of the step on finding the addresses of pages.
// The setting always needs no advice, and never forbids it. What Linux refuses stays as it is.
func HugePages() {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(heap); heap[0].Value.Uint64() < worthHuge {
		return
	}
	setting, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || !bytes.Contains(setting, []byte("[madvise]")) {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	object := make([]byte, 1<<17) // on the heap, because it is large
	from, to := mapping(string(maps), uintptr(unsafe.Pointer(&object[0])))
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_HUGEPAGE) // for pages to come
	for at := (from + hugePage - 1) &^ (hugePage - 1); at+hugePage <= to; at += hugePage {
		// For present pages, one at a time: Linux stops at the first that it cannot move.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, at, hugePage, unix.MADV_COLLAPSE)
	}
}

// mapping returns the addresses of the writable memory around an address, from a text like /proc/self/maps; equal ones
// if there is none. Neighbouring entries count as one: advice divides an entry.
func mapping(maps string, address uintptr) (from, to uintptr) {
	for line := range strings.Lines(maps) {
		var begin, end uintptr
		var permissions string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &begin, &end, &permissions); n < 3 || permissions != "rw-p" {
			continue
		}
		if begin != to {
			if from <= address && address < to {
				break
			}
			from = begin
		}
		to = end
	}
	if address < from || address >= to {
		return 0, 0
	}
	return from, to
}

package memory

import (
	"bytes"
	"fmt"
	"os"
	"runtime/metrics"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	smallPage = 4 << 10
	hugePage  = 2 << 20
	worthHuge = 64 << 20 // least bytes of objects: in a smaller heap the advice takes longer than it saves
)

// HugePages asks Linux to use huge pages of 2 MB for a large heap, if the system setting is madvise. Training reads all
// arrays in every step. With pages of 4 KB, address translation (TLB misses) takes up to a tenth of a step. With the
// setting always, no advice is necessary; with never, it has no effect. Errors of Linux are ignored.
func HugePages() {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(heap); heap[0].Value.Uint64() < worthHuge {
		return
	}
	if os.Getpagesize() != smallPage {
		return
	}
	setting, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || !bytes.Contains(setting, []byte("[madvise]")) {
		return
	}
	object := make([]byte, 1<<17) // large objects are on the heap
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	from, to := mapping(string(maps), uintptr(unsafe.Pointer(&object[0])))
	from = (from + hugePage - 1) &^ (hugePage - 1)
	if from >= to&^(hugePage-1) {
		return
	}
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_HUGEPAGE) // for future pages
	resident := make([]byte, (to-from)/smallPage)
	if _, _, failed := unix.Syscall(unix.SYS_MINCORE, from, to-from, uintptr(unsafe.Pointer(&resident[0]))); failed != 0 {
		return
	}
	for _, r := range usedPages(resident) { // for existing pages
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, from+r[0]*hugePage, (r[1]-r[0])*hugePage, unix.MADV_COLLAPSE)
	}
}

// usedPages returns ranges [first, last) of huge pages with resident small pages. Linux stops at an unused huge page,
// and every call waits for all processors.
func usedPages(resident []byte) (ranges [][2]uintptr) {
	const of = hugePage / smallPage
	for i := range len(resident) / of {
		at := uintptr(i)
		if !slices.ContainsFunc(resident[i*of:(i+1)*of], func(page byte) bool { return page&1 != 0 }) {
			continue
		}
		if n := len(ranges); n > 0 && ranges[n-1][1] == at {
			ranges[n-1][1]++
		} else {
			ranges = append(ranges, [2]uintptr{at, at + 1})
		}
	}
	return ranges
}

// mapping returns the address range of the writable memory around an address, given a text like /proc/self/maps, or an
// empty range if there is none. Adjacent entries count as one, because advice splits entries.
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

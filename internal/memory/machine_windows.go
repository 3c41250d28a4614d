package memory

import (
	"math"
	"unsafe"

	"golang.org/x/sys/windows"
)

var globalMemoryStatus = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// memoryStatus is MEMORYSTATUSEX of Windows.
type memoryStatus struct {
	length, load                       uint32
	total, available                   uint64 // of physical memory
	totalPageFile, availablePageFile   uint64
	totalAddresses, availableAddresses uint64
	availableExtended                  uint64
}

// machine returns the size of the physical memory.
func machine() float64 {
	var s memoryStatus
	s.length = uint32(unsafe.Sizeof(s))
	if globalMemoryStatus.Find() != nil {
		return math.Inf(1)
	}
	if ok, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return math.Inf(1)
	}
	return float64(s.total)
}

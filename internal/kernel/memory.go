package kernel

import (
	"math/bits"
	"sync"
)

// memories hold scratch memory of finished passes, by size class. Consecutive layers use the same memory, which is
// still in the caches.
var memories [4 * bits.UintSize]sync.Pool

// TakeMemory returns at least n elements with undefined content.
func TakeMemory(n int) *[]float32 {
	class, size := sizeClass(n)
	if m, ok := memories[class].Get().(*[]float32); ok {
		return m
	}
	m := make([]float32, size)
	return &m
}

// GiveMemory releases the elements of TakeMemory for reuse.
func GiveMemory(m *[]float32) {
	class, _ := sizeClass(len(*m))
	memories[class].Put(m)
}

// sizeClass returns the smallest size >= n that is 4, 5, 6 or 7 times a power of two, and the number of its class.
func sizeClass(n int) (class, size int) {
	power := max(0, bits.Len(uint(max(n, 1)-1))-3)
	times := (n + 1<<power - 1) >> power
	if times = max(times, 4); times == 8 {
		power, times = power+1, 4
	}
	return 4*power + times - 4, times << power
}

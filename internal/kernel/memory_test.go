package kernel

import "testing"

func TestSizeClass(t *testing.T) {
	last := -1
	for n := 0; n < 1<<16; n++ {
		class, size := sizeClass(n)
		again, same := sizeClass(size)
		if size < n || !(float64(size) <= 1.25*float64(n)+4) || again != class || same != size || class < last || class > last+1 {
			t.Fatalf("%d elements: class %d of %d after %d; its size is of class %d of %d", n, class, size, last, again, same)
		}
		last = class
	}
}

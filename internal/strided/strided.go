// Package strided copies blocks between arrays with different strides.
package strided

// Copy copies a box with count elements along each dimension. size is the size of an element in bytes. to and from are
// the strides in bytes.
func Copy(dst, src []byte, count, to, from []int, size int) {
	last := len(count) - 1
	for last >= 0 && to[last] == size && from[last] == size { // contiguous on both sides
		size *= count[last]
		last--
	}
	copyLines(dst, src, count[:last+1], to, from, size)
}

// copyLines copies a box whose innermost elements are not contiguous on both sides.
func copyLines(dst, src []byte, count, to, from []int, size int) {
	switch {
	case len(count) == 0:
		copy(dst[:size], src)
	case len(count) == 3 && size == 1:
		for a := range count[0] {
			copyPlanes(dst[a*to[0]:], src[a*from[0]:], count[1:], to[1:], from[1:])
		}
	case len(count) == 2 && size == 1:
		copyPlanes(dst, src, count, to, from)
	case len(count) == 1:
		for i := range count[0] {
			copy(dst[i*to[0]:i*to[0]+size], src[i*from[0]:])
		}
	default:
		for i := range count[0] {
			copyLines(dst[i*to[0]:], src[i*from[0]:], count[1:], to[1:], from[1:], size)
		}
	}
}

// copyPlanes copies lines of single bytes, such as one channel of an image tile.
func copyPlanes(dst, src []byte, count, to, from []int) {
	n, step, next := count[1], to[1], from[1]
	if n == 4 && step == 3 && next == 1 { // chunks of h5py for images of 64 x 64 x 3
		for y := range count[0] {
			line := (*[4]byte)(src[y*from[0]:])
			out := (*[10]byte)(dst[y*to[0]:])
			out[0], out[3], out[6], out[9] = line[0], line[1], line[2], line[3]
		}
		return
	}
	for y := range count[0] {
		line := src[y*from[0]:][:(n-1)*next+1]
		out := dst[y*to[0]:][:(n-1)*step+1]
		for at, x := 0, 0; x < len(line) && at < len(out); at, x = at+step, x+next {
			out[at] = line[x]
		}
	}
}

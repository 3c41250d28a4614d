package datasets

import "sync"

// reduce writes the image of a drawing with its upper left corner at a fine row and column. A pixel of the image sees
// eight fine pixels along each side, from two before its own four to two after them. Their weights are 1, 3, 5, 7, 7,
// 5, 3 and 1. Fine pixels outside the picture are left out.
func (d *drawing) reduce(row, column int, image []uint8) {
	const pad = 2
	clear(image)
	size, fine, side := d.size, spaceRatio*d.size, 2*d.radius
	first, last := reached(column, side, size)
	skip, width := max(-column, 0), min(side, fine-column)
	room := reductions.Get().(*[]uint8)
	defer reductions.Put(room)
	if most := (fine + 2*pad) * (size + 1); len(*room) < most {
		*room = make([]uint8, most)
	}
	line, narrow := (*room)[:fine+2*pad], (*room)[fine+2*pad:]
	clear(line)
	clear(narrow[:(fine+2*pad)*size])
	for r := max(row, 0); r < min(row+side, fine); r++ {
		copy(line[pad+column+skip:], d.pixels[(r-row)*side+skip:][:width-skip])
		out := narrow[(pad+r)*size:][:size]
		for o := first; o <= last; o++ {
			p := line[spaceRatio*o:][:8]
			sum := int(p[0]+p[7]) + 3*int(p[1]+p[6]) + 5*int(p[2]+p[5]) + 7*int(p[3]+p[4])
			out[o] = weighted(255*sum, o == 0 || o == size-1)
		}
	}
	top, bottom := reached(row, side, size)
	if last < first {
		return
	}
	for o := top; o <= bottom; o++ {
		out := image[o*size+first : o*size+last+1]
		row := func(k int) []uint8 { return narrow[(spaceRatio*o+k)*size+first:][:len(out)] } // the fine rows that the pixels see
		p0, p1, p2, p3, p4, p5, p6, p7 := row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)
		edge := o == 0 || o == size-1
		for c := range out {
			sum := int(p0[c]) + int(p7[c]) + 3*(int(p1[c])+int(p6[c])) + 5*(int(p2[c])+int(p5[c])) + 7*(int(p3[c])+int(p4[c]))
			out[c] = weighted(sum, edge)
		}
	}
}

// reached returns the range of pixels that a drawing changes.
func reached(corner, side, size int) (first, last int) {
	return max((corner-5)/spaceRatio, 0), min((corner+side+1)/spaceRatio, size-1)
}

// weighted divides a sum by its weights and rounds it, halves up. The first and the last pixel, at the edges, have lost
// the weights 1 and 3.
func weighted(sum int, edge bool) uint8 {
	if edge {
		return uint8((sum + 14) / 28)
	}
	return uint8((sum + 16) / 32)
}

// reductions holds buffers of reduce: a fine line, and all fine rows at the columns of the image.
var reductions = sync.Pool{New: func() any { return new([]uint8) }}

package datasets

// reduce writes the image of a drawing whose upper left corner lies at a fine row and column. A
// pixel of the image sees eight fine pixels along each side, from two before its own four to two
// after them, with the weights 1, 3, 5, 7, 7, 5, 3 and 1; those outside the picture are left out.
func (d *drawing) reduce(row, column int, image []uint8) {
	const pad = 2
	clear(image)
	side := 2 * d.radius
	first, last := reached(column, side)
	skip, width := max(-column, 0), min(side, spaceFine-column)
	var narrow [spaceFine + 2*pad][spaceImage]uint8
	var line [spaceFine + 2*pad]uint8
	for r := max(row, 0); r < min(row+side, spaceFine); r++ {
		copy(line[pad+column+skip:], d.pixels[(r-row)*side+skip:][:width-skip])
		out := &narrow[pad+r]
		for o := first; o <= last; o++ {
			p := line[spaceRatio*o:][:8]
			sum := int(p[0]+p[7]) + 3*int(p[1]+p[6]) + 5*int(p[2]+p[5]) + 7*int(p[3]+p[4])
			out[o] = weighted(255*sum, o)
		}
	}
	top, bottom := reached(row, side)
	for o := top; o <= bottom; o++ {
		p := narrow[spaceRatio*o:][:8]
		for c := first; c <= last; c++ {
			sum := int(p[0][c]) + int(p[7][c]) + 3*(int(p[1][c])+int(p[6][c])) + 5*(int(p[2][c])+int(p[5][c])) + 7*(int(p[3][c])+int(p[4][c]))
			image[o*spaceImage+c] = weighted(sum, o)
		}
	}
}

// reached returns the range of pixels that a drawing contributes to.
func reached(corner, side int) (first, last int) {
	return max((corner-5)/spaceRatio, 0), min((corner+side+1)/spaceRatio, spaceImage-1)
}

// weighted divides a sum by its weights and rounds it, halves up. The first and the last pixel
// have lost the weights 1 and 3.
func weighted(sum, pixel int) uint8 {
	if pixel == 0 || pixel == spaceImage-1 {
		return uint8((sum + 14) / 28)
	}
	return uint8((sum + 16) / 32)
}

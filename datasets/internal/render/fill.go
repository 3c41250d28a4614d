package render

// fill draws the samples of a triangle that are nearer than all previous triangles.
func (r *Renderer) fill(id int32, a, b, c *vertex) {
	// Samples lie at column*subUnits - left, row*subUnits - top.
	left, top := int32(r.cols-1)*(subUnits/2), int32(r.rows-1)*(subUnits/2)
	col0 := max(0, (min(a.x, b.x, c.x)+left+subUnits-1)>>subBits)
	col1 := min(int32(r.cols-1), (max(a.x, b.x, c.x)+left)>>subBits)
	row0 := max(0, (min(a.y, b.y, c.y)+top+subUnits-1)>>subBits)
	row1 := min(int32(r.rows-1), (max(a.y, b.y, c.y)+top)>>subBits)
	if col0 > col1 || row0 > row1 {
		return
	}
	// The depths must have the same bits for every order of the corners.
	if b.y < a.y || b.y == a.y && b.x < a.x {
		a, b, c = b, c, a
	}
	if c.y < a.y || c.y == a.y && c.x < a.x {
		a, b, c = c, a, b
	}
	abx, aby := int64(b.x)-int64(a.x), int64(b.y)-int64(a.y)
	acx, acy := int64(c.x)-int64(a.x), int64(c.y)-int64(a.y)
	area := abx*acy - aby*acx
	if area == 0 {
		return
	}
	if area < 0 {
		b, c = c, b
		abx, aby, acx, acy, area = acx, acy, abx, aby, -area
	}

	x, y := int64(col0<<subBits-left), int64(row0<<subBits-top)
	edges := [3]edge{newEdge(a, b, x, y), newEdge(b, c, x, y), newEdge(c, a, x, y)}

	zb, zc, over := b.near-a.near, c.near-a.near, 1/float64(area)
	dzx := (float64(zb*float64(acy)) - float64(zc*float64(aby))) * over * subUnits
	dzy := (float64(zc*float64(abx)) - float64(zb*float64(acx))) * over * subUnits
	zx, zy := float64(x-int64(a.x))/subUnits, float64(y-int64(a.y))/subUnits
	lowest, highest := min(a.near, b.near, c.near), max(a.near, b.near, c.near)

	for row := row0; row <= row1; row++ {
		from, to := span(&edges, int64(col1-col0))
		edges[0].value += edges[0].down
		edges[1].value += edges[1].down
		edges[2].value += edges[2].down
		if from > to {
			continue
		}
		z := a.near + float64(dzy*(float64(row-row0)+zy)) + float64(dzx*zx)
		at := int(row)*r.cols + int(col0)
		depth, seen := r.depth[at+int(from):at+int(to)+1], r.seen[at+int(from):at+int(to)+1]
		for i := range depth {
			// The clamp only changes rounding errors, which are large for triangles seen edge-on.
			near := float32(min(max(z+float64(dzx*float64(int(from)+i)), lowest), highest))
			if near > depth[i] {
				depth[i], seen[i] = near, id
			}
		}
	}
	d := &r.dirty
	d.top, d.bottom = min(d.top, int(row0)), max(d.bottom, int(row1)+1)
	d.left, d.right = min(d.left, int(col0)), max(d.right, int(col1)+1)
}

// edge is the edge function of two corners: 0 on the line, positive inside the triangle.
type edge struct {
	value       int64 // value at the first sample of a row
	right, down int64 // change from sample to sample
}

func newEdge(a, b *vertex, x, y int64) edge {
	dx, dy := int64(b.x)-int64(a.x), int64(b.y)-int64(a.y)
	return edge{value: dx*(y-int64(a.y)) - dy*(x-int64(a.x)), right: -dy << subBits, down: dx << subBits}
}

// span returns the range of samples, out of 0 .. last, that are outside no edge.
func span(edges *[3]edge, last int64) (from, to int64) {
	to = last
	for i := range edges {
		e := &edges[i]
		switch {
		case e.right > 0:
			if e.value < 0 {
				from = max(from, (e.right-1-e.value)/e.right)
			}
		case e.value < 0:
			return 1, 0
		case e.right < 0:
			if e.value < -e.right*to {
				to = e.value / -e.right
			}
		}
	}
	return from, to
}

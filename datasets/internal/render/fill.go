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

// clip draws the part of a triangle that lies behind the near plane and inside or not far outside the picture.
func (r *Renderer) clip(id int32, a, b, c *vertex) {
	if a.x == nowhere || b.x == nowhere || c.x == nowhere {
		return
	}
	// Each of the five planes adds at most one corner.
	var store [2][8]vec
	from, to := store[0][:0], store[1][:0]
	from = append(from, a.at, b.at, c.at)
	for plane := range 5 {
		to = to[:0]
		for i, p := range from {
			q := from[(i+1)%len(from)]
			dp, dq := r.lens.inside(plane, p), r.lens.inside(plane, q)
			if dp >= 0 {
				to = append(to, p)
			}
			switch {
			case dp >= 0 && dq < 0:
				to = append(to, between(p, q, dp, dq))
			case dp < 0 && dq >= 0: // also computed from the inside, so the neighbour finds the same point
				to = append(to, between(q, p, dq, dp))
			}
		}
		if from, to = to, from; len(from) < 3 {
			return
		}
	}
	near := r.lens.near / 2 // rounding may move corners on the near plane before it
	first := r.lens.project(from[0], near)
	for i := 2; i < len(from); i++ {
		second, third := r.lens.project(from[i-1], near), r.lens.project(from[i], near)
		if first.x > nowhere && second.x > nowhere && third.x > nowhere {
			r.fill(id, &first, &second, &third)
		}
	}
}

// inside is positive on the visible side of a clipping plane. The planes are the near plane, and the right, left, top
// and bottom planes well outside the picture.
func (l *lens) inside(plane int, p vec) float64 {
	const far = guard / 2
	if plane == 0 {
		return -p.z - l.near
	}
	room := far / l.focus
	if !l.ortho {
		room = float64(room * -p.z)
	}
	switch plane {
	case 1:
		return room - p.x
	case 2:
		return room + p.x
	case 3:
		return room - p.y
	default:
		return room + p.y
	}
}

// between returns the intersection of the line from p to q with a plane, given the distances of p and q from the plane.
func between(p, q vec, dp, dq float64) vec { return p.plus(q.minus(p).times(dp / (dp - dq))) }

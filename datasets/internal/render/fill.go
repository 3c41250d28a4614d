package render

// fillTriangle draws the samples of a triangle that are nearer than all previous triangles.
func (r *Renderer) fillTriangle(id int32, a, b, c *vertex) {
	// Samples lie at column*subUnits - offsetX, row*subUnits - offsetY.
	offsetX, offsetY := int32(r.cols-1)*(subUnits/2), int32(r.rows-1)*(subUnits/2)
	col0 := max(0, (min(a.x, b.x, c.x)+offsetX+subUnits-1)>>subBits)
	col1 := min(int32(r.cols-1), (max(a.x, b.x, c.x)+offsetX)>>subBits)
	row0 := max(0, (min(a.y, b.y, c.y)+offsetY+subUnits-1)>>subBits)
	row1 := min(int32(r.rows-1), (max(a.y, b.y, c.y)+offsetY)>>subBits)
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

	x, y := int64(col0<<subBits-offsetX), int64(row0<<subBits-offsetY)
	edges := [3]edge{newEdge(a, b, x, y), newEdge(b, c, x, y), newEdge(c, a, x, y)}

	zb, zc, inverseArea := b.nearness-a.nearness, c.nearness-a.nearness, 1/float64(area)
	dzx := (float64(zb*float64(acy)) - float64(zc*float64(aby))) * inverseArea * subUnits
	dzy := (float64(zc*float64(abx)) - float64(zb*float64(acx))) * inverseArea * subUnits
	zx, zy := float64(x-int64(a.x))/subUnits, float64(y-int64(a.y))/subUnits
	minNearness, maxNearness := min(a.nearness, b.nearness, c.nearness), max(a.nearness, b.nearness, c.nearness)

	for row := row0; row <= row1; row++ {
		from, to := insideSpan(&edges, int64(col1-col0))
		edges[0].value += edges[0].down
		edges[1].value += edges[1].down
		edges[2].value += edges[2].down
		if from > to {
			continue
		}
		z := a.nearness + float64(dzy*(float64(row-row0)+zy)) + float64(dzx*zx)
		start := int(row)*r.cols + int(col0)
		depth, seen := r.depth[start+int(from):start+int(to)+1], r.triangle[start+int(from):start+int(to)+1]
		for i := range depth {
			// The clamp only changes rounding errors, which are large for triangles seen edge-on.
			nearness := float32(min(max(z+float64(dzx*float64(int(from)+i)), minNearness), maxNearness))
			if nearness > depth[i] {
				depth[i], seen[i] = nearness, id
			}
		}
	}
	d := &r.drawn
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

// insideSpan returns the range of samples, out of 0 .. last, that are outside no edge.
func insideSpan(edges *[3]edge, last int64) (from, to int64) {
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

// clipTriangle draws the part of a triangle that lies behind the near plane and inside or not far outside the picture.
func (r *Renderer) clipTriangle(id int32, a, b, c *vertex) {
	if a.x == notFinite || b.x == notFinite || c.x == notFinite {
		return
	}
	// Each of the five planes adds at most one corner.
	var buffers [2][8]vec
	from, to := buffers[0][:0], buffers[1][:0]
	from = append(from, a.position, b.position, c.position)
	for plane := range 5 {
		to = to[:0]
		for i, p := range from {
			q := from[(i+1)%len(from)]
			dp, dq := r.lens.planeDistance(plane, p), r.lens.planeDistance(plane, q)
			if dp >= 0 {
				to = append(to, p)
			}
			switch {
			case dp >= 0 && dq < 0:
				to = append(to, intersection(p, q, dp, dq))
			case dp < 0 && dq >= 0: // also computed from the inside, so the neighbour finds the same point
				to = append(to, intersection(q, p, dq, dp))
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
		if first.x > notFinite && second.x > notFinite && third.x > notFinite {
			r.fillTriangle(id, &first, &second, &third)
		}
	}
}

// planeDistance is positive on the visible side of a clipping plane. The planes are the near plane, and the right,
// left, top and bottom planes well outside the picture.
func (l *lens) planeDistance(plane int, p vec) float64 {
	const limit = guard / 2
	if plane == 0 {
		return -p.z - l.near
	}
	extent := limit / l.focalLength
	if !l.ortho {
		extent = float64(extent * -p.z)
	}
	switch plane {
	case 1:
		return extent - p.x
	case 2:
		return extent + p.x
	case 3:
		return extent - p.y
	default:
		return extent + p.y
	}
}

// intersection returns the intersection of the line from p to q with a plane, given the distances of p and q from the
// plane.
func intersection(p, q vec, dp, dq float64) vec { return p.plus(q.minus(p).times(dp / (dp - dq))) }

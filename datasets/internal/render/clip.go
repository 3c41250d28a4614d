package render

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

package render

import (
	"fmt"
	"math"
	"strconv"

	"github.com/unravel-ml/unravel/internal/dtype"
)

func (p *ply) vertices(e *plyElement, m *Mesh) error {
	slot := make([]int, len(e.properties)) // coordinate of each property, then the coordinate of the normal; -1: none
	found := 0
	for i, q := range e.properties {
		slot[i] = -1
		for k, name := range []string{"x", "y", "z", "nx", "ny", "nz"} {
			if q.name == name && !q.list {
				slot[i] = k
				found |= 1 << k
			}
		}
	}
	if found&7 != 7 {
		return fmt.Errorf("%s: the vertices have no x, y and z; want these properties", p.name)
	}
	m.Vertices = make([][3]float64, 0, e.count)
	normals := found == 63
	var row [6]float64
	finite := true
	value := func(property int, v float64) error {
		if k := slot[property]; k >= 0 {
			row[k] = v
			if math.Abs(v) <= maxCoordinate {
				return nil
			}
			if k < 3 {
				return p.errorf("coordinate %v of vertex %d; want a number of at most %g", v, len(m.Vertices), maxCoordinate)
			}
			finite = false
		}
		return nil
	}
	return p.rows(e, value, func() error {
		m.Vertices = append(m.Vertices, [3]float64(row[:3]))
		if normals {
			normal := [3]float64(row[3:])
			if !finite { // treat the normal as missing
				normal = [3]float64{}
			}
			m.Normals = append(m.Normals, normal)
		}
		finite = true
		return nil
	})
}

func (p *ply) faces(e *plyElement, m *Mesh) error {
	at := e.find("vertex_indices")
	if at < 0 {
		at = e.find("vertex_index")
	}
	if at < 0 || !e.properties[at].list {
		return fmt.Errorf("%s: the faces have no list vertex_indices or vertex_index; want one of these", p.name)
	}
	m.Triangles = make([][3]int32, 0, e.count)
	var corners []int32
	value := func(property int, v float64) error {
		if property != at {
			return nil
		}
		if !(v >= 0 && v < math.MaxInt32 && v == math.Trunc(v)) {
			return p.errorf("face with the vertex %v; want a whole number from 0", v)
		}
		corners = append(corners, int32(v))
		return nil
	}
	return p.rows(e, value, func() error {
		if len(corners) < 3 {
			return p.errorf("face of %d corners; want at least 3", len(corners))
		}
		m.fan(corners)
		corners = corners[:0]
		return nil
	})
}

// rows reads the rows of an element. It calls value for each number with its property, and end after each row; both may
// be nil.
func (p *ply) rows(e *plyElement, value func(property int, v float64) error, end func() error) error {
	if len(e.properties) == 0 {
		return nil
	}
	for row := range e.count {
		for i := range e.properties {
			if err := p.numbers(e, i, row, value); err != nil {
				return err
			}
		}
		if end != nil {
			if err := end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// numbers reads the numbers of property i of a row.
func (p *ply) numbers(e *plyElement, i, row int, value func(property int, v float64) error) error {
	q := &e.properties[i]
	n, err := p.length(e, q, row)
	if err != nil {
		return err
	}
	for range n {
		v, err := p.number(q.number)
		if err != nil {
			return fmt.Errorf("%w (element %s, row %d of %d)", err, e.name, row, e.count)
		}
		if value != nil {
			if err := value(i, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// length returns the number of values of a property that follow. It reads the length of a list.
func (p *ply) length(e *plyElement, q *plyProperty, row int) (int, error) {
	if !q.list {
		return 1, nil
	}
	v, err := p.number(q.length)
	if err != nil {
		return 0, fmt.Errorf("%w (element %s, row %d of %d)", err, e.name, row, e.count)
	}
	if !(v >= 0 && v <= math.MaxInt32 && v == math.Trunc(v)) {
		return 0, p.errorf("list of %v numbers in row %d of element %s; want a length", v, row, e.name)
	}
	return int(v), nil
}

// errorf returns an error at the line of a text file, or at the byte after the last number of a binary file.
func (p *ply) errorf(format string, args ...any) error {
	if !p.binary {
		return p.text.errorf(format, args...)
	}
	return fmt.Errorf("%s: byte %d: %w", p.name, p.at, fmt.Errorf(format, args...))
}

func (p *ply) number(t dtype.Type) (float64, error) {
	if !p.binary {
		token := p.text.next()
		if token == nil {
			return 0, p.errorf("the file ends; want all rows that the header says")
		}
		v, err := strconv.ParseFloat(string(token), 64)
		if err != nil {
			return 0, p.errorf("%q; want a number", shown(token))
		}
		return v, nil
	}
	if len(p.data)-p.at < t.Size {
		return 0, p.errorf("the file ends; want all rows that the header says")
	}
	var raw [8]byte
	b := raw[:copy(raw[:t.Size], p.data[p.at:])]
	p.at += t.Size
	if p.big {
		dtype.Swap(b, t.Size)
	}
	var v [1]float64
	dtype.Decode(v[:], b, t)
	return v[0], nil
}

package render

import (
	"bytes"
	"math"
	"strconv"
)

// obj holds the parts of an OBJ file that have been read.
type obj struct {
	*text
	vertices, normals [][3]float64
	corners           [][2]int32 // of all triangles: vertex and normal, -1: none
	bare              bool       // at least one corner has no normal
	ahead             []ahead
}

// ahead is a reference to a later vertex or normal of the file.
type ahead struct {
	line int
	what string
	n    int // from 0
}

// readOBJ reads the vertices, normals and faces of a Wavefront OBJ file. Indices count from 1, or backwards from -1.
func readOBJ(name string, data []byte) (*Mesh, error) {
	o := &obj{text: newText(name, data)}
	o.joined = true
	for {
		var err error
		switch keyword := o.token(); string(keyword) {
		case "v":
			o.vertices, err = o.vector(o.vertices)
		case "vn":
			o.normals, err = o.vector(o.normals)
		case "f":
			err = o.face()
		}
		if err != nil {
			return nil, err
		}
		if !o.endLine() {
			break
		}
	}
	for _, a := range o.ahead {
		if n := len(o.vertices); a.what == "vertex" && a.n >= n || a.what == "normal" && a.n >= len(o.normals) {
			o.line = a.line
			return nil, o.errorf("face with %s %d; the file has %d vertices and %d normals", a.what, a.n+1, n, len(o.normals))
		}
	}
	return o.mesh(), nil
}

func (o *obj) vector(list [][3]float64) ([][3]float64, error) {
	var v [3]float64
	for k := range v {
		token := o.token()
		if token == nil {
			return nil, o.errorf("%d coordinates; want 3", k)
		}
		var err error
		if v[k], err = o.coordinate(token); err != nil {
			return nil, err
		}
	}
	if len(list) == math.MaxInt32 {
		return nil, o.errorf("more than %d vertices or normals", math.MaxInt32)
	}
	return append(list, v), nil
}

// face reads the corners of a polygon. A corner is vertex, vertex/texture, vertex//normal or vertex/texture/normal.
func (o *obj) face() error {
	var first, last [2]int32
	n := 0
	for token := o.token(); token != nil; token = o.token() {
		parts := bytes.Split(token, []byte("/"))
		if len(parts) > 3 {
			return o.errorf("corner %q; want vertex, vertex/texture, vertex//normal or vertex/texture/normal", shown(token))
		}
		v, err := o.index(parts[0], "vertex", len(o.vertices))
		if err != nil {
			return err
		}
		corner := [2]int32{v, -1}
		if len(parts) == 3 && len(parts[2]) > 0 {
			if corner[1], err = o.index(parts[2], "normal", len(o.normals)); err != nil {
				return err
			}
		}
		o.bare = o.bare || corner[1] < 0
		switch n {
		case 0:
			first = corner
		case 1:
		default:
			o.corners = append(o.corners, first, last, corner)
		}
		last = corner
		n++
	}
	if n < 3 {
		return o.errorf("face of %d corners; want at least 3", n)
	}
	return nil
}

// index parses an index into a list that has have entries so far.
func (o *obj) index(token []byte, what string, have int) (int32, error) {
	i, err := strconv.ParseInt(string(token), 10, 32)
	n := int(i) - 1
	if i < 0 {
		n = have + int(i)
	}
	if err != nil || i == 0 || n < 0 {
		return 0, o.errorf("%s %q of a face; want 1 or more, or -1 to %d", what, shown(token), -have)
	}
	if n >= have {
		o.ahead = append(o.ahead, ahead{o.line, what, n})
	}
	return int32(n), nil
}

// mesh returns the mesh. With normals, it has one vertex for each pair of vertex and normal.
func (o *obj) mesh() *Mesh {
	m := &Mesh{Vertices: o.vertices, Triangles: make([][3]int32, len(o.corners)/3)}
	if o.bare {
		for i, c := range o.corners {
			m.Triangles[i/3][i%3] = c[0]
		}
		return m
	}
	m.Vertices, m.Normals = nil, make([][3]float64, 0, len(o.normals))
	number := map[[2]int32]int32{}
	for i, c := range o.corners {
		at, ok := number[c]
		if !ok {
			at = int32(len(m.Vertices))
			number[c] = at
			m.Vertices, m.Normals = append(m.Vertices, o.vertices[c[0]]), append(m.Normals, o.normals[c[1]])
		}
		m.Triangles[i/3][i%3] = at
	}
	return m
}

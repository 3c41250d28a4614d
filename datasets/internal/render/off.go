package render

import (
	"bytes"
	"math"
	"strconv"
)

// readOFF reads the Object File Format: a header, which ModelNet40 sometimes joins to the counts; the counts of
// vertices, faces and edges; the vertices; and the faces, each as a number of corners and their indices. It ignores
// anything else on the line of a vertex or face, such as a colour.
func readOFF(name string, data []byte) (*Mesh, error) {
	t := newText(name, data)
	first, err := t.header()
	if err != nil {
		return nil, err
	}
	// The shortest vertex is "0 0 0" and a line end, the shortest face "3 0 1 2" and a line end.
	vertices, err := t.count(first, "vertices", 6)
	if err != nil {
		return nil, err
	}
	faces, err := t.count(t.next(), "faces", 8)
	if err != nil {
		return nil, err
	}
	t.endLine()
	m := &Mesh{Vertices: make([][3]float64, vertices), Triangles: make([][3]int32, 0, faces)}
	for i := range m.Vertices {
		for k := range 3 {
			token := t.next()
			if token == nil {
				return nil, t.errorf("the file ends in vertex %d; want %d vertices and %d faces, as the counts say", i, vertices, faces)
			}
			if m.Vertices[i][k], err = t.coordinate(token); err != nil {
				return nil, err
			}
		}
		t.endLine()
	}
	var corners []int32
	for i := range faces {
		if corners, err = t.face(corners[:0], i, faces, vertices); err != nil {
			return nil, err
		}
		m.fan(corners)
		t.endLine()
	}
	return m, nil
}

// header reads the header, and returns the token of the vertex count.
func (t *text) header() ([]byte, error) {
	token := t.next()
	if token == nil {
		return nil, t.errorf("an empty file; want OFF")
	}
	at := bytes.Index(token, []byte("OFF"))
	if at < 0 || at > 5 {
		return nil, t.errorf("the file begins with %q; want OFF", shown(token))
	}
	switch prefix := string(token[:at]); prefix {
	case "", "C", "N", "CN", "ST", "STC", "STN", "STCN":
	default:
		return nil, t.errorf("the file begins with %q; want OFF with three coordinates for each vertex", shown(token))
	}
	if token = token[at+3:]; len(token) == 0 {
		token = t.next()
	}
	if string(token) == "BINARY" {
		return nil, t.errorf("a binary OFF file; want text")
	}
	return token, nil
}

// count parses a token as a number of items. An item takes at least bytes bytes of the file.
func (t *text) count(token []byte, what string, bytes int) (int, error) {
	n, err := strconv.Atoi(string(token))
	switch {
	case token == nil:
		return 0, t.errorf("the file ends before the number of %s; want it", what)
	case err != nil || n < 1:
		return 0, t.errorf("%q %s; want a number of at least 1", shown(token), what)
	case n > (len(t.data)-t.at+1)/bytes || n > math.MaxInt32:
		return 0, t.errorf("%d %s; want at most the %d that %d further bytes can hold", n, what, (len(t.data)-t.at+1)/bytes, len(t.data)-t.at)
	}
	return n, nil
}

func (t *text) face(corners []int32, i, faces, vertices int) ([]int32, error) {
	token := t.next()
	if token == nil {
		return nil, t.errorf("the file ends before face %d; want %d vertices and %d faces, as the counts say", i, vertices, faces)
	}
	n, err := strconv.Atoi(string(token))
	if err != nil || n < 3 {
		return nil, t.errorf("face %d of %q corners; want at least 3", i, shown(token))
	}
	for range n {
		if token = t.next(); token == nil {
			return nil, t.errorf("the file ends in face %d of %d corners; want %d faces, as the counts say", i, n, faces)
		}
		v, err := strconv.Atoi(string(token))
		if err != nil || v < 0 || v >= vertices {
			return nil, t.errorf("face %d has the vertex %q; want 0 to %d", i, shown(token), vertices-1)
		}
		corners = append(corners, int32(v))
	}
	return corners, nil
}

package render

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

const (
	stlHeader   = 80 // bytes before the count of a binary STL file
	stlTriangle = 50 // bytes per triangle
)

// readSTL reads STL. Binary files may begin with "solid", like text files. A file is binary if its length matches its
// number of triangles, or if its first bytes include a zero.
func readSTL(name string, data []byte) (*Mesh, error) {
	if len(data) >= stlHeader+4 {
		n := int64(binary.LittleEndian.Uint32(data[stlHeader:]))
		exact := int64(len(data)) == stlHeader+4+n*stlTriangle
		if exact || !solid(data) || bytes.IndexByte(data[:stlHeader], 0) >= 0 {
			return readBinarySTL(name, data, n)
		}
	}
	if !solid(data) {
		return nil, fmt.Errorf("%s: %d bytes that do not begin with solid; want STL as text, or the %d bytes before the triangles of a binary file", name, len(data), stlHeader+4)
	}
	return readTextSTL(name, data)
}

// solid reports whether data begins like a text file.
func solid(data []byte) bool {
	data = bytes.TrimLeft(bytes.TrimPrefix(data[:min(len(data), 200)], []byte("\ufeff")), " \t\r\n")
	return len(data) >= 5 && strings.EqualFold(string(data[:5]), "solid")
}

func readBinarySTL(name string, data []byte, n int64) (*Mesh, error) {
	body := data[stlHeader+4:]
	if int64(len(body)) < n*stlTriangle {
		return nil, fmt.Errorf("%s: byte %d: %d triangles, which take %d bytes; want at most the %d that %d further bytes can hold",
			name, stlHeader, n, n*stlTriangle, len(body)/stlTriangle, len(body))
	}
	w := newWelder(int(n))
	for i := range int(n) {
		record := body[i*stlTriangle:]
		var corners [3]int32
		for k := range 3 {
			var v [3]float64
			for j := range v {
				offset := 12 + 12*k + 4*j // after the normal
				v[j] = float64(math.Float32frombits(binary.LittleEndian.Uint32(record[offset:])))
				if !(math.Abs(v[j]) <= maxCoordinate) {
					return nil, fmt.Errorf("%s: byte %d: coordinate %v of triangle %d; want a number of at most %g",
						name, stlHeader+4+i*stlTriangle+offset, v[j], i, maxCoordinate)
				}
			}
			corners[k] = w.vertex(v)
		}
		w.mesh.Triangles = append(w.mesh.Triangles, corners)
	}
	return w.mesh, nil
}

// readTextSTL reads facets. It checks the keywords around the vertices, but not the normals.
func readTextSTL(name string, data []byte) (*Mesh, error) {
	t := newText(name, data)
	w := newWelder(0)
	var corners []int32
	for inFacet := false; ; {
		token := t.next()
		if token == nil {
			if inFacet {
				return nil, t.errorf("the file ends in a facet; want endfacet")
			}
			return w.mesh, nil
		}
		switch word := strings.ToLower(string(shorten(token))); {
		case !inFacet && (word == "solid" || word == "endsolid"):
			t.endLine() // a name
		case !inFacet && word == "facet":
			inFacet, corners = true, corners[:0]
			t.endLine()
		case inFacet && word == "outer":
			t.endLine()
		case inFacet && word == "vertex":
			v, err := t.corner()
			if err != nil {
				return nil, err
			}
			corners = append(corners, w.vertex(v))
		case inFacet && word == "endloop":
		case inFacet && word == "endfacet":
			if len(corners) < 3 {
				return nil, t.errorf("facet of %d vertices; want at least 3", len(corners))
			}
			inFacet = false
			w.mesh.fan(corners)
		case inFacet:
			return nil, t.errorf("%q in a facet; want outer, vertex, endloop or endfacet", shorten(token))
		default:
			return nil, t.errorf("%q outside of a facet; want facet or endsolid", shorten(token))
		}
	}
}

func (t *text) corner() (v [3]float64, err error) {
	for k := range v {
		token := t.next()
		if token == nil {
			return v, t.errorf("the file ends in a vertex; want 3 coordinates")
		}
		if v[k], err = t.coordinate(token); err != nil {
			return v, err
		}
	}
	return v, nil
}

// welder merges vertices at the same position.
type welder struct {
	mesh    *Mesh
	indices map[[3]float64]int32
}

func newWelder(triangles int) *welder {
	return &welder{mesh: &Mesh{Triangles: make([][3]int32, 0, triangles)},
		indices: make(map[[3]float64]int32, triangles/2)}
}

func (w *welder) vertex(v [3]float64) int32 {
	index, ok := w.indices[v]
	if !ok {
		index = int32(len(w.mesh.Vertices))
		w.indices[v] = index
		w.mesh.Vertices = append(w.mesh.Vertices, v)
	}
	return index
}

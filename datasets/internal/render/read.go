package render

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/internal/disk"
)

// MaxFile is the maximum size of a mesh file in bytes.
const MaxFile = 1 << 30

// maxCoordinate is the maximum coordinate, which keeps sums of squares far from the limits of float64.
const maxCoordinate = 1e30

// Formats lists the extensions of mesh files that Decode reads.
func Formats() []string { return []string{".off", ".obj", ".stl", ".ply"} }

// ReadFile reads a mesh from a file, see [Decode].
func ReadFile(path string) (*Mesh, error) {
	data, err := disk.ReadFile(path, MaxFile)
	if err != nil {
		return nil, err
	}
	return Decode(path, data)
}

// Decode reads a mesh in the format of the file name's extension: OFF, OBJ, STL (text or binary) or PLY (text or
// binary). Polygons become fans of triangles around their first corner. Colours, textures, groups and materials are
// ignored. The mesh has normals if the file has a normal for each corner. STL repeats the corners of its triangles, so
// vertices at the same position are merged.
//
// The error names the file with the line or byte. Memory is at most a small multiple of the data's length, even if the
// file claims large numbers.
func Decode(name string, data []byte) (*Mesh, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s: more than %d bytes; want a smaller mesh", name, MaxFile)
	}
	read, ok := map[string]func(string, []byte) (*Mesh, error){
		".off": readOFF, ".obj": readOBJ, ".stl": readSTL, ".ply": readPLY,
	}[strings.ToLower(filepath.Ext(name))]
	if !ok {
		return nil, fmt.Errorf("%s: unknown extension %q of a mesh; want one of %s",
			name, filepath.Ext(name), strings.Join(Formats(), ", "))
	}
	m, err := read(name, data)
	if err != nil {
		return nil, err
	}
	if len(m.Triangles) == 0 {
		return nil, fmt.Errorf("%s: a mesh without faces; want at least one", name)
	}
	return m, nil
}

// text is a text file read token by token.
type text struct {
	name   string
	data   []byte
	offset int
	line   int // line of the offset, from 1

	continuesLines bool // a backslash at the end of a line continues the line
}

func newText(name string, data []byte) *text {
	return &text{name: name, data: bytes.TrimPrefix(data, []byte("\ufeff")), line: 1}
}

func (t *text) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", t.name, t.line, fmt.Errorf(format, args...))
}

// token returns the next token of the line, or nil at the end of the line.
func (t *text) token() []byte {
	for t.offset < len(t.data) {
		if n := t.continuation(); n > 0 {
			t.offset += n
			t.line++
		} else if blank(t.data[t.offset]) {
			t.offset++
		} else {
			break
		}
	}
	start := t.offset
	for t.offset < len(t.data) && t.data[t.offset] != '\n' && !blank(t.data[t.offset]) && t.continuation() == 0 {
		if t.data[t.offset] == '#' {
			token := t.data[start:t.offset]
			for t.offset < len(t.data) && t.data[t.offset] != '\n' {
				t.offset++
			}
			if len(token) == 0 {
				return nil
			}
			return token
		}
		t.offset++
	}
	if start == t.offset {
		return nil
	}
	return t.data[start:t.offset]
}

// continuation returns the length of a backslash and the line end after it, or 0 if they do not come next.
func (t *text) continuation() int {
	rest := t.data[t.offset:]
	switch {
	case !t.continuesLines || rest[0] != '\\':
		return 0
	case len(rest) > 1 && rest[1] == '\n':
		return 2
	case len(rest) > 2 && rest[1] == '\r' && rest[2] == '\n':
		return 3
	}
	return 0
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' }

// endLine advances to the next line. It returns false at the end of the file.
func (t *text) endLine() bool {
	i := bytes.IndexByte(t.data[t.offset:], '\n')
	if i < 0 {
		t.offset = len(t.data)
		return false
	}
	t.offset += i + 1
	t.line++
	return t.offset < len(t.data)
}

// next returns the next token of this or a later line, or nil at the end of the file.
func (t *text) next() []byte {
	for {
		if token := t.token(); token != nil {
			return token
		}
		if t.offset >= len(t.data) || !t.endLine() {
			return nil
		}
	}
}

func (t *text) coordinate(token []byte) (float64, error) {
	v, err := strconv.ParseFloat(string(token), 64)
	if err != nil || !(math.Abs(v) <= maxCoordinate) {
		return 0, t.errorf("coordinate %q; want a number of at most %g", shorten(token), maxCoordinate)
	}
	return v, nil
}

// shorten shortens a token for an error.
func shorten(token []byte) []byte { return token[:min(len(token), 40)] }

// fan adds the triangles of a polygon.
func (m *Mesh) fan(corners []int32) {
	for i := 2; i < len(corners); i++ {
		m.Triangles = append(m.Triangles, [3]int32{corners[0], corners[i-1], corners[i]})
	}
}

// obj holds the parts of an OBJ file that have been read.
type obj struct {
	*text
	vertices, normals [][3]float64
	corners           [][2]int32 // of all triangles: vertex and normal, -1: none
	lacksNormals      bool       // at least one corner has no normal
	forwardReferences []reference
}

// reference is a face's reference to a later vertex or normal of the file.
type reference struct {
	line int
	kind string
	n    int // from 0
}

// readOBJ reads the vertices, normals and faces of a Wavefront OBJ file. Indices count from 1, or backwards from -1.
func readOBJ(name string, data []byte) (*Mesh, error) {
	o := &obj{text: newText(name, data)}
	o.continuesLines = true
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
	for _, a := range o.forwardReferences {
		if n := len(o.vertices); a.kind == "vertex" && a.n >= n || a.kind == "normal" && a.n >= len(o.normals) {
			o.line = a.line
			return nil, o.errorf("face with %s %d; the file has %d vertices and %d normals", a.kind, a.n+1, n, len(o.normals))
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
	var first, previous [2]int32
	n := 0
	for token := o.token(); token != nil; token = o.token() {
		parts := bytes.Split(token, []byte("/"))
		if len(parts) > 3 {
			return o.errorf("corner %q; want vertex, vertex/texture, vertex//normal or vertex/texture/normal", shorten(token))
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
		o.lacksNormals = o.lacksNormals || corner[1] < 0
		switch n {
		case 0:
			first = corner
		case 1:
		default:
			o.corners = append(o.corners, first, previous, corner)
		}
		previous = corner
		n++
	}
	if n < 3 {
		return o.errorf("face of %d corners; want at least 3", n)
	}
	return nil
}

// index parses an index into a list that has count entries so far.
func (o *obj) index(token []byte, kind string, count int) (int32, error) {
	i, err := strconv.ParseInt(string(token), 10, 32)
	n := int(i) - 1
	if i < 0 {
		n = count + int(i)
	}
	if err != nil || i == 0 || n < 0 {
		return 0, o.errorf("%s %q of a face; want 1 or more, or -1 to %d", kind, shorten(token), -count)
	}
	if n >= count {
		o.forwardReferences = append(o.forwardReferences, reference{o.line, kind, n})
	}
	return int32(n), nil
}

// mesh returns the mesh. With normals, it has one vertex for each pair of vertex and normal.
func (o *obj) mesh() *Mesh {
	m := &Mesh{Vertices: o.vertices, Triangles: make([][3]int32, len(o.corners)/3)}
	if o.lacksNormals {
		for i, c := range o.corners {
			m.Triangles[i/3][i%3] = c[0]
		}
		return m
	}
	m.Vertices, m.Normals = nil, make([][3]float64, 0, len(o.normals))
	indices := map[[2]int32]int32{}
	for i, c := range o.corners {
		vertex, ok := indices[c]
		if !ok {
			vertex = int32(len(m.Vertices))
			indices[c] = vertex
			m.Vertices, m.Normals = append(m.Vertices, o.vertices[c[0]]), append(m.Normals, o.normals[c[1]])
		}
		m.Triangles[i/3][i%3] = vertex
	}
	return m
}

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
				return nil, t.errorf("the file ends in vertex %d; want %d vertices and %d faces, as the counts say",
					i, vertices, faces)
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
	start := bytes.Index(token, []byte("OFF"))
	if start < 0 || start > 5 {
		return nil, t.errorf("the file begins with %q; want OFF", shorten(token))
	}
	switch prefix := string(token[:start]); prefix {
	case "", "C", "N", "CN", "ST", "STC", "STN", "STCN":
	default:
		return nil, t.errorf("the file begins with %q; want OFF with three coordinates for each vertex", shorten(token))
	}
	if token = token[start+3:]; len(token) == 0 {
		token = t.next()
	}
	if string(token) == "BINARY" {
		return nil, t.errorf("a binary OFF file; want text")
	}
	return token, nil
}

// count parses a token as a number of items. An item takes at least minBytes bytes of the file.
func (t *text) count(token []byte, items string, minBytes int) (int, error) {
	n, err := strconv.Atoi(string(token))
	switch {
	case token == nil:
		return 0, t.errorf("the file ends before the number of %s; want it", items)
	case err != nil || n < 1:
		return 0, t.errorf("%q %s; want a number of at least 1", shorten(token), items)
	case n > (len(t.data)-t.offset+1)/minBytes || n > math.MaxInt32:
		return 0, t.errorf("%d %s; want at most the %d that %d further bytes can hold",
			n, items, (len(t.data)-t.offset+1)/minBytes, len(t.data)-t.offset)
	}
	return n, nil
}

func (t *text) face(corners []int32, i, faces, vertices int) ([]int32, error) {
	token := t.next()
	if token == nil {
		return nil, t.errorf("the file ends before face %d; want %d vertices and %d faces, as the counts say",
			i, vertices, faces)
	}
	n, err := strconv.Atoi(string(token))
	if err != nil || n < 3 {
		return nil, t.errorf("face %d of %q corners; want at least 3", i, shorten(token))
	}
	for range n {
		if token = t.next(); token == nil {
			return nil, t.errorf("the file ends in face %d of %d corners; want %d faces, as the counts say", i, n, faces)
		}
		v, err := strconv.Atoi(string(token))
		if err != nil || v < 0 || v >= vertices {
			return nil, t.errorf("face %d has the vertex %q; want 0 to %d", i, shorten(token), vertices-1)
		}
		corners = append(corners, int32(v))
	}
	return corners, nil
}

package render

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/internal/dtype"
)

// ply holds the parts of a PLY file that have been read.
type ply struct {
	name      string
	data      []byte
	body      int // offset of the first element
	binary    bool
	bigEndian bool  // big-endian
	text      *text // the body as text
	offset    int   // offset in a binary file
	elements  []plyElement
}

// plyElement is a table of a PLY file.
type plyElement struct {
	name       string
	count      int
	properties []plyProperty
}

// plyProperty is a number in a row, or a list of numbers.
type plyProperty struct {
	name   string
	number dtype.Type
	list   bool
	length dtype.Type // type of a list's length
}

// plyTypes holds the number types by both of their names.
var plyTypes = map[string]dtype.Type{
	"char": plyType('i', 1), "int8": plyType('i', 1), "uchar": plyType('u', 1), "uint8": plyType('u', 1),
	"short": plyType('i', 2), "int16": plyType('i', 2), "ushort": plyType('u', 2), "uint16": plyType('u', 2),
	"int": plyType('i', 4), "int32": plyType('i', 4), "uint": plyType('u', 4), "uint32": plyType('u', 4),
	"float": plyType('f', 4), "float32": plyType('f', 4), "double": plyType('f', 8), "float64": plyType('f', 8),
}

func plyType(kind byte, size int) dtype.Type {
	t, _ := dtype.Find(kind, size)
	return t
}

// readPLY reads the vertices (x, y, z and, if all exist, nx, ny, nz) and faces (vertex_indices or vertex_index) of a
// PLY file. Other elements and properties are skipped.
func readPLY(name string, data []byte) (*Mesh, error) {
	p := &ply{name: name, data: data}
	if err := p.header(); err != nil {
		return nil, err
	}
	m := &Mesh{}
	var err error
	for i := range p.elements {
		e := &p.elements[i]
		switch e.name {
		case "vertex":
			err = p.vertices(e, m)
		case "face":
			err = p.faces(e, m)
		default:
			err = p.rows(e, nil, nil)
		}
		if err != nil {
			return nil, err
		}
	}
	// Faces may come before the vertices.
	for i, t := range m.Triangles {
		for _, v := range t {
			if int(v) >= len(m.Vertices) {
				return nil, fmt.Errorf("%s: triangle %d has the vertex %d; want 0 to %d", name, i, v, len(m.Vertices)-1)
			}
		}
	}
	return m, nil
}

// header reads the lines up to end_header.
func (p *ply) header() error {
	t := &text{name: p.name, data: p.data, line: 1}
	if first := t.word(); first != "ply" {
		return t.errorf("the file begins with %q; want ply", shorten([]byte(first)))
	}
	format := ""
	for {
		if !t.endLine() {
			return t.errorf("the header has no end; want end_header")
		}
		switch keyword := t.word(); keyword {
		case "", "comment", "obj_info":
		case "format":
			format = t.word()
			if version := t.word(); version != "1.0" {
				return t.errorf("format %s in version %q; want 1.0", format, version)
			}
		case "element":
			if err := p.element(t); err != nil {
				return err
			}
		case "property":
			if err := p.property(t); err != nil {
				return err
			}
		case "end_header":
			t.endLine()
			p.body, p.offset, p.text = t.offset, t.offset, t
			switch format {
			case "ascii":
			case "binary_little_endian", "binary_big_endian":
				p.binary, p.bigEndian = true, format == "binary_big_endian"
			default:
				return t.errorf("format %q; want ascii, binary_little_endian or binary_big_endian", format)
			}
			return p.check(t)
		default:
			return t.errorf("%q in the header; want format, element, property, comment, obj_info or end_header",
				shorten([]byte(keyword)))
		}
	}
}

// word returns the next token of the line, or "" at the end of the line. Unlike token, it does not skip comments.
func (t *text) word() string {
	line, _, _ := bytes.Cut(t.data[t.offset:], []byte("\n"))
	line = bytes.TrimLeft(line, " \t\r")
	indent := bytes.Index(t.data[t.offset:], line)
	end := bytes.IndexAny(line, " \t\r")
	if end < 0 {
		end = len(line)
	}
	t.offset += indent + end
	return string(line[:end])
}

// element parses "vertex 8" in a header.
func (p *ply) element(t *text) error {
	name, number := t.word(), t.word()
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n > math.MaxInt32 {
		return t.errorf("element %q with %q rows; want 0 to %d", name, number, math.MaxInt32)
	}
	p.elements = append(p.elements, plyElement{name: name, count: n})
	return nil
}

// property parses "float x" or "list uchar int vertex_indices" in a header.
func (p *ply) property(t *text) error {
	if len(p.elements) == 0 {
		return t.errorf("a property before the first element; want the element")
	}
	var property plyProperty
	kind := t.word()
	if kind == "list" {
		length, ok := plyTypes[t.word()]
		if !ok || length.Kind == 'f' {
			return t.errorf("length of a list of unknown type; want an integer type, such as uchar")
		}
		property.list, property.length = true, length
		kind = t.word()
	}
	var ok bool
	if property.number, ok = plyTypes[kind]; !ok {
		return t.errorf("property of type %q; want char, uchar, short, ushort, int, uint, float or double",
			shorten([]byte(kind)))
	}
	property.name = t.word()
	e := &p.elements[len(p.elements)-1]
	if property.name == "" || e.find(property.name) >= 0 {
		return t.errorf("property %q of element %s; want a name that no other has", property.name, e.name)
	}
	e.properties = append(e.properties, property)
	return nil
}

func (e *plyElement) find(name string) int {
	return slices.IndexFunc(e.properties, func(p plyProperty) bool { return p.name == name })
}

// check compares the numbers of rows with the length of the file, and checks that there are vertices and faces.
func (p *ply) check(t *text) error {
	remaining, seen := len(p.data)-p.body, map[string]bool{}
	for _, e := range p.elements {
		if seen[e.name] {
			return t.errorf("element %s twice; want it once", e.name)
		}
		seen[e.name] = true
		minBytes := 0 // minimum bytes per row
		for _, q := range e.properties {
			switch {
			case !p.binary:
				minBytes += 2
			case q.list:
				minBytes += q.length.Size
			default:
				minBytes += q.number.Size
			}
		}
		if minBytes > 0 && e.count > (remaining+1)/minBytes {
			return t.errorf("%d rows of element %s; want at most the %d that %d further bytes can hold",
				e.count, e.name, (remaining+1)/minBytes, remaining)
		}
	}
	if !seen["vertex"] || !seen["face"] {
		return t.errorf("elements %s; want vertex and face", strings.Join(p.names(), ", "))
	}
	return nil
}

func (p *ply) names() (names []string) {
	for _, e := range p.elements {
		names = append(names, e.name)
	}
	return names
}

func (p *ply) vertices(e *plyElement, m *Mesh) error {
	// The coordinate of each property, from 3 the coordinate of the normal; -1: none.
	coordinateOf := make([]int, len(e.properties))
	foundMask := 0
	for i, q := range e.properties {
		coordinateOf[i] = -1
		for k, name := range []string{"x", "y", "z", "nx", "ny", "nz"} {
			if q.name == name && !q.list {
				coordinateOf[i] = k
				foundMask |= 1 << k
			}
		}
	}
	if foundMask&7 != 7 {
		return fmt.Errorf("%s: the vertices have no x, y and z; want these properties", p.name)
	}
	m.Vertices = make([][3]float64, 0, e.count)
	normals := foundMask == 63
	var row [6]float64
	finite := true
	value := func(property int, v float64) error {
		if k := coordinateOf[property]; k >= 0 {
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
	listProperty := e.find("vertex_indices")
	if listProperty < 0 {
		listProperty = e.find("vertex_index")
	}
	if listProperty < 0 || !e.properties[listProperty].list {
		return fmt.Errorf("%s: the faces have no list vertex_indices or vertex_index; want one of these", p.name)
	}
	m.Triangles = make([][3]int32, 0, e.count)
	var corners []int32
	value := func(property int, v float64) error {
		if property != listProperty {
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

// rows reads the rows of an element. It calls value for each number, and end after each row; both may be nil.
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
	return fmt.Errorf("%s: byte %d: %w", p.name, p.offset, fmt.Errorf(format, args...))
}

func (p *ply) number(t dtype.Type) (float64, error) {
	if !p.binary {
		token := p.text.next()
		if token == nil {
			return 0, p.errorf("the file ends; want all rows that the header says")
		}
		v, err := strconv.ParseFloat(string(token), 64)
		if err != nil {
			return 0, p.errorf("%q; want a number", shorten(token))
		}
		return v, nil
	}
	if len(p.data)-p.offset < t.Size {
		return 0, p.errorf("the file ends; want all rows that the header says")
	}
	var raw [8]byte
	b := raw[:copy(raw[:t.Size], p.data[p.offset:])]
	p.offset += t.Size
	if p.bigEndian {
		dtype.Swap(b, t.Size)
	}
	var v [1]float64
	dtype.Decode(v[:], b, t)
	return v[0], nil
}

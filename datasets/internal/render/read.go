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
		return nil, fmt.Errorf("%s: unknown extension %q of a mesh; want one of %s", name, filepath.Ext(name), strings.Join(Formats(), ", "))
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
	name string
	data []byte
	at   int
	line int // line of at, from 1

	joined bool // a backslash at the end of a line continues the line
}

func newText(name string, data []byte) *text {
	return &text{name: name, data: bytes.TrimPrefix(data, []byte("\ufeff")), line: 1}
}

func (t *text) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", t.name, t.line, fmt.Errorf(format, args...))
}

// token returns the next token of the line, or nil at the end of the line.
func (t *text) token() []byte {
	for t.at < len(t.data) {
		if n := t.joint(); n > 0 {
			t.at += n
			t.line++
		} else if blank(t.data[t.at]) {
			t.at++
		} else {
			break
		}
	}
	start := t.at
	for t.at < len(t.data) && t.data[t.at] != '\n' && !blank(t.data[t.at]) && t.joint() == 0 {
		if t.data[t.at] == '#' {
			token := t.data[start:t.at]
			for t.at < len(t.data) && t.data[t.at] != '\n' {
				t.at++
			}
			if len(token) == 0 {
				return nil
			}
			return token
		}
		t.at++
	}
	if start == t.at {
		return nil
	}
	return t.data[start:t.at]
}

// joint returns the length of a backslash and the line end after it, or 0 if they do not come next.
func (t *text) joint() int {
	rest := t.data[t.at:]
	switch {
	case !t.joined || rest[0] != '\\':
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
	i := bytes.IndexByte(t.data[t.at:], '\n')
	if i < 0 {
		t.at = len(t.data)
		return false
	}
	t.at += i + 1
	t.line++
	return t.at < len(t.data)
}

// next returns the next token of this or a later line, or nil at the end of the file.
func (t *text) next() []byte {
	for {
		if token := t.token(); token != nil {
			return token
		}
		if t.at >= len(t.data) || !t.endLine() {
			return nil
		}
	}
}

func (t *text) coordinate(token []byte) (float64, error) {
	v, err := strconv.ParseFloat(string(token), 64)
	if err != nil || !(math.Abs(v) <= maxCoordinate) {
		return 0, t.errorf("coordinate %q; want a number of at most %g", shown(token), maxCoordinate)
	}
	return v, nil
}

// shown shortens a token for an error.
func shown(token []byte) []byte { return token[:min(len(token), 40)] }

// fan adds the triangles of a polygon.
func (m *Mesh) fan(corners []int32) {
	for i := 2; i < len(corners); i++ {
		m.Triangles = append(m.Triangles, [3]int32{corners[0], corners[i-1], corners[i]})
	}
}

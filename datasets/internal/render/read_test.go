package render_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	. "github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/internal/must"
)

const modelnet = "../../public/testdata/modelnet"

// files returns the members of the golden zip file by name.
func files(t testing.TB) map[string][]byte {
	t.Helper()
	z := must.Get(zip.OpenReader(filepath.Join(modelnet, "ModelNet40.zip")))(t)
	defer z.Close()
	found := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		must.OK(t, err)
		if found[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	return found
}

func TestReadModelNet(t *testing.T) {
	var expected map[string]json.RawMessage
	must.ReadJSON(t, filepath.Join(modelnet, "expected.json"), &expected)
	members, seen := files(t), 0
	for name, raw := range expected {
		if !strings.HasSuffix(name, ".off") {
			continue
		}
		var want struct {
			Vertices, Triangles int
			Minimum, Maximum    [3]float64
			Area                float64
			First               [3]float64 `json:"first_vertex"`
			Last                [3]int32   `json:"last_triangle"`
		}
		must.OK(t, json.Unmarshal(raw, &want))
		seen++
		m, err := Decode(name, members[name])
		if err != nil {
			t.Error(err)
			continue
		}
		low, high := m.Vertices[0], m.Vertices[0]
		for _, v := range m.Vertices {
			for k := range v {
				low[k], high[k] = min(low[k], v[k]), max(high[k], v[k])
			}
		}
		if len(m.Vertices) != want.Vertices || len(m.Triangles) != want.Triangles || low != want.Minimum || high != want.Maximum ||
			m.Vertices[0] != want.First || m.Triangles[len(m.Triangles)-1] != want.Last || !(math.Abs(area(m)-want.Area) <= 1e-4*want.Area) {
			t.Errorf("%s: %d vertices, %d triangles, %v to %v, area %v; want %+v", name, len(m.Vertices), len(m.Triangles), low, high, area(m), want)
		}
	}
	must.Equal(t, seen, 6, "meshes")
}

// area returns the area of all triangles.
func area(m *Mesh) float64 {
	sum := 0.0
	for _, t := range m.Triangles {
		a, b, c := m.Vertices[t[0]], m.Vertices[t[1]], m.Vertices[t[2]]
		var u, v [3]float64
		for k := range 3 {
			u[k], v[k] = b[k]-a[k], c[k]-a[k]
		}
		sum += math.Hypot(math.Hypot(u[1]*v[2]-u[2]*v[1], u[2]*v[0]-u[0]*v[2]), u[0]*v[1]-u[1]*v[0]) / 2
	}
	return sum
}

func TestBrokenModelNet(t *testing.T) {
	tests := map[string]string{
		"counts.off": "ends before face|counts say|corners", "index.off": `vertex "8"; want 0 to 7`, "negative.off": `vertex "-1"`, "two.off": "at least 3", "magic.off": "want OFF",
		"huge.off": "2000000000 vertices; want at most", "nan.off": `coordinate "nan"`, "empty.off": "empty file", "binary.off": "binary OFF", "truncated.off": "file ends",
	}
	for name, want := range tests {
		path := filepath.Join(modelnet, "broken", name)
		_, err := ReadFile(path)
		if err == nil || !strings.HasPrefix(err.Error(), path+":") {
			t.Errorf("%s: error %v", name, err)
			continue
		}
		matched := false
		for part := range strings.SplitSeq(want, "|") {
			matched = matched || strings.Contains(err.Error(), part)
		}
		if !matched {
			t.Errorf("error %v; want %s", err, want)
		}
	}
}

// pyramid is the mesh in most files below: a square and four triangles, with vertices 0 to 4.
var pyramid = &Mesh{
	Vertices:  [][3]float64{{-1, 0, -1}, {1, 0, -1}, {1, 0, 1}, {-1, 0, 1}, {0, 1.5, 0}},
	Triangles: [][3]int32{{0, 1, 2}, {0, 2, 3}, {0, 4, 1}, {1, 4, 2}, {2, 4, 3}, {3, 4, 0}},
}

const offBody = "-1 0 -1\n1 0 -1\n1 0 1\n-1 0 1\n0 1.5 0\n4 0 1 2 3\n3 0 4 1\n3 1 4 2\n3 2 4 3\n3 3 4 0"

func TestReadText(t *testing.T) {
	tests := []struct{ about, name, data string }{
		{"plain", "a.off", "OFF\n5 5 0\n" + offBody},
		{"glued, CRLF, byte-order mark", "a.OFF", "\ufeff" + strings.ReplaceAll("OFF5 5 0\n"+offBody+"\n", "\n", "\r\n")},
		{"comments, blank lines, no edges", "a.off", "# one\n\nOFF # two\n\n 5\t5\n#three\n" + strings.ReplaceAll(offBody, "\n", " # c\n\n")},
		{"colours of vertices and faces", "a.off", "COFF\n5 5 8\n-1 0 -1 255 0 0 1\n1 0 -1 255 0 0 1\n1 0 1 0 0 0 1\n-1 0 1 1 1 1 1\n0 1.5 0 0 0 0 0\n4 0 1 2 3 255 0 0\n3 0 4 1 0.5 0.5 0.5 1\n3 1 4 2 7\n3 2 4 3\n3 3 4 0"},
		{"a face over two lines", "a.off", "OFF 5 5 0\n" + strings.Replace(offBody, "4 0 1", "4 0\n1", 1)},
		{"obj", "a.obj", "# c\nmtllib a.mtl\no x\nv -1 0 -1\nv 1 0 -1 1.0\nv 1 0 1 0.5 0.5 0.5\nv -1 0 1\nv 0 1.5 0\nvt 0 0\ns 1\nusemtl q\ng a b\nf 1 2 3 4\nf 1/1 5/1 2/1\nf 2 5 3\nl 1 2\nf 3 5 \\\n 4\nf -2 -1 -5\n"},
		{"obj, CRLF and a divided line", "a.obj", "v -1 0 -1\r\nv 1 0 -1\r\nv 1 0 1\r\nv -1 0 1\r\nv 0 1.5 0\r\nf 1 2 \\\r\n 3 4\r\nf 1 5 2\r\nf 2 5 3\r\nf 3 5 4\r\nf 4 5 1\r\n"},
		{"obj, faces first", "a.obj", "f 1 2 3 4\nf 1 5 2\nf 2 5 3\nf 3 5 4\nf 4 5 1\nv -1 0 -1\nv 1 0 -1\nv 1 0 1\nv -1 0 1\nv 0 1.5 0"},
		{"obj, normals of some", "a.obj", "v -1 0 -1\nv 1 0 -1\nv 1 0 1\nv -1 0 1\nv 0 1.5 0\nvn 0 -1 0\nf 1//1 2//1 3//1 4//1\nf 1 5 2\nf 2 5 3\nf 3 5 4\nf 4 5 1"},
		{"ply", "a.ply", "ply\nformat ascii 1.0\ncomment c\nelement vertex 5\nproperty float x\nproperty float y\nproperty uchar red\nproperty double z\nelement face 5\nproperty uchar q\nproperty list uchar int vertex_indices\nelement edge 1\nproperty int a\nproperty list char short b\nend_header\n" +
			"-1 0 9 -1\n1 0 9 -1\n1 0 9 1\n-1 0 9 1\n0 1.5 9 0\n7 4 0 1 2 3\n7 3 0 4 1\n7 3 1 4 2\n7 3 2 4 3\n7 3 3 4 0\n5 2 1 1\n"},
	}
	for _, test := range tests {
		m, err := Decode(test.name, []byte(test.data))
		if err != nil {
			t.Errorf("%s: %v", test.about, err)
		} else if !reflect.DeepEqual(m.Vertices, pyramid.Vertices) || !reflect.DeepEqual(m.Triangles, pyramid.Triangles) || m.Normals != nil {
			t.Errorf("%s: %+v", test.about, m)
		}
	}
}

func TestOBJNormals(t *testing.T) {
	m, err := Decode("a.obj", []byte("v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\nvn 0 1 0\nf 1//1 2//1 3//1\nf 1//2 3/7/-1 -2//2\n"))
	must.OK(t, err)
	want := &Mesh{
		Vertices:  [][3]float64{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 0}, {0, 1, 0}, {1, 0, 0}},
		Normals:   [][3]float64{{0, 0, 1}, {0, 0, 1}, {0, 0, 1}, {0, 1, 0}, {0, 1, 0}, {0, 1, 0}},
		Triangles: [][3]int32{{0, 1, 2}, {3, 4, 5}},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v, want %+v", m, want)
	}
}

// stl returns a mesh as binary and as text STL.
func stl(m *Mesh, title string) (binaries, texts []byte) {
	b := make([]byte, 80, 84+50*len(m.Triangles))
	copy(b, title)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.Triangles)))
	var s strings.Builder
	fmt.Fprintf(&s, "solid %s\n", title)
	for _, t := range m.Triangles {
		b = append(b, make([]byte, 12)...)
		s.WriteString("  facet normal nan 0 0\n    outer loop\n")
		for _, v := range t {
			for _, x := range m.Vertices[v] {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
			}
			fmt.Fprintf(&s, "      vertex %e %g %g\n", m.Vertices[v][0], m.Vertices[v][1], m.Vertices[v][2])
		}
		b = append(b, 0, 0)
		s.WriteString("    endloop\n  endfacet\n")
	}
	fmt.Fprintf(&s, "endsolid %s\n", title)
	return b, []byte(s.String())
}

func TestReadSTL(t *testing.T) {
	b, s := stl(pyramid, "solid of a program that says solid")
	spaces, _ := stl(pyramid, "solid"+strings.Repeat(" ", 75))
	trailing, _ := stl(pyramid, "by hand")
	for about, data := range map[string][]byte{
		"binary, solid": b, "text": s, "text, CRLF": bytes.ReplaceAll(s, []byte("\n"), []byte("\r\n")), "text, upper case": bytes.ToUpper(s),
		"binary, solid and spaces": spaces, "binary, bytes behind": append(trailing, "more"...), "two solids": append(s, "solid\nendsolid"...),
	} {
		m, err := Decode("a.stl", data)
		if err != nil {
			t.Errorf("%s: %v", about, err)
			continue
		}
		corners := func(m *Mesh) (all [][3]float64) {
			for _, t := range m.Triangles {
				all = append(all, m.Vertices[t[0]], m.Vertices[t[1]], m.Vertices[t[2]])
			}
			return all
		}
		if len(m.Vertices) != 5 || !reflect.DeepEqual(corners(m), corners(pyramid)) {
			t.Errorf("%s: %+v", about, m)
		}
	}
}

// ply returns the pyramid as a binary PLY file with normals, and with other properties of every type.
func ply(order binary.AppendByteOrder, name string) []byte {
	b := []byte("ply\nformat " + name + " 1.0\nobj_info x\nelement dust 2\nproperty list ushort double d\nproperty char c\n" +
		"element vertex 5\nproperty int8 a\nproperty float x\nproperty double y\nproperty float32 z\nproperty short b\nproperty float nx\nproperty float ny\nproperty float nz\n" +
		"element face 5\nproperty list int float f\nproperty list uint8 uint32 vertex_index\nproperty uchar u\nend_header\n")
	b = append(order.AppendUint64(order.AppendUint16(b, 1), 7), 1)
	b = append(order.AppendUint16(b, 0), 2)
	float := func(v float64) { b = order.AppendUint32(b, math.Float32bits(float32(v))) }
	for i, v := range pyramid.Vertices {
		b = append(b, 5)
		float(v[0])
		b = order.AppendUint64(b, math.Float64bits(v[1]))
		float(v[2])
		b = order.AppendUint16(b, 3)
		for range 2 {
			float(float64(i))
		}
		if i == 4 {
			float(math.NaN())
		} else {
			float(2)
		}
	}
	for _, corners := range [][]uint32{{0, 1, 2, 3}, {0, 4, 1}, {1, 4, 2}, {2, 4, 3}, {3, 4, 0}} {
		b = order.AppendUint32(b, 1)
		float(0.5)
		b = append(b, byte(len(corners)))
		for _, c := range corners {
			b = order.AppendUint32(b, c)
		}
		b = append(b, 1)
	}
	return b
}

func TestReadBinaryPLY(t *testing.T) {
	for name, order := range map[string]binary.AppendByteOrder{"binary_little_endian": binary.LittleEndian, "binary_big_endian": binary.BigEndian} {
		m, err := Decode("a.ply", ply(order, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		normals := [][3]float64{{0, 0, 2}, {1, 1, 2}, {2, 2, 2}, {3, 3, 2}, {}}
		if !reflect.DeepEqual(m, &Mesh{Vertices: pyramid.Vertices, Triangles: pyramid.Triangles, Normals: normals}) {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestReadErrors(t *testing.T) {
	b, s := stl(pyramid, "by hand")
	bad := bytes.Clone(b)
	binary.LittleEndian.PutUint32(bad[84+12:], math.Float32bits(float32(math.Inf(1))))
	many := bytes.Clone(b)
	binary.LittleEndian.PutUint32(many[80:], 4e9)
	head := "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
	binaryPLY := ply(binary.LittleEndian, "binary_little_endian")
	tests := []struct{ name, data, want string }{
		{"a.txt", "", `a.txt: unknown extension ".txt" of a mesh; want one of .off, .obj, .stl, .ply`},
		{"a.off", "4OFF 1 1 1", `a.off:1: the file begins with "4OFF"; want OFF with three coordinates`},
		{"a.off", "OFF\n3 x                    ", `a.off:2: "x" faces; want a number of at least 1`},
		{"a.off", "OFF\n1 9 0\n0 0 0\n", `a.off:2: 9 faces; want at most`},
		{"a.off", "OFF\n3 1 0\n0 0 0\n1 1e40 1\n2 2 2\n3 0 1 2", `a.off:4: coordinate "1e40"; want a number of at most 1e+30`},
		{"a.off", "OFF\n3 1 0\n0 0 0\n1 1 1\n2 2 2\n3 0 1 3", `a.off:6: face 0 has the vertex "3"; want 0 to 2`},
		{"a.obj", "v 1 2\n", "a.obj:1: 2 coordinates; want 3"},
		{"a.obj", "v 1 2 3\nf 1 1\n", "a.obj:2: face of 2 corners; want at least 3"},
		{"a.obj", "v 1 2 3\nv 1 2 \\\n 3\nf 1 1 0\n", `a.obj:4: vertex "0" of a face; want 1 or more, or -1 to -2`},
		{"a.obj", "v 1 2 3\n\nf 1 -2 1\n", `a.obj:3: vertex "-2" of a face`},
		{"a.obj", "v 1 2 3\nf 1 9 1\nv 1 2 3\n", `a.obj:2: face with vertex 9; the file has 2 vertices`},
		{"a.obj", "v 1 2 3\nf 1//1 1//1 1//1\n", `a.obj:2: face with normal 1`},
		{"a.obj", "v 1 2 3\n", `a.obj: a mesh without faces`},
		{"a.stl", "hello", "a.stl: 5 bytes that do not begin with solid"},
		{"a.stl", string(bad), "a.stl: byte 96: coordinate +Inf of triangle 0"},
		{"a.stl", string(many), "a.stl: byte 80: 4000000000 triangles, which take 200000000000 bytes; want at most the 6"},
		{"a.stl", string(s[:200]), "a.stl:"},
		{"a.stl", "solid\nfacet\nouter\nvertex 1 2 x\n", `a.stl:4: coordinate "x"`},
		{"a.stl", "solid\nfacet\nouter\nvertex 1 2 3\nendfacet", `a.stl:5: facet of 1 vertices; want at least 3`},
		{"a.stl", "solid\nvertex 1 2 3\n", `a.stl:2: "vertex" outside of a facet`},
		{"a.ply", "plx\n", `a.ply:1: the file begins with "plx"; want ply`},
		{"a.ply", "ply\nformat ascii 2.0\n", `a.ply:2: format ascii in version "2.0"; want 1.0`},
		{"a.ply", "ply\nformat ascii 1.0\nelement vertex 3\nproperty float128 x\n", `a.ply:4: property of type "float128"`},
		{"a.ply", "ply\nformat ascii 1.0\nelement vertex 3\nproperty list float int x\n", `a.ply:4: length of a list of unknown type`},
		{"a.ply", "ply\nformat ascii 1.0\nelement vertex 2000000000\nproperty float x\nend_header\n", `a.ply:6: 2000000000 rows of element vertex; want at most`},
		{"a.ply", "ply\nformat ascii 1.0\nelement vertex 0\nelement tristrips 0\nend_header\n", `elements vertex, tristrips; want vertex and face`},
		{"a.ply", "ply\nelement face 0\nelement vertex 0\nend_header\n", `format ""; want ascii`},
		{"a.ply", head + "0 0 0 1 1 1 2 2 inf 3 0 1 2", "a.ply:10: coordinate +Inf of vertex 2"},
		{"a.ply", head + "0 0 0\n1 1 1\n2 2 2\n3 0 1 3", "a.ply: triangle 0 has the vertex 3; want 0 to 2"},
		{"a.ply", head + "0 0 0\n1 1 1\n2 2 2\n3 0 1 -2", "a.ply:13: face with the vertex -2"},
		{"a.ply", head + "0 0 0\n1 1 1\n2 2 2\n2 0 1 9 9", "a.ply:13: face of 2 corners"},
		{"a.ply", head + "0 0 0\n1 1 1\n2 2 2\n9 0 1 2", "a.ply:13: the file ends; want all rows that the header says (element face, row 0 of 1)"},
		{"a.ply", string(binaryPLY[:len(binaryPLY)-9]), "the file ends; want all rows"},
	}
	for _, test := range tests {
		_, err := Decode(test.name, []byte(test.data))
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), test.name) {
			t.Errorf("%s %.30q: error %v; want %s", test.name, test.data, err, test.want)
		}
	}
}

// fuzz checks that a reader only accepts valid meshes no larger than their file allows.
func fuzz(f *testing.F, name string) {
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(name, data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), name+":") {
				t.Errorf("error %v; want it to name the file", err)
			}
			return
		}
		if err := m.Check(); err != nil {
			t.Error(err)
		}
		if len(m.Vertices)+len(m.Triangles) > len(data) || len(m.Triangles) == 0 {
			t.Errorf("%d vertices and %d triangles of %d bytes", len(m.Vertices), len(m.Triangles), len(data))
		}
		m.Smooth(30)
	})
}

func FuzzOFF(f *testing.F) {
	for _, data := range files(f) {
		f.Add(data)
	}
	f.Add([]byte("COFF 5 5 0\n" + offBody))
	fuzz(f, "a.off")
}

func FuzzOBJ(f *testing.F) {
	f.Add([]byte("v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\nvn 0 1 0\nf 1//1 2//1 3//1\nf 1//2 3/7/-1 -2//2\n"))
	f.Add([]byte("v 1 2 3 \\\nv 0 0 0\nf 1 1 \\\n 1 -1\n"))
	fuzz(f, "a.obj")
}

func FuzzSTL(f *testing.F) {
	b, s := stl(pyramid, "solid")
	f.Add(b)
	f.Add(s)
	fuzz(f, "a.stl")
}

func FuzzPLY(f *testing.F) {
	f.Add(ply(binary.LittleEndian, "binary_little_endian"))
	f.Add(ply(binary.BigEndian, "binary_big_endian"))
	f.Add([]byte("ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0 1 1 1 2 2 0 3 0 1 2"))
	fuzz(f, "a.ply")
}

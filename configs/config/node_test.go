package config

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestDecodeNeedsPointer(t *testing.T) {
	n := must.Get(Parse("x.yaml", []byte("a: 1")))(t)
	for _, dst := range []any{nil, 3, experiment{}, (*experiment)(nil)} {
		if err := n.Decode(dst); err == nil {
			t.Errorf("%T: no error", dst)
		}
	}
	var unsupported struct{ A chan int }
	must.Error(t, n.Decode(&unsupported), "chan int")
	var bare struct{ A registry.Choice[dataset] }
	must.Error(t, n.Decode(&bare), "DecodeChoice")
}

func TestPointers(t *testing.T) {
	type inner struct{ A, B int }
	shared := &inner{1, 2}
	v := struct{ P, Q, R *inner }{P: shared, Q: shared}
	must.OK(t, Load("x", []byte("p: {a: 5}\nq: null\nr: {b: 1}"), &v))
	if *v.P != (inner{5, 2}) || v.Q != nil || *v.R != (inner{0, 1}) || *shared != (inner{1, 2}) {
		t.Errorf("got %+v %+v %+v, shared %+v", v.P, v.Q, v.R, shared)
	}
}

func TestNode(t *testing.T) {
	n := must.Get(Parse("x.yaml", []byte("a: {b: [1, null]}\nc: text")))(t)
	if !n.IsMap() || !reflect.DeepEqual(n.Keys(), []string{"a", "c"}) || n.Get("x") != nil || !n.Get("c").IsScalar() {
		t.Errorf("node %+v", n)
	}
	list := n.Get("a").Get("b")
	if !list.IsList() || len(list.Items()) != 2 || !list.Items()[1].IsNull() || list.Path() != "a.b" || list.Items()[1].Path() != "a.b.1" {
		t.Errorf("list %+v", list)
	}
	for want, err := range map[string]error{
		"x.yaml:1:8: a.b: wrong 3":                              list.Errorf("wrong %d", 3),
		"x.yaml:1:9: a.b.0: wrong":                              n.Invalid("a.b.0", "wrong"),
		"x.yaml:1:5: a.b: wrong":                                n.Get("a").Invalid("b", "wrong"),
		"x.yaml:1:1: a.x.y: wrong (the config does not set it)": n.Invalid("a.x.y", "wrong"),
		"x.yaml:1:5: a.b.7: wrong (the config does not set it)": n.Invalid("a.b.7", "wrong"),
	} {
		must.Equal(t, err.Error(), want, err)
	}
}

// Numbers in other bases are numbers.
func TestNumbers(t *testing.T) {
	var v struct {
		F []float64
		I []int
	}
	src := "f: [0x10, 0b11, 0o17, -.inf, .Inf, +1, 1., .5e-3, -0]\ni: [0x10, 0b11, 0o17, -0, +7]"
	must.OK(t, Load("x", []byte(src), &v))
	wantF := []float64{16, 3, 15, math.Inf(-1), math.Inf(1), 1, 1, 5e-4, 0}
	if !reflect.DeepEqual(v.F, wantF) || !reflect.DeepEqual(v.I, []int{16, 3, 15, 0, 7}) {
		t.Errorf("got %v %v", v.F, v.I)
	}
}

// A value on one line reads as the same value.
func TestInline(t *testing.T) {
	for src, want := range map[string]string{
		"a: 1\nb:\n  - x\n  - {c: 1.50}": "{a: 1, b: [x, {c: 1.50}]}", "'1'": `"1"`, "": "null", "[]": "[]", "{}": "{}", "- null\n- true": "[null, true]",
		"\"a, b\"": `"a, b"`, "'{'": `"{"`, "|\n x\n y\n": `"x\ny\n"`,
		"- a, b\n- c]": `["a, b", "c]"]`, "k: x{y": `{k: "x{y"}`, "- 1e3\n- yes": "[1e3, yes]",
	} {
		n := must.Get(Parse("x", []byte(src)))(t)
		must.Equal(t, n.Inline(), want, src)
		again, err := Parse("x", []byte(want))
		if err != nil || again.Inline() != want {
			t.Errorf("%s again: %s, %v", want, again.Inline(), err)
		}
	}
	if n, err := Parse("x", []byte(`"a \" b"`)); err != nil || n.Text() != `a " b` {
		t.Errorf("text: %v", err)
	}
}

// An error about a missing file says where relative paths begin.
func TestNearMissingFile(t *testing.T) {
	n := must.Get(Parse("x.yaml", []byte("a: {b: 1}")))(t)
	dir := t.TempDir()
	t.Chdir(dir)
	here := "; relative paths begin in the current folder, " + dir
	for path, hint := range map[string]string{"none": here, filepath.Join(dir, "none"): ""} {
		_, err := os.Open(path)
		got, want := n.Near("a.b", err), fmt.Sprintf("x.yaml:1:5: a.b: %v%s", err, hint)
		if got.Error() != want || !errors.Is(got, fs.ErrNotExist) {
			t.Errorf("%v, want %s", got, want)
		}
	}
}

package similarity

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestRead(t *testing.T) {
	names := Rows{Count: 4, Find: func(name string) (int, bool) {
		n := strings.Index("abcd", strings.TrimSuffix(name, ".png"))
		return n, n >= 0 && len(name) == 5
	}}
	tests := []struct {
		name, text string
		rows       Rows
		want       []Answer
		open       []Answer
	}{
		{"numbers", "0,1.0,x,same\n2,3,y,different\n", Rows{Count: 4}, []Answer{{0, 1, 0, true, 1}, {2, 3, 1, false, 2}}, nil},
		{"header, mark, CRLF", "\ufeffrow,row,factor,Answer\r\n1 , 0,x, SAME\r\n", Rows{Count: 2}, []Answer{{1, 0, 0, true, 2}}, nil},
		{"semicolons, quotes, empty lines", "0;1;\"a, b\";same\n\n\n1;1;x;same", Rows{Count: 2}, []Answer{{0, 1, 0, true, 1}, {1, 1, 1, true, 4}}, nil},
		{"tabs, open questions", "0\t1\tx\t\n0\t1\tx\t?\n1\t0\tx\tdifferent", Rows{Count: 2}, []Answer{{1, 0, 0, false, 3}}, []Answer{{0, 1, 0, false, 1}, {0, 1, 0, false, 2}}},
		{"names", "a.png,3,x,same\nd.png,b.png,x,different\n", names, []Answer{{0, 3, 0, true, 1}, {3, 1, 0, false, 2}}, nil},
		{"index, UTF-16", "\xff\xfe,\x00r\x00,\x00r\x00,\x00f\x00,\x00a\x00n\x00s\x00w\x00e\x00r\x00\n\x000\x00,\x001\x00,\x000\x00,\x00x\x00,\x00s\x00a\x00m\x00e\x00", Rows{Count: 2}, []Answer{{1, 0, 0, true, 2}}, nil},
		{"nothing", "", Rows{Count: 1}, nil, nil},
	}
	for _, test := range tests {
		a, err := Read(strings.NewReader(test.text), "f.csv", test.rows)
		if err != nil || !reflect.DeepEqual(a.List, test.want) || !reflect.DeepEqual(a.Open, test.open) {
			t.Errorf("%s: %+v, error %v; want %v, open %v", test.name, a, err, test.want, test.open)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for text, want := range map[string]string{
		"0,1,x":                            "f.csv:1:1: there are 3 fields; want four, row,row,factor,answer",
		"0,1,x,same,5":                     "f.csv:1:1: there are 5 fields",
		"0,1,x,same\n0,9,x,same":           "f.csv:2:3: there is no row 9; want 0 to 4",
		"0,1,x,same\n-1,0,x,same":          "f.csv:2:1: there is no row -1; want 0 to 4",
		"99999999999999999999,0,x,":        "f.csv:1:1: there is no row 99999999999999999999; want 0 to 4",
		"0,1.5,x,same":                     `f.csv:1:3: "1.5" is not a row; want a whole number from 0 to 4`,
		"0,1,x," + strings.Repeat("é", 60): `f.csv:1:7: "` + strings.Repeat("é", 60) + `" is not an answer`,
		"0,1,x," + strings.Repeat("é", 61): `f.csv:1:7: "` + strings.Repeat("é", 57) + `..." is not an answer`,
		"0,1,x,sane":                       `f.csv:1:7: "sane" is not an answer; want same, different`,
		"0,1,x,same\n0,1,f,answer":         `f.csv:2:7: "answer" is not an answer`,
		"0,1,,same":                        "f.csv:1:5: the factor has no name",
		"0,1,\"x,same":                     "f.csv:1:12: extraneous or missing \" in quoted-field; want row,row,factor,answer",
		"0,1,x\"y,same":                    "f.csv:1:6: bare \" in non-quoted-field",
		"nothing":                          "f.csv:1:1: there are 1 fields",
		strings.Repeat("x", 100) + ",":     "f.csv:1:1: there are 2 fields",
	} {
		if _, err := Read(strings.NewReader(text), "f.csv", Rows{Count: 5}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	var many strings.Builder
	for n := range 1001 {
		fmt.Fprintf(&many, "0,1,f%d,same\n", n)
	}
	if _, err := Read(strings.NewReader(many.String()), "f.csv", Rows{Count: 5}); err == nil ||
		err.Error() != `f.csv:1001:5: "f1000" is factor 1001; want at most 1000 factors` {
		t.Error(err)
	}
	must.OK(t, (&Answers{Rows: 1 << 29, Factors: []string{"a", "b"}}).Validate())
	must.OK(t, (&Answers{Rows: 1 << 30, Factors: []string{"a"}}).Validate())
	must.Error(t, (&Answers{Rows: 1 << 29, Factors: []string{"a", "b", "c"}}).Validate(), "want at most 2 factors for this number of rows")
	named := Rows{Count: 5, Find: func(string) (int, bool) { return 0, false }}
	if _, err := Read(strings.NewReader("u.png,1,x,same"), "f.csv", named); err == nil ||
		err.Error() != `f.csv:1:1: no row has the name "u.png"; want the name of a file, or a number from 0 to 4` {
		t.Error(err)
	}
	must.ErrorOf(Read(strings.NewReader(""), "f.csv", Rows{}))(t, "about 0 rows; want 1 to")
	if _, err := ReadFile("nothing.csv", Rows{Count: 1}); err == nil {
		t.Error("a file that does not exist is read")
	}
}

// FuzzRead checks that Unite takes all accepted answers, and that Write and Read return them unchanged.
func TestWriteMistakes(t *testing.T) {
	a := &Answers{Rows: 2, Factors: []string{"x"}, List: []Answer{{A: 0, B: 1, Factor: 1}}}
	must.Error(t, Write(&bytes.Buffer{}, a, nil), "answer 0 is about rows 0 and 1 and factor 1; want rows 0 to 1 and factors 0 to 0")
}

func FuzzRead(f *testing.F) {
	f.Add("0,1,x,same\n1,2,x,different\n2,0,x,same\n")
	f.Add("row;row;factor;answer\n0;0;\"a\"\"b\";\n3;1;u;?\n")
	f.Add("\ufeff7\t7\tx\tdifferent")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Read(strings.NewReader(text), "f.csv", Rows{Count: 8})
		if err != nil {
			return
		}
		var out bytes.Buffer
		must.OK(t, Write(&out, a, nil))
		again, err := Read(&out, "g.csv", Rows{Count: 8})
		if err != nil || len(again.List) != len(a.List) || len(again.Open) != len(a.Open) {
			t.Fatalf("%q was read, then %+v: %v", text, again, err)
		}
		for n, x := range again.List {
			x.Line, x.Factor = a.List[n].Line, a.List[n].Factor
			if name := again.Factors[again.List[n].Factor]; x != a.List[n] || name != a.Factors[x.Factor] && !strings.Contains(name, "\n") {
				t.Fatalf("answer %d of %q became %+v of %q", n, text, x, name)
			}
		}
		for _, o := range []Options{{}, {Conflicts: ConflictsDrop}, {Conflicts: ConflictsMajority}, {Noise: 0.2}} {
			if _, err := Unite(a, o); err != nil && o.Conflicts+Conflicts(fmt.Sprint(o.Noise)) != "0" {
				t.Fatalf("%+v: %v", o, err)
			}
		}
	})
}

// many returns answers about pairs of rows, a fraction of them wrong.
func many(count, rows, levels int, wrong float64) *Answers {
	a, state := &Answers{Rows: rows, Factors: []string{"x", "y"}}, uint64(1)
	next := func(n int) int {
		state = state*6364136223846793005 + 1442695040888963407
		return int((state >> 33) % uint64(n))
	}
	for range count {
		x := Answer{A: int32(next(rows)), B: int32(next(rows)), Factor: int32(next(2))}
		if x.A == x.B {
			continue
		}
		x.Same = (int(x.A)%levels == int(x.B)%levels) != (float64(next(1000)) < 1000*wrong)
		a.List = append(a.List, x)
	}
	return a
}

func BenchmarkRead(b *testing.B) {
	var text bytes.Buffer
	must.OK(b, Write(&text, many(1<<20, 500000, 10, 0), nil))
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := Read(bytes.NewReader(text.Bytes()), "f.csv", Rows{Count: 500000}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnite(b *testing.B) {
	for name, o := range map[string]Options{"error": {}, "majority": {Conflicts: ConflictsMajority}, "noise": {Noise: 0.05}} {
		b.Run(name, func(b *testing.B) {
			wrong := 0.05
			if name == "error" {
				wrong = 0
			}
			a := many(1<<20, 100000, 10, wrong)
			for b.Loop() {
				if _, err := Unite(a, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package hierarchy

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestParseMistakes(t *testing.T) {
	deep := strings.Repeat(`[{"type":"categorical","options":[`, 64) + "[]" + strings.Repeat(`]}]`, 64)
	for _, test := range []struct{ text, want string }{
		{``, "1:1: not JSON"},
		{`[`, "1:2: not JSON"},
		{"[\n  {\"type\": continuous}]", "2:12: not JSON"},
		{`[] []`, "1:4: not JSON"},
		{`[{"type":"continuous"},]`, "1:24: not JSON"},
		{`{"type":"continuous"}`, "1:1: want a list of dimensions, got an object"},
		{`null`, "1:1: want a list of dimensions, got <nil>"},
		{`true`, "1:1: want a list of dimensions, got true"},
		{`[3]`, `1:2: $[0]: want a dimension such as {"type": "continuous"}, got the number 3`},
		{`[[]]`, "1:2: $[0]: want a dimension such as {\"type\": \"continuous\"}, got a list"},
		{`["continuous"]`, `got the text "continuous"`},
		{"[{\"type\":\"continuous\"},\n {}]", "2:2: $[1]: there is no type; want continuous or categorical"},
		{`[{"type":"other"}]`, `1:10: $[0].type: want "continuous" or "categorical", got the text "other"`},
		{`[{"type":1}]`, "got the number 1"},
		{`[{"type":"continuous","type":"continuous"}]`, "1:23: $[0]: type appears twice"},
		{`[{"type":"continuous","name":"x"}]`, `1:23: $[0]: unknown key "name"; want type, options or probs`},
		{`[{"Type":"continuous"}]`, `unknown key "Type"`},
		{`[{"type":"continuous","options":[[]]}]`, "1:23: $[0]: a continuous dimension has options"},
		{`[{"type":"continuous","probs":[1]}]`, "1:23: $[0]: a continuous dimension has probs"},
		{`[{"type":"categorical"}]`, "1:2: $[0]: a categorical dimension has no options"},
		{`[{"type":"categorical","options":[]}]`, "1:34: $[0]: a categorical dimension has no options"},
		{`[{"type":"categorical","options":{}}]`, "1:34: $[0].options: want a list of options, each a list of dimensions, got an object"},
		{`[{"type":"categorical","options":[[],{}]}]`, "1:38: $[0].options[1]: want a list of dimensions, got an object"},
		{`[{"type":"categorical","options":[[{"type":"categorical","options":[[],[{"type":"x"}]]}]]}]`,
			`1:81: $[0].options[0][0].options[1][0].type: want "continuous"`},
		{`[{"type":"categorical","options":[[],[]],"probs":[1]}]`, "1:42: $[0]: there are 1 probs; want one for each of the 2 options"},
		{`[{"type":"categorical","options":[[]],"probs":["x"]}]`, `1:48: $[0].probs[0]: want a number of at least 0, got the text "x"`},
		{`[{"type":"categorical","options":[[]],"probs":[-1]}]`, "got the number -1"},
		{`[{"type":"categorical","options":[[]],"probs":[1e999]}]`, "got the number 1e999"},
		{`[{"type":"categorical","options":[[]],"probs":1}]`, "$[0].probs: want a list of numbers"},
		{deep, "groups are nested more than 64 deep"},
		{"[" + strings.Repeat(`{"type":"continuous"},`, maxNodes) + `{"type":"continuous"}]`, "$[4096]: there are more than 4096 dimensions and options"},
		{`[{"type":"categorical","options":[` + strings.Repeat("[],", maxNodes-1) + "[]]}]", "there are more than 4096"},
		{strings.Repeat(" ", maxBytes+1), "the text is longer than 4194304 bytes"},
		{strings.Repeat("[", 20000), "not JSON"},
	} {
		h, err := Parse([]byte(test.text))
		must.Error(t, err, test.want, test.text, h)
	}
}

func TestParse(t *testing.T) {
	h, err := Parse([]byte(" [ {\"options\" : [ [ ] , [\n{\"type\":\"continuous\"}]],\"probs\": [0.5, 5e-1] , \"type\":\"categorical\"}, {\"type\": \"continuous\"} ] \n"))
	if err != nil || !h.Equal(Hierarchy{options(none, Hierarchy{c}), c}) {
		t.Errorf("%v, %v", h, err)
	}
	if h, err := Parse([]byte("[]")); err != nil || h == nil || len(h) != 0 {
		t.Errorf("%v, %v", h, err)
	}
	r := rand.New(rand.NewPCG(9, 9))
	for range 100 {
		h := randomHierarchy(r, 5, 4)
		text := must.Get(json.Marshal(h))(t)
		var back Hierarchy
		if err := json.Unmarshal(text, &back); err != nil || !back.Equal(h) {
			t.Fatalf("%s: %v, %v", text, back, err)
		}
	}
	var inside struct{ H Hierarchy }
	must.Error(t, json.Unmarshal([]byte(`{"H": [{"type": "x"}]}`), &inside), "hierarchy: 1:11: $[0].type")
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.json")
	for text, want := range map[string]string{"[]": "", "\n[}": path +
		":2:2: not JSON", strings.Repeat(" ", maxBytes+5): "the text is longer"} {
		must.Write(t, path, text)
		if _, err := Read(path); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	must.ErrorOf(Read(path+"x"))(t, must.NoFile(t))
}

// A hierarchy that Parse accepts is valid, survives a round trip, and has distance 0 from itself.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"[]", `[{"type":"continuous"}]`, `[{"type":"categorical","options":[[],[{"type":"continuous"}]],"probs":[1,0]}]`,
		`[{"type":"categorical","options":[[{"type":"categorical","options":[[]]}]]},{"type":"continuous"}]`, `[{"type":"other"}]`, "[[", "{}", `[{"options":3}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		h, err := Parse(src)
		if err != nil {
			if place, _, ok := strings.Cut(err.Error(), ": "); !ok || strings.Count(place, ":") != 1 {
				t.Errorf("no place in %q", err)
			}
			return
		}
		if err := h.Validate(); err != nil {
			t.Fatalf("not valid: %v", err)
		}
		text := must.Get(h.MarshalJSON())(t)
		back, err := Parse(text)
		if err != nil || !back.Equal(h) || !json.Valid(src) {
			t.Fatalf("%s: %v, %v", text, back, err)
		}
		if h.Dimensions() != len(h.Names()) || h.Dimensions() < 200 && Distance(h, back) != 0 {
			t.Errorf("%s: %d dimensions", text, h.Dimensions())
		}
	})
}

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/unravel-ml/unravel/cli/internal/docs"
	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train"
)

// schemaOf compiles the schema of a kind of file. The compiler checks it against draft 2020-12.
func schemaOf(t *testing.T, kind string) *jsonschema.Schema {
	t.Helper()
	var out bytes.Buffer
	must.OK(t, docs.WriteSchema(&out, kind))
	document := must.Get(jsonschema.UnmarshalJSON(&out))(t)
	c := jsonschema.NewCompiler()
	must.OK(t, c.AddResource(kind, document))
	return must.Get(c.Compile(kind))(t)
}

// readYAML decodes YAML like an editor.
func readYAML(t *testing.T, source []byte) any {
	t.Helper()
	var v any
	must.OK(t, yaml.Unmarshal(source, &v))
	text, err := json.Marshal(v)
	must.OK(t, err)
	if v, err = jsonschema.UnmarshalJSON(bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSchemaAccepts checks that the schemas accept all files of Unravel.
func TestSchemaAccepts(t *testing.T) {
	long.NotShort(t)
	experiments, sweeps, papers := schemaOf(t, "experiment"), schemaOf(t, "sweep"), schemaOf(t, "table")
	for _, name := range configs.Names() {
		source := must.Get(configs.Read(name))(t)
		if err := experiments.Validate(readYAML(t, source)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c, err := train.Load(name, source)
		must.OK(t, err)
		if source, err = c.Encode(); err != nil { // a run's config with all defaults
			t.Fatal(err)
		}
		if err := experiments.Validate(readYAML(t, source)); err != nil {
			t.Errorf("%s with all defaults: %v", name, err)
		}
	}
	names, err := fs.Glob(configs.Tables(), "*.yaml")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d tables, %v", len(names), err)
	}
	for _, name := range names {
		source := must.Get(fs.ReadFile(configs.Tables(), name))(t)
		if err := papers.Validate(readYAML(t, source)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []struct {
		schema *jsonschema.Schema
		text   string
		want   bool
	}{
		{sweeps, "base: quickstart\nseeds: [0, 1]\nlist: [{name: a, train.epochs: 3}]\nproduct: {train.batch: [50, 100]}\nset: {seed: 4}\n", true},
		{sweeps, "seeds: [0, 1]\n", false},
		{sweeps, "base: quickstart\nproduct: {train.batch: 50}\n", false},
		{sweeps, "base: quickstart\nseeds: [-1]\n", false},
		{experiments, "base: quickstart\nset: {losses.1.kl.weight: 3}\ntrain: {epochs: 3}\n", true},
		{experiments, "base: quickstart\nset: [3]\n", false},
		{experiments, "base: 3\n", false},
		{experiments, "train: {epochs: 3}\n", false},
	} {
		if err := c.schema.Validate(readYAML(t, []byte(c.text))); (err == nil) != c.want {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}

// TestSchemaOpen lists the places in a config where the schema accepts anything, such as a type that decodes itself and
// lists no forms (ConfigForms).
func TestSchemaOpen(t *testing.T) {
	long.NotShort(t)
	var text bytes.Buffer
	must.OK(t, docs.WriteSchema(&text, ""))
	var open []string
	for _, p := range places(readYAML(t, text.Bytes()), "") {
		m, ok := p.value().(map[string]any)
		if above := path.Base(path.Dir(p.path)); !ok || p.key != "items" && p.key != "additionalProperties" &&
			above != "properties" && above != "anyOf" {
			continue
		}
		rest := maps.Clone(m)
		delete(rest, "description")
		delete(rest, "default")
		if len(rest) == 0 {
			open = append(open, path.Base(strings.NewReplacer("/items", "", "/additionalProperties", "", "/anyOf/0", "").Replace(p.path)))
		}
	}
	if want := []string{"kinds", "kinds", "kinds", "set"}; !slices.Equal(open, want) { // kinds of columns may be circular:360, a mapping
		t.Errorf("the schema accepts anything at %q, want %q", open, want)
	}
}

// TestSchemaUnknown checks the error for an unknown kind of file.
func TestSchemaUnknown(t *testing.T) {
	clitest.Mistake(t, clitest.Run(t, "list", "schema", "sweeps"), 2, `there is no schema of "sweeps"; did you mean "sweep"?`)
	clitest.Mistake(t, clitest.Run(t, "list", "schema", "sweep", "a=b"), 2, "unexpected argument a=b")
}

// place is a value in a config: its parent and its key or index.
type place struct {
	parent any
	key    string
	index  int
	path   string
}

func (p place) value() any {
	if m, ok := p.parent.(map[string]any); ok {
		return m[p.key]
	}
	return p.parent.([]any)[p.index]
}

func (p place) set(v any) {
	if m, ok := p.parent.(map[string]any); ok {
		m[p.key] = v
		return
	}
	p.parent.([]any)[p.index] = v
}

// places lists v and the values below it, in order.
func places(v any, at string) (list []place) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, place{v, key, 0, path.Join(at, key)})
			list = append(list, places(v[key], path.Join(at, key))...)
		}
	case []any:
		for i := range v {
			list = append(list, place{v, "", i, path.Join(at, fmt.Sprint(i))})
			list = append(list, places(v[i], path.Join(at, fmt.Sprint(i)))...)
		}
	}
	return list
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, inner := range v {
			m[key] = clone(inner)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, inner := range v {
			list[i] = clone(inner)
		}
		return list
	}
	return v
}

// mutations change a value of a config, and return false if they do not apply. They omit mistakes invisible to a
// schema: rules between keys, ranges other than negative numbers, missing keys that only Validate requires, repeated
// elements, and texts checked by another key, such as names of factors.
var mutations = []struct {
	name  string
	apply func(p place, known map[string]bool) bool
}{
	{"unknown key", func(p place, _ map[string]bool) bool {
		m, ok := p.value().(map[string]any)
		if ok {
			m["no-such-key"] = json.Number("1")
		}
		return ok
	}},
	{"key with a slip", func(p place, _ map[string]bool) bool {
		m, ok := p.parent.(map[string]any)
		if ok {
			m[p.key+"x"] = m[p.key]
			delete(m, p.key)
		}
		return ok
	}},
	{"number becomes a text", func(p place, _ map[string]bool) bool {
		_, ok := p.value().(json.Number)
		p.set("many")
		return ok
	}},
	{"integer becomes a fraction", func(p place, _ map[string]bool) bool {
		n, ok := p.value().(json.Number)
		p.set(json.Number(n.String() + ".5"))
		return ok && !strings.ContainsAny(n.String(), ".eE") && n != "1" // 1.5 is not a fraction of the data
	}},
	{"text becomes a number", func(p place, _ map[string]bool) bool {
		_, ok := p.value().(string)
		p.set(json.Number("7"))
		return ok
	}},
	{"known word becomes an unknown one", func(p place, known map[string]bool) bool {
		text, ok := p.value().(string)
		p.set("no-such-word")
		return ok && known[text]
	}},
	{"truth value becomes a text", func(p place, _ map[string]bool) bool {
		_, ok := p.value().(bool)
		p.set("yes")
		return ok
	}},
	{"list becomes a number", func(p place, _ map[string]bool) bool {
		_, ok := p.value().([]any)
		p.set(json.Number("-3"))
		return ok
	}},
	{"mapping becomes a list", func(p place, _ map[string]bool) bool {
		_, ok := p.value().(map[string]any)
		p.set([]any{true})
		return ok
	}},
	{"element of another kind", func(p place, _ map[string]bool) bool {
		list, ok := p.value().([]any)
		p.set(append(list, map[string]any{"no-such-part": true}))
		return ok
	}},
	{"scalar becomes null", func(p place, _ map[string]bool) bool {
		switch p.value().(type) {
		case map[string]any, []any:
			return false
		}
		p.set(nil)
		return true
	}},
	{"options become null", func(p place, _ map[string]bool) bool {
		m, ok := p.value().(map[string]any)
		p.set(nil)
		return ok && len(m) == 0
	}},
	{"part without options becomes a name", func(p place, _ map[string]bool) bool {
		m, ok := p.value().(map[string]any)
		if !ok || len(m) != 1 {
			return false
		}
		for name, options := range m {
			if o, ok := options.(map[string]any); ok && len(o) == 0 {
				p.set(name)
				return true
			}
		}
		return false
	}},
	{"other seed", func(p place, _ map[string]bool) bool {
		p.set(json.Number("12345"))
		return p.path == "seed"
	}},
	{"negative seed or length", func(p place, _ map[string]bool) bool {
		p.set(json.Number("-1"))
		return slices.Contains([]string{"seed", "train/epochs", "train/batch", "train/clip", "metrics/every"}, p.path)
	}},
	{"no data set", func(p place, _ map[string]bool) bool {
		if m, ok := p.parent.(map[string]any); ok {
			delete(m, p.key)
		}
		return p.path == "dataset" || p.path == "model" || p.path == "losses"
	}},
}

// TestSchemaAgrees changes configs at random. The schema and the strict reader must accept the same configs.
func TestSchemaAgrees(t *testing.T) {
	long.NotShort(t)
	t.Parallel()
	schema := schemaOf(t, "experiment")
	var text bytes.Buffer
	must.OK(t, docs.WriteSchema(&text, ""))
	words := map[string]bool{}
	enums(readYAML(t, text.Bytes()), words)
	r := rand.New(rand.NewPCG(1, 2))
	names := configs.Names()
	sources := map[string]any{}
	for _, name := range names {
		source := must.Get(configs.Read(name))(t)
		sources[name] = readYAML(t, source)
	}
	each := 13
	if long.Enabled() {
		each = 300
	}
	accepted := 0
	for n := 0; n < each*len(mutations); {
		name := names[r.IntN(len(names))]
		config := clone(sources[name])
		list := places(config, "")
		p, m := list[r.IntN(len(list))], mutations[n%len(mutations)]
		if !m.apply(p, words) {
			continue
		}
		n++
		changed := must.Get(json.Marshal(config))(t)
		_, reading := train.LoadWhole(name, changed)
		document := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(changed)))(t)
		checking := schema.Validate(document)
		if (reading == nil) != (checking == nil) {
			t.Errorf("%s: %s at %s: the reader says %v, and the schema %v", name, m.name, p.path, reading, checking)
		}
		if reading == nil {
			accepted++
		}
	}
	if accepted < 2*each || accepted > 6*each {
		t.Errorf("%d of %d configs were accepted", accepted, each*len(mutations))
	}
}

// enums collects the words of all enums in a schema.
func enums(v any, words map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if list, ok := inner.([]any); ok && key == "enum" {
				for _, w := range list {
					words[fmt.Sprint(w)] = true
				}
			}
			enums(inner, words)
		}
	case []any:
		for _, inner := range v {
			enums(inner, words)
		}
	}
}

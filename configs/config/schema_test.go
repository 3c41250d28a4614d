package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/must"
)

// axis is a text type with two words.
type axis string

func (a *axis) UnmarshalText(text []byte) error {
	if *a = axis(text); *a != "row" && *a != "column" {
		return fmt.Errorf("unknown axis %q; known: row, column", text)
	}
	return nil
}

// scene has a key without a default, which Validate requires before it checks the others.
type scene struct {
	Path   string     `yaml:"path" doc:"file"`
	Filter string     `yaml:"filter" doc:"box or hamming"`
	Class  string     `yaml:"class" doc:"such as chair or table"`
	Rows   int        `yaml:"rows" doc:"number of rows"`
	Shift  float64    `yaml:"shift" doc:"offset"`
	Axis   axis       `yaml:"axis" doc:"row or column"`
	Sides  [2]float32 `yaml:"sides"`
	Within *tree      `yaml:"within"`
}

func (s *scene) Validate() error {
	switch {
	case s.Path == "":
		return Invalid("path", "want a file")
	case s.Filter != "box" && s.Filter != "hamming":
		return Invalid("filter", "unknown filter %q; want box or hamming", s.Filter)
	case s.Class != "chair" && s.Class != "table" && s.Class != "bed":
		return Invalid("class", "unknown class %q", s.Class)
	case s.Rows < 1:
		return Invalid("rows", "%d is out of range; want 1 or more", s.Rows)
	}
	return nil
}

// trees is a registry whose parts contain choices of the same registry.
func trees() *registry.Registry[any] {
	return &registry.Registry[any]{Kind: "kind of tree", Entries: []registry.Entry[any]{
		{Name: "leaf", Doc: "an end", Source: "Euler 1736", New: func() any { return &struct{}{} }},
		{Name: "fork", Doc: "two trees", New: func() any { return &fork{Width: 2} }},
	}}
}

type tree struct{ registry.Choice[any] }

func (t *tree) DecodeConfig(n *Node) error { return DecodeChoice(n, trees(), &t.Choice) }

func (tree) ConfigForms() []any {
	c := ChoicesOf(trees())
	c.Parts[1].Short, c.Parts[1].More = "width", map[string]any{"like": Words{"oak", "elm"}}
	return []any{c}
}

type fork struct {
	Width int    `yaml:"width"`
	Trees []tree `yaml:"trees"`
}

func TestSchema(t *testing.T) {
	s := struct {
		Scene scene `yaml:"scene" doc:"what to see"`
	}{scene{Filter: "box", Class: "bed", Rows: 3, Axis: "row"}}
	text := must.Get(Document{Title: "picture", Settings: []any{&s}, Required: []string{"scene"}}.Schema())(t)
	var got map[string]any
	must.OK(t, json.Unmarshal(text, &got))
	at := func(path string) any {
		var v any = got
		for key := range strings.SplitSeq(path, "/") {
			switch w := v.(type) {
			case map[string]any:
				v = w[key]
			case []any:
				var i int
				fmt.Sscan(key, &i)
				v = w[i]
			}
		}
		return v
	}
	for path, want := range map[string]string{
		"title":                                      `"picture"`,
		"required":                                   `["scene"]`,
		"additionalProperties":                       `false`,
		"properties/scene/description":               `"what to see"`,
		"properties/scene/properties/path":           `{"default":"","description":"file","type":"string"}`,
		"properties/scene/properties/filter":         `{"default":"box","description":"box or hamming","enum":["box","hamming"],"type":"string"}`,
		"properties/scene/properties/class":          `{"default":"bed","description":"such as chair or table","type":"string"}`,
		"properties/scene/properties/rows":           `{"default":3,"description":"number of rows","minimum":0,"type":"integer"}`,
		"properties/scene/properties/shift":          `{"default":0,"description":"offset","type":"number"}`,
		"properties/scene/properties/axis":           `{"default":"row","description":"row or column","enum":["row","column"],"type":"string"}`,
		"properties/scene/properties/sides":          `{"default":[0,0],"items":{"type":"number"},"maxItems":2,"minItems":2,"type":"array"}`,
		"properties/scene/properties/within":         `{"anyOf":[{"$ref":"#/$defs/kind-of-tree"},{"type":"null"}]}`,
		"$defs/kind-of-tree/anyOf/0/minProperties":   `1`,
		"$defs/kind-of-tree/anyOf/0/maxProperties":   `1`,
		"$defs/kind-of-tree/anyOf/1":                 `{"enum":["leaf","fork"],"type":"string"}`,
		"$defs/kind-of-tree/anyOf/0/properties/leaf": `{"anyOf":[{"additionalProperties":false,"type":"object"},{"type":"null"}],"description":"an end. Source: Euler 1736"}`,
		"$defs/kind-of-tree/anyOf/0/properties/fork": `{"anyOf":[{"additionalProperties":false,"properties":{` +
			`"like":{"enum":["oak","elm"],"type":"string"},` +
			`"trees":{"default":[],"items":{"$ref":"#/$defs/kind-of-tree"},"type":"array"},` +
			`"width":{"default":2,"type":"integer"}},"type":"object"},{"type":"null"},{"type":"integer"}],"description":"two trees"}`,
	} {
		text, err := json.Marshal(at(path))
		if err != nil || string(text) != want {
			t.Errorf("%s is\n%s\nwant\n%s (%v)", path, text, want, err)
		}
	}
}

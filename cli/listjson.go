package cli

import (
	"encoding/json"
	"io"
	"os"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
)

// listedKind is a kind of parts in `unravel list --json`.
type listedKind struct {
	Kind  string       `json:"kind"`
	Parts []listedPart `json:"parts"`
}

// listedPart is a part in `unravel list KIND --json`.
type listedPart struct {
	Name    string         `json:"name"`
	Doc     string         `json:"doc,omitempty"`
	Source  string         `json:"source,omitempty"`
	Units   string         `json:"units,omitempty"`
	Options []listedOption `json:"options,omitempty"`
	YAML    string         `json:"yaml,omitempty"` // text of a config, or the list behind a pipeline or dialect
}

// listedOption is an option of a part. The default is YAML text.
type listedOption struct {
	Key     string `json:"key"`
	Type    string `json:"type"`
	Default string `json:"default"`
	Doc     string `json:"doc"`
}

// jsonKind returns a kind with all its parts.
func jsonKind(k kind) (listedKind, error) {
	l := listedKind{Kind: k.plural, Parts: []listedPart{}}
	for _, i := range k.items {
		p, err := jsonPart(k, i)
		if err != nil {
			return l, err
		}
		l.Parts = append(l.Parts, p)
	}
	return l, nil
}

func jsonPart(k kind, i item) (listedPart, error) {
	p := listedPart{Name: i.name, Doc: i.doc, Source: i.source, Units: i.units}
	if k.plural == "configs" {
		text, err := configs.Read(i.name)
		p.YAML = string(text)
		return p, err
	}
	var err error
	if p.YAML, err = partList(i.settings); err != nil || p.YAML != "" {
		return p, err
	}
	for _, o := range config.Options(i.settings) {
		p.Options = append(p.Options, listedOption(o))
	}
	return p, nil
}

// writeKind writes a kind with all its parts.
func writeKind(w io.Writer, k kind) error {
	l, err := jsonKind(k)
	if err != nil {
		return err
	}
	return writeJSON(w, l)
}

// writeKinds writes all kinds.
func writeKinds(w io.Writer) error {
	var list []listedKind
	for _, k := range kinds() {
		l, err := jsonKind(k)
		if err != nil {
			return err
		}
		list = append(list, l)
	}
	return writeJSON(w, map[string]any{"kinds": list})
}

func writeJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

// listedSet is a data set in `unravel data list --json`.
type listedSet struct {
	Name   string       `json:"name"`
	Doc    string       `json:"doc"`
	Public *publicState `json:"public,omitempty"` // of a public set
}

// publicState says how much of a public set is on this machine. Sizes are in bytes.
type publicState struct {
	Ready      bool   `json:"ready"` // whether it is converted and intact
	State      string `json:"state"` // the same in words, with the remedy
	Converted  int64  `json:"converted"`
	Downloaded int64  `json:"downloaded"`
	Download   int64  `json:"download"` // of all files; 0: unknown
}

// listedSets returns all data sets with the state of the public ones.
func listedSets() ([]listedSet, error) {
	sets, err := cache.List()
	if err != nil {
		return nil, err
	}
	var list []listedSet
	for _, e := range datasets.Registry.Entries {
		l := listedSet{Name: e.Name, Doc: e.Doc}
		if p, ok := e.New().(datasets.Public); ok {
			l.Public = stateOf(e.Name, p.Origin(), sets)
		}
		list = append(list, l)
	}
	return list, nil
}

// fileSize returns the size of a file, or 0 without such a file.
func fileSize(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

package nn

import (
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
)

// YAML writes the network as the value of a config key such as encoder, in short forms and without default values.
func (l *Layers) YAML(key string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n  layers:\n", key)
	indent := "    "
	if l.Init != DefaultLayerInit {
		fmt.Fprintf(&b, "    init: %s\n    list:\n", l.Init)
		indent = "      "
	}
	for _, c := range l.List {
		text, err := c.short()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s- %s\n", indent, text)
	}
	return b.String(), nil
}

// short writes a layer as an element of a list.
func (c LayerChoice) short() (string, error) {
	e, err := Parts.Lookup(c.Name)
	if err != nil {
		return "", err
	}
	given, err := optionsOf(c.Value)
	if err != nil {
		return "", err
	}
	defaults, err := optionsOf(e.New())
	if err != nil {
		return "", err
	}
	var options []string
	for _, key := range given.Keys() {
		text := given.Get(key).Inline()
		if d := defaults.Get(key); d != nil && d.Inline() == text && key != shortOption[c.Name] {
			continue
		}
		if r, ok := c.Value.(*ResidualLayer); ok && key == "layers" {
			if text, err = r.Layers.flow(); err != nil {
				return "", err
			}
		}
		options = append(options, key+": "+text)
	}
	switch {
	case len(options) == 0:
		return c.Name, nil
	case len(options) == 1 && strings.HasPrefix(options[0], shortOption[c.Name]+": "):
		return c.Name + ": " + strings.TrimPrefix(options[0], shortOption[c.Name]+": "), nil
	}
	return fmt.Sprintf("%s: {%s}", c.Name, strings.Join(options, ", ")), nil
}

// flow writes layers on one line.
func (l LayerList) flow() (string, error) {
	var items []string
	for _, c := range l {
		text, err := c.short()
		if err != nil {
			return "", err
		}
		if strings.Contains(text, ": ") {
			text = "{" + text + "}"
		}
		items = append(items, text)
	}
	return "[" + strings.Join(items, ", ") + "]", nil
}

func optionsOf(settings any) (*config.Node, error) {
	source, err := config.Encode(settings)
	if err != nil {
		return nil, err
	}
	return config.Parse("settings", source)
}

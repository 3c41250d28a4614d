package datasets

import (
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph/rng"
)

// SupervisionChoice is one kind of supervision in a config: `{pairs: {count: 768}}`.
type SupervisionChoice struct {
	Name  string
	Value Supervision
}

// DecodeConfig implements config.Decoder.
func (c *SupervisionChoice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, SupervisionRegistry, (*registry.Choice[Supervision])(c))
}

// EncodeConfig implements config.Encoder.
func (c SupervisionChoice) EncodeConfig() (any, error) {
	return config.EncodeChoice(registry.Choice[Supervision](c))
}

// ConfigForms implements config.Former.
func (SupervisionChoice) ConfigForms() []any { return []any{config.ChoicesOf(SupervisionRegistry)} }

// Supervisions is the supervision in a config: one kind, `{pairs: {count: 768}}`, or a list of several. An empty
// list is the supervision none.
type Supervisions []SupervisionChoice

// Supervised returns supervision of one kind.
func Supervised(name string, s Supervision) Supervisions {
	return Supervisions{{Name: name, Value: s}}
}

// String names the kinds.
func (s Supervisions) String() string {
	names := ""
	for i, c := range s {
		if i > 0 {
			names += ", "
		}
		names += c.Name
	}
	if names == "" {
		return "none"
	}
	return names
}

// Split applies the supervision to a data set. The first kind draws from the stream "supervision" of the seed, and the
// kind at index i from "supervision/i". The result has the groups and labels of all kinds; images in groups may have
// labels too. [JoinLabels] merges labels and similar pairs.
func (s Supervisions) Split(d Dataset, seed uint64) (*Split, error) {
	if len(s) == 0 {
		return (&None{}).Split(d, nil)
	}
	splits := make([]*Split, len(s))
	for i, c := range s {
		stream := "supervision"
		if i > 0 {
			stream = fmt.Sprintf("supervision/%d", i)
		}
		var err error
		if splits[i], err = c.Value.Split(d, rng.New(seed, stream)); err != nil {
			return nil, err
		}
		if splits[i] == nil {
			return nil, fmt.Errorf("supervision %s made no split", c.Name)
		}
		if err := splits[i].validate(d); err != nil {
			return nil, fmt.Errorf("supervision %s: %w", c.Name, err)
		}
	}
	if len(splits) == 1 {
		return splits[0], nil
	}
	split, err := joinSplits(d, splits)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", s, err)
	}
	return split, nil
}

// DecodeConfig reads one kind, or a list of kinds.
func (s *Supervisions) DecodeConfig(n *config.Node) error {
	if !n.IsList() {
		var one SupervisionChoice
		if err := n.Decode(&one); err != nil {
			return err
		}
		*s = Supervisions{one}
		return nil
	}
	var list []SupervisionChoice
	if err := n.Decode(&list); err != nil {
		return err
	}
	if len(list) == 0 {
		return n.Errorf("the list is empty; want none, or at least one kind of supervision")
	}
	for i, c := range list {
		if _, none := c.Value.(*None); none && len(list) > 1 {
			return n.Items()[i].Errorf("none stands alone; want it without other kinds of supervision")
		}
	}
	*s = list
	return nil
}

// EncodeConfig writes a single kind without a list.
func (s Supervisions) EncodeConfig() (any, error) {
	switch len(s) {
	case 0:
		return "none", nil
	case 1:
		return s[0].EncodeConfig()
	}
	return []SupervisionChoice(s), nil
}

// ConfigForms implements config.Former.
func (Supervisions) ConfigForms() []any { return []any{SupervisionChoice{}, []SupervisionChoice{}} }

// ConfigType implements config.Typer.
func (s Supervisions) ConfigType() string {
	return "one of " + strings.Join(SupervisionRegistry.Names(), ", ") + ", or a list of them"
}

// RegisterSupervision adds a supervision to the names for configs. Call it before a config is read. A taken name is an
// error.
func RegisterSupervision(e registry.Entry[Supervision]) error { return SupervisionRegistry.Register(e) }

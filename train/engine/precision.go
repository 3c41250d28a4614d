package engine

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/kernel"
)

// Precision is the precision of the matrix products and convolutions of a step. Parameters, moments, gradients, norms
// and losses are always float32. So are convolutions with an equally fast algorithm in float32: 3x3 filters of stride 1
// on 16 channels or more, 4x4 filters of stride 2 on images of 16x16 or more, and the last layers of decoders for 2 to
// 4 channels. In a config it is float32 or mixed. A written config omits Float32, so configs keep the hashes from
// before mixed precision existed.
type Precision int

const (
	Float32 Precision = iota // single precision throughout
	Mixed                    // factors are rounded to bfloat16, and sums are float32; see graph.MixedOp
)

var precisions = [...]string{"float32", "mixed"}

// String returns the name in a config.
func (p Precision) String() string {
	if p < 0 || int(p) >= len(precisions) {
		return fmt.Sprintf("Precision(%d)", int(p))
	}
	return precisions[p]
}

// DecodeConfig reads a name.
func (p *Precision) DecodeConfig(n *config.Node) error {
	var name string
	if err := n.Decode(&name); err != nil {
		return err
	}
	for i, known := range precisions {
		if name == known {
			*p = Precision(i)
			return nil
		}
	}
	return n.Errorf("unknown precision %q; want float32 or mixed", name)
}

// EncodeConfig is the inverse of DecodeConfig.
func (p Precision) EncodeConfig() (any, error) {
	if p == Float32 {
		return nil, nil
	}
	return p.String(), nil
}

// ConfigForms implements config.Former.
func (Precision) ConfigForms() []any { return []any{config.Words(precisions[:])} }

// ConfigType describes the accepted values.
func (p Precision) ConfigType() string { return "float32 or mixed" }

// Check returns an error if this process cannot train in the precision.
func (p Precision) Check() error {
	switch p {
	case Float32:
		return nil
	case Mixed:
		return kernel.Mixed()
	}
	return fmt.Errorf("%v; want Float32 or Mixed", p)
}

// machine compiles nodes for a plan's precision and device. kept stays on a device that updates the parameters.
func (l *plan) machine(nodes gorgonia.Nodes, kept machine.Kept) (*machine.Machine, error) {
	m, err := machine.New(nodes[0].Graph(), nodes...)
	if err != nil {
		return nil, err
	}
	m.SetMixed(l.precision == Mixed)
	return m, l.setDevice(m, kept)
}

func (l *plan) setDevice(m *machine.Machine, kept machine.Kept) error {
	if l.device == nil {
		return nil
	}
	if err := l.keepOnDevice(); err != nil {
		return err
	}
	if l.updatesOnDevice {
		m.Keep(kept)
	}
	return m.SetDevice(l.device)
}

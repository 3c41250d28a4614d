package engine

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/long"
)

// layered is an encoder with a layer of every kind, for images of any size.
const layered = "{layers: [{conv: {channels: 8, stride: 2}}, {norm: {kind: NORM, groups: 2}}, {activation: ACTIVATION}, {residual: {channels: 8, norm: NORM, groups: 2, activation: ACTIVATION}}, {pool: average}, {dropout: 0.2}, {dense: {units: 6, activation: ACTIVATION}}, {norm: {kind: NORM, groups: 2}}]}"

// unlayered is a similar decoder.
const unlayered = "{layers: [{dense: 8}, {activation: ACTIVATION}, {image: 16}, {norm: {kind: NORM, groups: 2}}, {upsample: {times: 2, kind: bilinear}}, {conv: {channels: 16, activation: ACTIVATION}}, {shuffle: 2}, {norm: {kind: NORM, groups: 2}}, {conv: image}]}"

// Every model trains with every norm and activation, by default with some of them.
func TestLayeredNetworks(t *testing.T) {
	long.NotShort(t)
	for k, name := range slices.Sorted(maps.Keys(standardised)) {
		source := standardised[name]
		if strings.HasPrefix(source, "dataset") {
			source = strings.Replace(source, "samples: 100", "samples: 20", 1)
		} else {
			source = "dataset: {square: {size: 10, side: 3}}\n" + source
		}
		source += "\ntrain: {epochs: 1, batch: 60}"
		for i, norm := range []string{nn.NoNorm, nn.BatchNorm, nn.GroupNorm, nn.LayerNorm, nn.InstanceNorm} {
			for j, activation := range kernel.ActivationNames() {
				if (i+j)%5 != 0 || j%3 != k%3 && !long.Enabled() {
					continue
				}
				filled := strings.NewReplacer("ENCODER", layered, "decoder: mlp", "decoder: "+unlayered).Replace(source)
				l := loopOf(t, strings.NewReplacer("NORM", norm, "ACTIVATION", activation).Replace(filled))
				if err := errors.Join(l.Run(context.Background()), l.Save(io.Discard)); err != nil {
					t.Errorf("%s, %s, %s: %v", name, norm, activation, err)
				}
				l.Close()
			}
		}
	}
}

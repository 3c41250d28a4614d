package train

import (
	"strings"
	"testing"
)

// TestMisfits checks that the error for a layer that does not fit the data's images points into the config.
func TestMisfits(t *testing.T) {
	const start = "dataset: {square: {size: 16, side: 4}}\nlosses: [reconstruction, kl]\nmodel:\n  vae:\n"
	for networks, want := range map[string]string{
		"    encoder: {layers: [{conv: 6}, {norm: group}]}\n":                               `mine.yaml:5:36: model.vae.encoder.layers.1.norm: encoder: layer "encoder/norm1": group norm: want a number of groups`,
		"    encoder: {layers: {list: [{conv: 6}, {norm: group}]}}\n":                       `mine.yaml:5:43: model.vae.encoder.layers.list.1.norm: encoder: layer "encoder/norm1"`,
		"    encoder: mlp\n    decoder: {layers: [{image: 3}, {deconv: 2}]}\n":              `mine.yaml:6:37: model.vae.decoder.layers.1.deconv: decoder: layer "decoder/deconv1": the decoder ends in shape (16, 16, 2); want (16, 16, 1)`,
		"    encoder: {layers: [{conv: 8}, {crop: 3}]}\n":                                   `mine.yaml:4:3: model.vae: decoder: there is no mirror image of layer 1 (from 0) of the encoder, crop`,
		"    encoder: {small-conv: {norm: group, width: 6, groups: 6, features: 100000}}\n": "",
	} {
		c, err := Load("mine.yaml", []byte(start+networks))
		if err == nil {
			_, err = NewExperiment(c)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s%v\nwant %s", networks, err, want)
		}
	}
}

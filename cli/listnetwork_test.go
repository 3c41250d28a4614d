package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/docs"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestListNetworks(t *testing.T) {
	table := clitest.OK(t, "list", "encoder", "resnet18", "--image", "64x64x3").Out
	for _, line := range []string{
		"encoder resnet18 of 64x64x3",
		"  encoder/conv1                      convolution 3x3            64x64x64   1728        14.16 M",
		"  encoder/residual3/projection       convolution 1x1, stride 2  32x32x128  8192        16.78 M",
		"  total                                                                    11168832    4.45 G",
	} {
		if !strings.Contains(table, line+"\n") {
			t.Errorf("the list lacks %q:\n%s", line, table)
		}
	}
	var s docs.Summary
	out := clitest.OK(t, "list", "--json", "decoders", "small-conv", "width=4", "norm=batch", "--image", "28x20x1", "--codes", "3").Out
	must.OK(t, json.Unmarshal([]byte(out), &s))
	parameters := 0
	for _, l := range s.Layers {
		parameters += l.Parameters
	}
	if last := s.Layers[len(s.Layers)-1]; docs.Sides(last.Output) != "28x20x1" || s.Input[0] != 3 ||
		s.Layers[0].Parameters != 4*256 || s.Parameters != parameters || parameters == 0 {
		t.Errorf("%s", out)
	}
	want := "encoder:\n  layers:\n    init: glorot\n    list:\n      - dense: {units: 5, activation: tanh}\n"
	must.Equal(t, clitest.OK(t, "list", "encoder", "mlp", "hidden=[5]", "activation=tanh", "--layers").Out, want)
}

func TestListNetworksOfConfigs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	source := "dataset: {square: {size: 18, side: 6}}\nmodel: {vae: {latent: 3, encoder: {layers: [{conv: {channels: 4, stride: 2}}, {pool: {to: 1}}]}}}\nlosses: [reconstruction, kl]\n"
	must.Write(t, file, source)
	encoder, decoder := clitest.OK(t, "list", "encoder", file, "model.vae.latent=2").Out, clitest.OK(t, "list", "decoder", file).Out
	for _, c := range []struct{ text, want string }{
		{encoder, " of 18x18x1\n"}, {encoder, "  encoder/conv1  convolution 3x3, stride 2  9x9x4 "}, {encoder, "latent/"},
		{decoder, " of 3\n"}, {decoder, "  decoder/image1     dense            9x9x4 "}, {decoder, "  decoder/conv1      convolution 3x3  18x18x1 "},
	} {
		if !strings.Contains(c.text, c.want) {
			t.Errorf("the list lacks %q:\n%s", c.want, c.text)
		}
	}
}

// The listed work of a config's networks is per image.
func TestListWorkOfConfigs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	source := "dataset: {square: {size: 18, side: 6}}\nmodel: {ae: {latent: 3, encoder: {mlp: {hidden: [5]}}, decoder: {mlp: {hidden: [7]}}}}\nlosses: [reconstruction]\n"
	must.Write(t, file, source)
	for part, want := range map[string]float64{"encoder": 2*18*18*5 + 2*5*3, "decoder": 2*3*7 + 2*7*18*18} {
		var s docs.Summary
		must.OK(t, json.Unmarshal([]byte(clitest.OK(t, "list", "--json", part, file).Out), &s))
		must.Equal(t, s.FLOP, want, part, "FLOP in", s.Layers)
	}
}

func TestListNetworkMistakes(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"encoder rsnet18 --image 4x4x1", `unknown encoder "rsnet18"; did you mean "resnet18"?`},
		{"encoder conv64 --image 20x20x1", "small-conv, which takes any"},
		{"encoder conv64 --image 64x64", "want HxWxC, such as 64x64x3"},
		{"encoder conv64 --image 64x64x0", "want HxWxC, such as 64x64x3"},
		{"encoder small-conv with=3 --image 4x4x1", `unknown key "with"; did you mean "width"?`},
		{"encoder --image 4x4x1", "want its name too"},
		{"losses kl --image 4x4x1", "are for encoders and decoders by name"},
		{"losses kl weight=3", "are for encoders and decoders by name"},
		{"decoder small-conv --codes 0 --image 4x4x1", "want positive sizes"},
		{"encoder nowhere.yaml", "nowhere.yaml"},
		{"encoder nowhere.yaml --image 4x4x1", "takes the images of its data set"},
		{"encodr", `there is no list of "encodr"; did you mean "encoders"?`},
	} {
		if o := clitest.Run(t, append([]string{"list"}, strings.Fields(c.args)...)...); o.Code == 0 || !strings.Contains(o.Log, c.want) {
			t.Errorf("list %s: code %d, %s\nwant %s", c.args, o.Code, o.Log, c.want)
		}
	}
}

package train

import (
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/public"
	"github.com/unravel-ml/unravel/internal/must"
)

// TestRealOverride checks that a public data set gets the settings of the twin that an override replaces.
func TestRealOverride(t *testing.T) {
	const rest = "\nmodel: vae\nlosses: [kl]\n"
	for _, c := range []struct {
		dataset   string
		overrides []string
		want      datasets.Builder
	}{
		{"sprites", []string{"dataset=dsprites"}, &public.DSprites{Variant: "plain", Channels: 1}},
		{"{sprites: {channels: 3, size: 32, positions: 16}}", []string{"dataset=dsprites"}, &public.DSprites{Variant: "plain", Channels: 3}},
		{"{sprites: {channels: 3}}", []string{"dataset= dsprites", "seed=3"}, &public.DSprites{Variant: "plain", Channels: 3}},
		{"{sprites: {channels: 3}}", []string{"dataset=dsprites", "dataset.dsprites.channels=1"}, &public.DSprites{Variant: "plain", Channels: 1}},
		{"{sprites: {channels: 3}}", []string{"dataset={dsprites: {}}"}, &public.DSprites{Variant: "plain", Channels: 1}},
		{"{sprites: {channels: 3}}", []string{"dataset.sprites.channels=1", "dataset=dsprites"}, &public.DSprites{Variant: "plain", Channels: 1}},
		{"room", []string{"dataset={sprites: {channels: 3}}", "dataset=dsprites"}, &public.DSprites{Variant: "plain", Channels: 3}},
		{"{sprites: {channels: 3}}", []string{"dataset=shapes3d"}, &public.Shapes3D{}},
		{"{room: {size: 96}}", []string{"dataset=shapes3d"}, &public.Shapes3D{}},
		{"{norb: {instance: true}}", []string{"dataset=smallnorb"}, &public.SmallNORB{Part: "all", Size: datasets.PictureSize{64, 64}, Instance: true}},
		{"norb", []string{"dataset=smallnorb"}, &public.SmallNORB{Part: "all", Size: datasets.PictureSize{64, 64}}},
	} {
		got, err := Load("test.yaml", []byte("dataset: "+c.dataset+rest), c.overrides...)
		if err != nil {
			t.Errorf("%s, %q: %v", c.dataset, c.overrides, err)
			continue
		}
		a, err := config.Encode(got.Dataset.Value)
		b, also := config.Encode(c.want)
		if err != nil || also != nil || string(a) != string(b) {
			t.Errorf("%s, %q: %s has %s, want %s", c.dataset, c.overrides, got.Dataset.Name, a, b)
		}
	}
	_, err := Load("test.yaml", []byte("dataset: {sprites: {channels: 3}}"+rest), "dataset=dspirtes")
	must.Error(t, err, `argument "dataset=dspirtes"`)
}

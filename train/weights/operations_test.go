package weights_test

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/weights"
)

// The multiplications per image are the sum over its layers.
func TestProducts(t *testing.T) {
	for _, x := range []struct {
		more    string
		part    weights.Part
		h, w, c int
		want    int
	}{
		{"encoder: {mlp: {hidden: [24]}}", weights.Decoder, 5, 7, 2, 5*24 + 24*70},
		{"encoder: {layers: [{conv: {channels: 4, kernel: 3, stride: 2}}, flatten, {dense: 6}]}", weights.Encoder, 8, 8, 3, 9*3*4*16 + 64*6 + 6*5},
		{"encoder: {mlp: {hidden: [24]}}, decoder: {layers: [{dense: 8}, {image: 16}, {deconv: {channels: 5, kernel: 4, stride: 2}}, {conv: {channels: image, kernel: 1}}]}", weights.Decoder, 8, 8, 3,
			5*8 + 8*16*16 + 16*5*16*16 + 5*3*64},
	} {
		c := newCase(t, "ae", x.more, x.h, x.w, x.c)
		o := must.Get(c.source.Operations(x.part))(t)
		must.Equal(t, o.Products, x.want, x.more, "products")
	}
	c := newCase(t, "encoder", "encoder: {mlp: {hidden: [4]}}", 4, 4, 1)
	must.ErrorOf(c.source.Operations(weights.Decoder))(t, "the model has no decoder")
}

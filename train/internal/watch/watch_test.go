package watch

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/engine"
)

// A large picture is reduced or omitted.
func TestBoardImage(t *testing.T) {
	stream := rand.New(rand.NewPCG(1, 2))
	noise := image.NewGray(image.Rect(0, 0, 1500, 700))
	for i := range noise.Pix {
		noise.Pix[i] = uint8(stream.Uint32())
	}
	var b bytes.Buffer
	must.OK(t, png.Encode(&b, noise))
	for _, test := range []struct{ most, width, height int }{
		{b.Len(), 1500, 700}, {b.Len() - 1, 512, 238}, {1000, 0, 0},
	} {
		got, err := boardImage(b.Bytes(), test.most)
		switch {
		case err != nil || (got == nil) != (test.width == 0):
			t.Errorf("%d bytes: %v, %v", test.most, got, err)
		case got != nil && (got.Width != test.width || got.Height != test.height || len(got.PNG) > test.most):
			t.Errorf("%d bytes: %d x %d in %d bytes, want %d x %d", test.most, got.Width, got.Height, len(got.PNG), test.width, test.height)
		case got != nil:
			m, err := png.Decode(bytes.NewReader(got.PNG))
			if err != nil || m.Bounds().Dx() != test.width || got.Gray != (m.ColorModel() == color.GrayModel) {
				t.Errorf("%d bytes: %v, %v", test.most, m.Bounds(), err)
			}
		}
	}
	if _, err := boardImage([]byte("no picture"), 1000); err == nil {
		t.Error("no picture: no error")
	}
}

func TestDescribe(t *testing.T) {
	one := []engine.ObjectiveLoss{{Objective: "all", Names: []string{"loss", "kl"}, Values: []float64{12.345, 1.5}}}
	two := []engine.ObjectiveLoss{{Objective: "some", Names: []string{"loss", "kl"}, Values: []float64{12.345, 1.5}},
		{Objective: "rest", Names: []string{"loss"}, Values: []float64{3}}}
	for _, c := range []struct {
		losses  []engine.ObjectiveLoss
		columns int
		want    string
	}{
		{one, 80, "epoch 2/9  loss 12.35 (kl 1.5)  1234 images/s"},
		{one, 45, "epoch 2/9  loss 12.35 (kl 1.5)  1234 images/s"},
		{one, 44, "epoch 2/9  loss 12.35  1234 images/s"},
		{one, 36, "epoch 2/9  loss 12.35  1234 images/s"},
		{one, 35, "epoch 2/9  loss 12.35"},
		{one, 20, "epoch 2/9  12.35"},
		{one, 5, "epoch 2/9"},
		{one, -50, "epoch 2/9"},
		{two, 80, "epoch 2/9  some loss 12.35 (kl 1.5); rest loss 3  1234 images/s"},
		{two, 60, "epoch 2/9  some loss 12.35; rest loss 3  1234 images/s"},
		{two, 40, "epoch 2/9  some loss 12.35; rest loss 3"},
		{two, 32, "epoch 2/9  loss 12.35, 3"},
		{two, 20, "epoch 2/9  12.35, 3"},
		{[]engine.ObjectiveLoss{two[0], {Objective: "rest"}}, 40, "epoch 2/9  some loss 12.35"},
		{[]engine.ObjectiveLoss{{Objective: "rest"}}, 40, "epoch 2/9"},
	} {
		must.Equal(t, describe(2, 9, c.losses, 1234, c.columns), c.want, c.columns, "columns")
	}
}

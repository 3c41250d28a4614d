package length

import (
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train"
)

// Some data sets draw their images when opened. The number of their images is known before.
func TestImagesUnopened(t *testing.T) {
	for _, text := range []string{"room: {size: 16, hues: 3, scales: 2, orientations: 5}", "cars: {size: 16, elevations: 2, azimuths: 3, objects: 5}",
		"chopsticks: {samples: 7}", "spaceshapes: {samples: 7}"} {
		var c struct{ Dataset catalog.Choice }
		must.OK(t, config.Load("test", []byte("dataset: {"+text+"}"), &c))
		set := must.Get(c.Dataset.Build(0))(t)
		x := &Sizes{}
		if got := x.images(train.Config{Dataset: c.Dataset}); got != float64(set.Len()) || len(x.sizes) > 0 {
			t.Errorf("%s: %v images, %d sets opened; want %d and none", text, got, len(x.sizes), set.Len())
		}
	}
}

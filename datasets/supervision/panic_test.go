package supervision_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	. "github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// torn is a data set that panics at one image.
type torn struct {
	datasets.Dataset
	at int
}

func (d torn) Image(i int, dst []float32) {
	if i == d.at {
		panic(fmt.Sprintf("image %d is torn", i))
	}
	d.Dataset.Image(i, dst)
}

// A panic of a data set reaches the goroutine that requested the images, whichever goroutine renders them.
func TestPanicsReachTheCaller(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	d := torn{datatest.Build(t, &drawn.Square{Size: 16, Side: 5, Step: 1}), 77}
	caught := func(do func()) (text string) {
		defer func() {
			if p, ok := recover().(*parallel.Panic); ok {
				text = p.Error()
			}
		}()
		do()
		return "no panic"
	}
	whole := func(text string) bool {
		return strings.Contains(text, "image 77 is torn") && strings.Contains(text, "torn.Image")
	}
	if text := caught(func() { datasets.Fill(d, numeric.UpTo(d.Len()), make([]float32, d.Len()*256)) }); !whole(text) {
		t.Errorf("Fill: %s", text)
	}
	l := NewLoader(d, datatest.Sampler(t, datatest.Split(t, &None{}, d), 20))
	must.OK(t, l.StartEpoch())
	dealt := 0
	text := caught(func() {
		for _, _, ok := l.Next(); ok; _, _, ok = l.Next() {
			dealt++
		}
	})
	if !whole(text) || dealt == 0 {
		t.Errorf("a loader, after %d batches: %s", dealt, text)
	}
	must.Equal(t, caught(l.Close), "no panic", "Close")
}

package copies

import (
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
)

// pictures are images of one pixel with the given values.
type pictures []float32

func (p pictures) Name() string                  { return "pictures" }
func (p pictures) Len() int                      { return len(p) }
func (p pictures) Factors() []factor.Factor      { return nil }
func (p pictures) FactorsAt(int, []int)          {}
func (p pictures) ImageShape() (h, w, c int)     { return 1, 1, 1 }
func (p pictures) Image(i int, pixels []float32) { pixels[0] = p[i] }

// Many copies have a note for each use of the held-out images. Rare ones, and copies within a part, have none.
func TestNotes(t *testing.T) {
	var _ datasets.Dataset = pictures{}
	d := pictures{0.5, 0.25, 0, 1, 0.5, 0.75, 0.25, 0.75}
	training := []int{0, 1, 2, 3}
	must.EqualSlices(t, Notes(d, training, []int{4, 5}, []int{6}), []string{
		"1 of the 2 images held out for metrics are copies of training images, so values on them are too good; want a data set without repeated images",
		"1 of the 1 images held out for validation are copies of training images, so values on them are too good; want a data set without repeated images",
	}, "notes")
	must.EqualSlices(t, Notes(d, training, []int{5, 7}, nil), nil, "notes of copies that do not train")
	must.EqualSlices(t, Notes(d, training, nil, nil), nil, "notes without held-out images")
	rare := make(pictures, 23)
	held := make([]int, 0, 21)
	for i := range rare {
		if rare[i] = float32(i); i >= 2 {
			held = append(held, i)
		}
	}
	rare[22] = 0
	must.EqualSlices(t, Notes(rare, []int{0, 1}, held, nil), nil, "notes of 1 copy of 21")
	must.Equal(t, len(Notes(rare, []int{0, 1}, held[1:], nil)), 1, "notes of 1 copy of 20")
}

// Package copies finds held-out images that are copies of training images.
package copies

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// maxNumbers is the size of the largest data set that Notes searches. The search takes less than a second.
const maxNumbers = 1 << 27

// perCopy is the largest number of held-out images for each copy in a note: rarer copies hardly change a value.
const perCopy = 20

// Notes lists sentences on images for metrics, and for validation, that equal training images in every pixel.
func Notes(d datasets.Dataset, training, metrics, validation []int) (sentences []string) {
	h, w, c := d.ImageShape()
	if len(metrics)+len(validation) == 0 || d.Len() > maxNumbers/(h*w*c) {
		return nil
	}
	trained := map[uint64]bool{}
	for _, hash := range hashes(d, training) {
		trained[hash] = true
	}
	for _, held := range []struct {
		use    string
		images []int
	}{{"metrics", metrics}, {"validation", validation}} {
		n := 0
		for _, hash := range hashes(d, held.images) {
			if trained[hash] {
				n++
			}
		}
		if n > 0 && n*perCopy >= len(held.images) {
			sentences = append(sentences, fmt.Sprintf("%d of the %d images held out for %s are copies of training images, "+
				"so values on them are too good; want a data set without repeated images", n, len(held.images), held.use))
		}
	}
	return sentences
}

// hashes returns a number for each image that only copies share, except by chance.
func hashes(d datasets.Dataset, images []int) []uint64 {
	h, w, c := d.ImageShape()
	list := make([]uint64, len(images))
	pixels := make([][]float32, parallel.Threads())
	for worker := range pixels {
		pixels[worker] = make([]float32, h*w*c)
	}
	parallel.ForWorkers(len(pixels), len(images), func(worker, i int) {
		d.Image(images[i], pixels[worker])
		list[i] = hash(pixels[worker])
	})
	return list
}

// hash is FNV-1a by pixels. The shift carries high bits to low ones.
func hash(pixels []float32) uint64 {
	sum := uint64(0xcbf29ce484222325)
	for _, v := range pixels {
		sum = (sum ^ uint64(math.Float32bits(v))) * 0x100000001b3
		sum ^= sum >> 32
	}
	return sum
}

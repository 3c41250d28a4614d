package datasets

import (
	"fmt"
	"math"
	"strconv"

	"github.com/unravel-ml/unravel/internal/rng"
)

// mix deals labelled images, or similar pairs, into the batches of an epoch. A unit
// is one image or one pair.
type mix struct {
	known *Labels
	width int // images in a unit

	plain, units         int // images of the epoch's order, and units, in a full batch
	batches              int
	lastPlain, lastUnits int // the same in the last batch

	order []int32 // of the units in the pass under way
	pass  uint64  // its number, from 1
	seed  uint64  // its seed
	drawn []int32 // the epoch's units, batch by batch
}

// prepareLabels plans the batches of a split with Known labels.
func (s *Sampler) prepareLabels() error {
	known := s.split.Known
	if known == nil {
		return nil
	}
	if known.set != nil {
		s.scratch = make([]int, len(known.set.Factors()))
	}
	if known.Share > 0 && len(known.Images) > 0 && len(s.unlabelled) > 0 {
		var err error
		if s.mix, err = newMix(known, len(s.unlabelled), s.imagesPerBatch); err != nil {
			return err
		}
		s.state.Labels = s.stream.Uint64()
		s.unlabelled = make([]int, s.mix.images())
	}
	s.levels = make([]int32, s.MaxBatch()*len(known.Factors))
	return nil
}

// newMix plans batches of an epoch over n images.
func newMix(known *Labels, n, batch int) (*mix, error) {
	m := &mix{known: known, width: 1}
	count := len(known.Images)
	if known.Pairs != nil {
		m.width, count = 2, len(known.Pairs)
	}
	if batch < m.width+1 {
		return nil, fmt.Errorf("batches: a batch of %d images has no room for %d labelled images beside another; want %d or more",
			batch, m.width, m.width+1)
	}
	share := math.Round(known.Share*float64(batch)) / float64(m.width)
	m.units = max(1, min(int(share), (batch-1)/m.width))
	m.plain = batch - m.units*m.width
	m.batches = (n + m.plain - 1) / m.plain
	m.lastPlain = n - (m.batches-1)*m.plain
	m.lastUnits = max(1, (2*m.lastPlain*m.units+m.plain)/(2*m.plain)) // rounded
	m.order = make([]int32, count)
	m.drawn = make([]int32, (m.batches-1)*m.units+m.lastUnits)
	return m, nil
}

// images is the number of images that an epoch deals.
func (m *mix) images() int {
	return (m.batches-1)*m.plain + m.lastPlain + len(m.drawn)*m.width
}

// deal completes an epoch of which dealt begins with the order of all images: it
// moves them to their batches and fills these up.
func (m *mix) deal(dealt []int, epoch int, seed uint64) {
	first := uint64(epoch-1) * uint64(len(m.drawn)) // units dealt in earlier epochs
	for u := range m.drawn {
		m.drawn[u] = m.unit(first+uint64(u), seed)
	}
	full := m.plain + m.units*m.width
	for b := m.batches - 1; b >= 0; b-- { // from the back: no batch begins before its images in the order
		plain, units := m.plain, m.drawn[b*m.units:]
		if b == m.batches-1 {
			plain = m.lastPlain
		} else {
			units = units[:m.units]
		}
		rows := dealt[b*full:]
		copy(rows[:plain], dealt[b*m.plain:])
		for n, u := range units {
			m.write(int(u), rows[plain+n*m.width:])
		}
	}
}

// write writes the images of a unit.
func (m *mix) write(u int, dst []int) {
	if m.width == 1 {
		dst[0] = m.known.Images[u]
		return
	}
	dst[0], dst[1] = m.known.Pairs[u].A, m.known.Pairs[u].B
}

// unit is the n-th unit of all passes over the units, one after the other.
func (m *mix) unit(n, seed uint64) int32 {
	count := uint64(len(m.order))
	if pass := n/count + 1; pass != m.pass || seed != m.seed {
		for u := range m.order {
			m.order[u] = int32(u)
		}
		rng.New(seed, "pass "+strconv.FormatUint(pass, 10)).Shuffle(len(m.order), func(i, j int) { m.order[i], m.order[j] = m.order[j], m.order[i] })
		m.pass, m.seed = pass, seed
	}
	return m.order[n%count]
}

// levelsOf are the Levels of the batch at a position.
func (s *Sampler) levelsOf(b Batch, position int) []int32 {
	known := s.split.Known
	if known == nil {
		return nil
	}
	k := len(known.Factors)
	levels := s.levels[:len(b.Indices)*k]
	for row, i := range b.Indices {
		known.at(i, levels[row*k:(row+1)*k], s.scratch)
	}
	if s.mix != nil && known.Pairs != nil && !b.Labelled {
		s.mix.number(levels, len(b.Indices), position-s.labelledBatches())
	}
	return levels
}

// number gives the pairs of a batch their numbers.
func (m *mix) number(levels []int32, rows, batch int) {
	k, plain := len(m.known.Factors), m.plain
	if batch == m.batches-1 {
		plain = m.lastPlain
	}
	for n := range (rows - plain) / 2 {
		factor := m.known.Pairs[m.drawn[batch*m.units+n]].Factor
		for row := plain + 2*n; row < plain+2*n+2; row++ {
			levels[row*k+factor] = int32(n)
		}
	}
}

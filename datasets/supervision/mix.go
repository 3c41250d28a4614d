package supervision

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/unravel-ml/unravel/graph/rng"
)

// mix adds labelled images and similar pairs to the batches of an epoch.
type mix struct {
	units            []*units // one entry per kind of supervision with a share
	plain, lastPlain int      // number of images from the epoch's order in a full batch, and in the last batch
	batches          int
}

// units are the labelled images or the similar pairs of one source; a unit is one image or one pair.
type units struct {
	known   *Labels
	part    int    // index of known among the sources
	columns []int  // columns of its factors in the split's labels
	label   string // prefix of the names of its random streams
	width   int    // images per unit

	full, last int     // units per full batch, and in the last batch
	order      []int32 // order of the units in the current pass
	pass       uint64  // number of the current pass, from 1
	seed       uint64  // seed of the pass
	epochUnits []int32 // units of the epoch, batch by batch
}

func (s *Sampler) prepareLabels() error {
	known := s.split.Known
	if known == nil {
		return nil
	}
	if len(s.unlabelled) > 0 {
		var err error
		if s.mix, err = newMix(known, len(s.unlabelled), s.imagesPerBatch); err != nil {
			return err
		}
	}
	if s.mix != nil {
		s.state.Labels = s.stream.Uint64()
		s.unlabelled = make([]int, s.mix.images())
	}
	s.levels = make([]int32, s.MaxBatch()*len(known.Factors))
	if known.TellsApart() {
		s.different = make([]int32, len(s.levels))
	}
	return s.numberSources()
}

// newMix plans the batches of an epoch over n images. It returns nil if no labels have a share.
func newMix(known *Labels, n, batch int) (*mix, error) {
	m := &mix{plain: batch}
	for p, source := range known.sources() {
		if source.Share == 0 || len(source.Images) == 0 {
			continue
		}
		u := newUnits(source, batch, m.plain-1)
		if u == nil {
			return nil, fmt.Errorf("batches: a batch of %d images has no room for %d labelled images and another image; want %d or more",
				batch, batch-m.plain+widthOf(source), batch-m.plain+widthOf(source)+1)
		}
		if p > 0 {
			u.label = fmt.Sprintf("source %d ", p)
		}
		u.part, u.columns = p, known.columnsOfPart(p)
		m.units = append(m.units, u)
		m.plain -= u.full * u.width
	}
	if m.units == nil {
		return nil, nil
	}
	m.batches = (n + m.plain - 1) / m.plain
	m.lastPlain = n - (m.batches-1)*m.plain
	for _, u := range m.units {
		u.last = max(1, (2*m.lastPlain*u.full+m.plain)/(2*m.plain)) // rounded
		u.epochUnits = make([]int32, (m.batches-1)*u.full+u.last)
	}
	return m, nil
}

func widthOf(known *Labels) int {
	if known.Pairs != nil {
		return 2
	}
	return 1
}

// newUnits plans the units of a batch, with room for at most room images. It returns nil if not even one unit fits.
func newUnits(known *Labels, batch, room int) *units {
	u := &units{known: known, width: widthOf(known)}
	if room < u.width {
		return nil
	}
	count := cmp.Or(len(known.Pairs), len(known.Images))
	share := math.Round(known.Share*float64(batch)) / float64(u.width)
	u.full = max(1, min(int(share), room/u.width))
	u.order = make([]int32, count)
	return u
}

func (m *mix) images() int {
	n := (m.batches-1)*m.plain + m.lastPlain
	for _, u := range m.units {
		n += len(u.epochUnits) * u.width
	}
	return n
}

// arrange distributes the first images, which are in the epoch's order, to the batches, and then adds the units.
func (m *mix) arrange(images []int, epoch int, seed uint64) {
	full := m.plain
	for _, u := range m.units {
		u.draw(epoch, seed)
		full += u.full * u.width
	}
	for b := m.batches - 1; b >= 0; b-- { // backwards, so no image is overwritten before it is copied
		plain := m.plainIn(b)
		rows := images[b*full:]
		copy(rows[:plain], images[b*m.plain:])
		rows = rows[plain:]
		for _, u := range m.units {
			for _, n := range u.inBatch(b) {
				u.write(int(n), rows)
				rows = rows[u.width:]
			}
		}
	}
}

// plainIn returns the number of images in a batch that come from the epoch's order.
func (m *mix) plainIn(batch int) int {
	if batch == m.batches-1 {
		return m.lastPlain
	}
	return m.plain
}

func (u *units) draw(epoch int, seed uint64) {
	first := uint64(epoch-1) * uint64(len(u.epochUnits)) // number of units in previous epochs
	for i := range u.epochUnits {
		u.epochUnits[i] = u.unit(first+uint64(i), seed)
	}
}

func (u *units) inBatch(batch int) []int32 {
	from := batch * u.full
	return u.epochUnits[from:min(from+u.full, len(u.epochUnits))]
}

// write writes the images of unit n to dst.
func (u *units) write(n int, dst []int) {
	if u.width == 1 {
		dst[0] = u.known.Images[n]
		return
	}
	dst[0], dst[1] = u.known.Pairs[n].A, u.known.Pairs[n].B
}

// unit returns the n-th unit, counted over all passes.
func (u *units) unit(n, seed uint64) int32 {
	count := uint64(len(u.order))
	if pass := n/count + 1; pass != u.pass || seed != u.seed {
		for i := range u.order {
			u.order[i] = int32(i)
		}
		rng.New(seed, u.label+"pass "+strconv.FormatUint(pass, 10)).Shuffle(len(u.order),
			func(i, j int) { u.order[i], u.order[j] = u.order[j], u.order[i] })
		u.pass, u.seed = pass, seed
	}
	return u.order[n%count]
}

// numberSources gives the classes and pairs of every source their own numbers, from the factor's Size on.
func (s *Sampler) numberSources() error {
	next := 0
	for _, source := range s.split.Known.sources() {
		s.firstNumbers = append(s.firstNumbers, int32(next))
		switch {
		case source.Classes != nil:
			count := 0
			for _, classes := range source.Classes {
				for _, c := range classes {
					count = max(count, int(c)+1)
				}
			}
			next += count
		case source.Pairs != nil:
			next += s.imagesPerBatch
		default:
			continue
		}
		for _, f := range source.Factors {
			if f.Size+next > maxLabel {
				return fmt.Errorf("batches: factor %q has %d levels, too many for pairs; want less than %d",
					f.Name, f.Size, maxLabel-next)
			}
		}
	}
	return nil
}

// setLabels sets Levels and Different of the batch at a position.
func (s *Sampler) setLabels(b *Batch, position int) {
	known := s.split.Known
	if known == nil {
		return
	}
	k := len(known.Factors)
	b.Levels = s.levels[:len(b.Indices)*k]
	for row, i := range b.Indices {
		known.At(i, b.Levels[row*k:(row+1)*k])
	}
	if s.different != nil {
		b.Different = s.different[:len(b.Levels)]
		for i := range b.Different {
			b.Different[i] = -1
		}
	}
	for p, source := range known.sources() {
		if source.Classes != nil {
			s.numberClasses(*b, source, known.columnsOfPart(p), s.firstNumbers[p])
		}
	}
	if s.mix != nil && !b.Labelled {
		s.numberPairs(*b, position-s.LabelledBatches())
	}
}

// numberClasses assigns the same number to all images of a class in a batch, in the column of the factor. The number is
// the first known level of these images or, if no level is known, the number of the class. Known levels stay.
func (s *Sampler) numberClasses(b Batch, source *Labels, columns []int, first int32) {
	k := len(s.split.Known.Factors)
	for f, classes := range source.Classes {
		if classes == nil {
			continue
		}
		column, levels := columns[f], map[int32]int32{}
		for row, i := range b.Indices {
			_, known := levels[classes[i]]
			if l := b.Levels[row*k+column]; l >= 0 && classes[i] >= 0 && !known {
				levels[classes[i]] = l
			}
		}
		for row, i := range b.Indices {
			level := &b.Levels[row*k+column]
			if *level >= 0 || classes[i] < 0 {
				continue
			}
			if l, known := levels[classes[i]]; known {
				*level = l
			} else {
				*level = int32(source.Factors[f].Size) + first + classes[i]
			}
		}
	}
}

// numberPairs assigns the same number to the two images of each pair in a batch, in the column of the factor, unless
// both already have a number. If only one image has a number, the other image gets it. Otherwise both get a new number,
// at or above Size, that no other pair has. If the two images differ, each row refers to the other instead.
func (s *Sampler) numberPairs(b Batch, batch int) {
	factors := s.split.Known.Factors
	k, row := len(factors), s.mix.plainIn(batch)
	for _, u := range s.mix.units {
		next := s.firstNumbers[u.part]
		for _, n := range u.inBatch(batch) {
			if u.width == 2 {
				p := u.known.Pairs[n]
				column := u.columns[p.Factor]
				if p.Different {
					b.Different[row*k+column], b.Different[(row+1)*k+column] = int32(row+1), int32(row)
				} else {
					joinLevels(&b.Levels[row*k+column], &b.Levels[(row+1)*k+column], int32(factors[column].Size)+next)
				}
				next++
			}
			row += u.width
		}
	}
}

// joinLevels assigns the known level of one image to the other, or number to both if neither level is known. Two known
// levels override an answer, because the answer may be wrong.
func joinLevels(a, b *int32, number int32) {
	switch {
	case *a >= 0 && *b >= 0:
	case *a >= 0:
		*b = *a
	case *b >= 0:
		*a = *b
	default:
		*a, *b = number, number
	}
}

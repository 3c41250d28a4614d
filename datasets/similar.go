package datasets

import "fmt"

// numberSources gives every source of labels a separate range of numbers for its classes and pairs, starting at a
// factor's Size.
func (s *Sampler) numberSources() error {
	next := 0
	for _, source := range s.split.Known.sources() {
		s.base = append(s.base, int32(next))
		switch {
		case source.Classes != nil:
			most := 0
			for _, of := range source.Classes {
				for _, c := range of {
					most = max(most, int(c)+1)
				}
			}
			next += most
		case source.Pairs != nil:
			next += s.imagesPerBatch
		default:
			continue
		}
		for _, f := range source.Factors {
			if f.Size+next > maxLabel {
				return fmt.Errorf("batches: factor %q has %d levels, too many for pairs; want less than %d", f.Name, f.Size, maxLabel-next)
			}
		}
	}
	return nil
}

// label sets Levels and Different of the batch at a position.
func (s *Sampler) label(b *Batch, position int) {
	known := s.split.Known
	if known == nil {
		return
	}
	k := len(known.Factors)
	b.Levels = s.levels[:len(b.Indices)*k]
	for row, i := range b.Indices {
		known.at(i, b.Levels[row*k:(row+1)*k], s.scratch)
	}
	if s.different != nil {
		b.Different = s.different[:len(b.Levels)]
		for at := range b.Different {
			b.Different[at] = -1
		}
	}
	for p, source := range known.sources() {
		if source.Classes != nil {
			s.numberClasses(*b, source, known.place(p), s.base[p])
		}
	}
	if s.mix != nil && !b.Labelled {
		s.numberPairs(*b, position-s.LabelledBatches())
	}
}

// numberClasses gives the images of each class in a batch one number in the factor's column. The number is the first
// known level of these images, or the number of the class without one. It keeps known levels.
func (s *Sampler) numberClasses(b Batch, source *Labels, place []int, base int32) {
	k := len(s.split.Known.Factors)
	for f, of := range source.Classes {
		if of == nil {
			continue
		}
		column, levels := place[f], map[int32]int32{}
		for row, i := range b.Indices {
			if l := b.Levels[row*k+column]; l >= 0 && of[i] >= 0 {
				if _, known := levels[of[i]]; !known {
					levels[of[i]] = l
				}
			}
		}
		for row, i := range b.Indices {
			at := &b.Levels[row*k+column]
			if *at >= 0 || of[i] < 0 {
				continue
			}
			if l, known := levels[of[i]]; known {
				*at = l
			} else {
				*at = int32(source.Factors[f].Size) + base + of[i]
			}
		}
	}
}

// numberPairs gives the two images of each pair of a batch the same number in the factor's column, unless both have
// one. If one image has a number, the other takes it. Otherwise both take a new number at or above Size, which no other
// pair has. Two images that differ name each other.
func (s *Sampler) numberPairs(b Batch, batch int) {
	factors := s.split.Known.Factors
	k, row := len(factors), s.mix.plainIn(batch)
	for _, u := range s.mix.units {
		next := s.base[u.part]
		for _, n := range u.in(batch) {
			if u.width == 2 {
				p := u.known.Pairs[n]
				column := u.place[p.Factor]
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

// joinLevels gives two images one image's level, or a number if both levels are unknown. Two known levels count more
// than an answer, which may be wrong.
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

package supervision

import (
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/similarity"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Answers reads pairs of images from a file (see [similarity.Read] and [similarity.Unite]). For each pair, the file
// says whether a factor has equal or different levels in the two images. A row of the file names images by index or,
// for pictures in a folder, by file name. For a factor that the data set lacks, Answers adds one with unknown levels.
//
// With Union, chains of answers join images into classes, and all images of a class in a batch form one group. Without
// Union, each pair is used separately: use this for noisy answers that no other answer contradicts.
type Answers struct {
	File      string               `yaml:"file" doc:"text table with lines row, row, factor, and same or different; rows are numbers from 0 or picture files"`
	Share     float64              `yaml:"share" doc:"fraction of every batch that consists of pairs"`
	Factors   []string             `yaml:"factors" doc:"factors whose answers count; empty: all"`
	Union     bool                 `yaml:"union" doc:"join images linked by chains of the answer same into a class; false: treat each pair alone, with no check for contradictions"`
	Conflicts similarity.Conflicts `yaml:"conflicts" doc:"contradicting answers: error, drop (leave their classes out) or majority (classes that most answers support); empty: error, or majority with noise"`
	Noise     float64              `yaml:"noise" doc:"rate of wrong answers, below 0.5; an image stays in a class only if its answers make that likely"`
}

func (a *Answers) Validate() error {
	switch {
	case a.File == "":
		return config.Invalid("file", "it is empty; want a file of answers, such as pairs.csv")
	case !a.Union && (a.Noise != 0 || a.Conflicts != similarity.ConflictsAuto):
		return config.Invalid("union", "separate pairs have no conflicts and no use for a noise rate; want union: true")
	}
	if err := a.options().Validate(); err != nil {
		return config.Invalid("noise", "%w", err)
	}
	return validPairShare(a.Share, a.Factors)
}

func (a *Answers) options() similarity.Options {
	return similarity.Options{Conflicts: a.Conflicts, Noise: a.Noise}
}

func (a *Answers) Reads() []datasets.Read { return datasets.ReadOf("file", a.File) }

func (a *Answers) Split(d datasets.Dataset, _ *rng.Stream) (*Split, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	answers, err := similarity.ReadFile(a.File, RowsOf(d))
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	if answers, err = answers.Only(a.Factors); err != nil {
		return nil, fmt.Errorf("answers: %s: factors: %w", a.File, err)
	}
	known, err := labelsFromAnswers(d, answers, a.options(), a.Union)
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	known.Share = a.Share
	return labelSplit(d, known)
}

// labelsFromAnswers returns the labels that follow from answers about a data set. With union, it returns classes; see
// [Answers].
func labelsFromAnswers(
	d datasets.Dataset, answers *similarity.Answers, o similarity.Options, union bool,
) (*Labels, error) {
	if answers.Rows != d.Len() {
		return nil, fmt.Errorf("answers are about %d rows; want the %d images of dataset %s", answers.Rows, d.Len(), d.Name())
	}
	l, list := &Labels{Pairs: []SimilarPair{}}, answers.List
	if union {
		classes, err := similarity.Unite(answers, o)
		if err != nil {
			return nil, err
		}
		l.Classes, list = classes.Of, classes.Kept
		l.Notes = answerNotes(classes, len(answers.List))
	} else if err := answers.Validate(); err != nil {
		return nil, err
	}
	for k, name := range answers.Factors {
		f := factor.Factor{Name: name, Size: 2, Kind: factor.Categorical} // levels are unknown
		if column := slices.IndexFunc(d.Factors(), func(f factor.Factor) bool { return f.Name == name }); column >= 0 {
			f = d.Factors()[column]
		} else if l.Classes != nil {
			f.Size = max(2, int(slices.Max(l.Classes[k]))+1)
		}
		l.Factors = append(l.Factors, f)
	}
	seen := map[similarity.Answer]bool{} // repeated answers count once
	for _, x := range list {
		one := similarity.Answer{A: min(x.A, x.B), B: max(x.A, x.B), Factor: x.Factor, Same: x.Same}
		if x.A != x.B && !seen[one] {
			seen[one] = true
			l.Pairs = append(l.Pairs, SimilarPair{A: int(x.A), B: int(x.B), Factor: int(x.Factor), Different: !x.Same})
			l.Images = append(l.Images, int(x.A), int(x.B))
		}
	}
	l.Images = slices.Compact(slices.Sorted(slices.Values(l.Images)))
	if len(l.Pairs) == 0 {
		return nil, errors.New("no answer about two images is left; want at least one")
	}
	return l, nil
}

// Without removes the labels and pairs of the marked images, also from chains. It returns false if none is left.
func (l *Labels) Without(images []bool) (left bool) {
	left = true
	for _, part := range l.parts {
		left = part.Without(images) && left
	}
	l.Images = slices.DeleteFunc(l.Images, func(i int) bool { return images[i] })
	l.Pairs = slices.DeleteFunc(l.Pairs, func(p SimilarPair) bool { return images[p.A] || images[p.B] })
	list := make([]similarity.Answer, len(l.Pairs))
	for n, p := range l.Pairs {
		list[n] = similarity.Answer{A: int32(p.A), B: int32(p.B), Factor: int32(p.Factor), Same: !p.Different}
	}
	l.Classes = similarity.Rejoin(l.Classes, list)
	return left && len(l.Images) > 0 && (l.Pairs == nil || len(l.Pairs) > 0)
}

// answerNotes counts the dropped and the overruled answers, and the images without a class.
func answerNotes(c *similarity.Classes, count int) []string {
	var notes []string
	add := func(n int, format string, args ...any) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, append([]any{n}, args...)...))
		}
	}
	add(c.Dropped, "%d of %d answers are left out: they belong to classes with a contradiction", count)
	add(c.Overruled, "%d of %d answers are overruled by others", count)
	add(c.Unsure, "%d images are in no class: at this noise rate they have too few answers")
	return notes
}

// RowsOf returns the names of rows in a file of answers about a data set: indices of images, and names of their files.
func RowsOf(d datasets.Dataset) similarity.Rows {
	rows := similarity.Rows{Count: d.Len()}
	if named, ok := d.(datasets.FileNamed); ok && named.FileName(0) != "" {
		rows.Find = named.FindFile
	}
	return rows
}

// Similarity draws Count random pairs of different images that have the same level of one factor. It gives no other
// label (Zhang and Sugiyama 2024, appendix F.2; match pairing in Shu et al. 2020). The factor is uniform. The first
// image is uniform among the images that share their level with another image, and the second is uniform among the
// other images of this level. The images of a pair may also agree in other factors by chance. An unknown level is the
// same as no other level.
//
// With probability Different, the pair has different levels of the factor. The first image is then uniform among the
// images with a known level, and the second is uniform among the images with a different level. With probability Noise,
// a pair is wrong: a similar pair is drawn as a different one, and vice versa.
type Similarity struct {
	Count   int      `yaml:"count" doc:"number of pairs"`
	Share   float64  `yaml:"share" doc:"fraction of every batch that consists of pairs"`
	Factors []string `yaml:"factors" doc:"factors whose level a pair may share; empty: all"`
	Noise   float64  `yaml:"noise" doc:"probability of a wrong pair: a same pair differs, or a different pair shares the level; 0 to less than 1"`

	Different float64 `yaml:"different" doc:"probability of a pair labelled different in the factor, for losses such as separation; 0 to 1"`
}

// maxPairs is the maximum number of pairs (24 bytes each).
const maxPairs = 1 << 26

func (s *Similarity) Validate() error {
	if s.Count < 1 || s.Count > maxPairs {
		return config.Invalid("count", "%d is out of range; want 1 to %d", s.Count, maxPairs)
	}
	if !(s.Noise >= 0 && s.Noise < 1) {
		return config.Invalid("noise", "%v is out of range; want 0 or more, and less than 1", s.Noise)
	}
	if !(s.Different >= 0 && s.Different <= 1) {
		return config.Invalid("different", "%v is out of range; want 0 to 1", s.Different)
	}
	return validPairShare(s.Share, s.Factors)
}

// Split draws the pairs.
func (s *Similarity) Split(d datasets.Dataset, r *rng.Stream) (*Split, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	known := &Labels{Share: s.Share}
	if err := known.chooseFromDataset(d, s.Factors); err != nil {
		return nil, fmt.Errorf("similarity: %w", err)
	}
	sharing, all := make([]byLevel, len(known.Factors)), make([]byLevel, len(known.Factors))
	levels := make([]int, len(d.Factors()))
	for k, f := range known.Factors {
		level := func(i int) int {
			d.FactorsAt(i, levels)
			return levels[known.column[k]]
		}
		size := d.Factors()[known.column[k]].Size
		all[k] = newByLevel(size, d.Len(), level)
		if (s.Noise > 0 || s.Different > 0) && all[k].countLevels() < 2 {
			return nil, fmt.Errorf("similarity: no two images of dataset %s differ in factor %q, as noise and different want; leave it out of factors", d.Name(), f.Name)
		}
		if s.Different == 1 && s.Noise == 0 {
			continue
		}
		sharing[k] = newByLevel(size, d.Len(), func(i int) int {
			l := level(i)
			if l != datasets.Unknown && len(all[k].imagesAt(l)) < 2 {
				return datasets.Unknown // no other image has the level
			}
			return l
		})
		if len(sharing[k].images) == 0 {
			return nil, fmt.Errorf("similarity: no two images of dataset %s agree in factor %q; leave it out of factors",
				d.Name(), f.Name)
		}
	}
	known.Pairs = make([]SimilarPair, s.Count)
	for n := range known.Pairs {
		k := r.IntN(len(sharing))
		different := s.Different > 0 && r.Float64() < s.Different
		draw := sharing[k].drawSame
		if wrong := s.Noise > 0 && r.Float64() < s.Noise; wrong != different {
			draw = all[k].drawDifferent
		}
		a, b := draw(r)
		known.Pairs[n] = SimilarPair{A: a, B: b, Factor: k, Different: different}
		known.Images = append(known.Images, a, b)
	}
	slices.Sort(known.Images)
	known.Images = slices.Compact(known.Images)
	return labelSplit(d, known)
}

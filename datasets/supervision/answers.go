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
// for pictures in a folder, by file name. If the data set does not have the factor, Answers adds a factor with unknown
// levels.
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

// Validate checks the settings.
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

// Reads implements [datasets.FileReader].
func (a *Answers) Reads() []datasets.Read { return datasets.ReadOf("file", a.File) }

// Split reads the file.
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
	known, err := labelsOf(d, answers, a.options(), a.Union)
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	known.Share = a.Share
	return knowing(d, known)
}

// labelsOf returns the labels that follow from answers about the images of a data set. With union, it returns classes;
// see [Answers].
func labelsOf(d datasets.Dataset, answers *similarity.Answers, o similarity.Options, union bool) (*Labels, error) {
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
		l.Notes = notesOf(classes, len(answers.List))
	} else if err := answers.Validate(); err != nil {
		return nil, err
	}
	for k, name := range answers.Factors {
		f := factor.Factor{Name: name, Size: 2, Kind: factor.Categorical} // levels are unknown
		if at := slices.IndexFunc(d.Factors(), func(f factor.Factor) bool { return f.Name == name }); at >= 0 {
			f = d.Factors()[at]
		} else if l.Classes != nil {
			f.Size = max(2, int(slices.Max(l.Classes[k]))+1)
		}
		l.Factors = append(l.Factors, f)
	}
	for _, x := range list {
		if x.A != x.B {
			l.Pairs = append(l.Pairs, SimilarPair{A: int(x.A), B: int(x.B), Factor: int(x.Factor), Different: !x.Same})
			l.Images = append(l.Images, int(x.A), int(x.B))
		}
	}
	slices.Sort(l.Images)
	l.Images = slices.Compact(l.Images)
	if len(l.Pairs) == 0 {
		return nil, errors.New("no answer about two images is left; want at least one")
	}
	return l, nil
}

// notesOf counts the dropped and the overruled answers, and the images without a class.
func notesOf(c *similarity.Classes, count int) []string {
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

package logic

import (
	"errors"

	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// Sentence is a formula about the rows of a batch, together with the operations that convert it to a quantity. [Parse]
// creates sentences; the zero value is no sentence.
type Sentence struct{ tree syntax.Sentence }

// Parse reads a sentence; see the package comment for the grammar. Its error is an [*Error]. [Compile], not Parse,
// checks the names of factors and sub-codes.
func Parse(text string) (Sentence, error) {
	tree, err := syntax.Parse(text)
	return Sentence{tree}, public(err)
}

// Error is the error of [Parse] and [Compile] about a part of a sentence. Line and Column start at 1; Column counts
// characters. Correct the sentence there.
type Error struct {
	Line, Column int
	Part         string // the invalid part; empty if line and column are known
	Message      string
}

func (e *Error) Error() string { return (*syntax.Error)(e).Error() }

// public converts an error about a part of a sentence to an [*Error].
func public(err error) error {
	if e, ok := err.(*syntax.Error); ok {
		return (*Error)(e)
	}
	return err
}

// String returns the sentence as text. Parse(s.String()) is the same sentence.
func (s Sentence) String() string { return s.tree.String() }

// Formula returns the sentence in the symbols of logic, without premetrics, aggregates and multiples.
func (s Sentence) Formula() string { return s.tree.Formula() }

// Quantity returns the formula of the sentence's quantity.
func (s Sentence) Quantity() string { return s.tree.Quantity() }

// UnmarshalText parses a sentence, for use in settings. Its error is an [*Error].
func (s *Sentence) UnmarshalText(text []byte) (err error) {
	*s, err = Parse(string(text))
	return err
}

// MarshalText returns the sentence as text. It returns an error if there is no sentence.
func (s Sentence) MarshalText() ([]byte, error) {
	if s.IsZero() {
		return nil, errNoSentence
	}
	return []byte(s.String()), nil
}

var errNoSentence = errors.New("logic: a sentence without a formula; want one that Parse made")

// IsZero reports whether there is no sentence.
func (s Sentence) IsZero() bool { return s.tree.Body == nil }

// Sampled reports whether the sentence is about samples of the rows' posteriors, `with z ~ q:`.
func (s Sentence) Sampled() bool { return s.tree.Sampled }

// OfSamples returns the sentence about samples of the rows' posteriors instead of their means, as `with z ~ q:` does.
func (s Sentence) OfSamples() Sentence {
	s.tree.Sampled = true
	return s
}

// Moves reports whether the sentence uses transformations between rows.
func (s Sentence) Moves() bool { return s.tree.Moves() }

// Mentions reports whether the sentence uses factors, and whether it uses named sub-codes, such as z.shape.
func (s Sentence) Mentions() (factors, subCodes bool) { return s.tree.Mentions() }

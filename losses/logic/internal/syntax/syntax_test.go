package syntax_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

func parsed(t *testing.T, text string) syntax.Sentence {
	t.Helper()
	return must.Get(syntax.Parse(text))(t)
}

const anyTerm = "a term, such as z(i), y.shape(i) or a number, or a formula, such as (...), not, forall or exists"

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                                    `1:1: found the end, want ` + anyTerm,
		"\n  \n ":                             `3:2: found the end, want ` + anyTerm,
		`forall i: 2 * not z(i) =[squared] 0`: `1:15: found "not", want a term, or the negation in parentheses: (not ...)`,
		`forall i`:                            `1:9: found the end, want : after the variables of a quantifier`,
		`foral i: z(i) =[squared] 0`:          `1:1: found "foral" before "i", want ` + anyTerm + `; did you mean "forall"?`,
		`forall[meen] i: z(i) =[squared] 0`:   `1:8: unknown aggregate "meen" of forall; did you mean "mean"?`,
		`forall[mean i: z(i) =[squared] 0`:    `1:13: found "i", want ] after an aggregate`,
		`forall[mean- square] i: z(i) =[squared] 0`:                    `1:12: found "-", want ] after an aggregate`,
		`forall[mean -square] i: z(i) =[squared] 0`:                    `1:13: found "-", want ] after an aggregate`,
		`exists[max] i: z(i) =[squared] 0`:                             `1:8: max is an aggregate of forall, want one of exists: min, harmonic, harmonic-square, logexp, tanh, soft`,
		`forall i, i: z(i) =[squared] 0`:                               `1:11: the variable i is named twice`,
		`forall z: z(i) =[squared] 0`:                                  `1:8: z stands for all codes, want another name for a variable`,
		`forall in: z(i) =[squared] 0`:                                 `1:8: found "in", want the name of a variable`,
		`forall i in x: z(i) =[squared] 0`:                             `1:13: found "x", want a set: {constants}, y.factor, z or z.factor`,
		`forall v in y: z(i) =[squared] 0`:                             `1:13: found y without the name of a factor, want a set such as y.shape`,
		`forall c, d in {1}: z(i) =[squared] 0`:                        `1:16: 2 variables stand for constants, want one`,
		`exists c, d in z: z(i) =[squared] 0`:                          `1:16: 2 variables stand for points of the codes, want one`,
		`forall c in {1, i}: z(i) =[squared] 0`:                        `1:17: found "i", want a constant: a number, a vector such as [1, 2], or a name in quotes`,
		`forall c in {1 2}: z(i) =[squared] 0`:                         `1:16: found "2", want , or } after a constant`,
		`forall i: z(i) =[sqared] 0`:                                   `1:18: unknown premetric "sqared"; did you mean "squared"?`,
		`forall i: z(i) =[7] 0`:                                        `1:18: found "7", want a premetric: euclidean, squared, absolute, discrete, circular, cosine, kl or wasserstein`,
		`forall i: z(i) =[circular 0] 0`:                               `1:27: found "0", want a period of more than 0`,
		`forall i: z(i) =[squared 2] 0`:                                `1:26: found "2", want ] after a premetric`,
		`forall i: z(i) !=[squared] 0`:                                 `1:16: found != with a premetric, want not (a =[squared] b)`,
		"forall i:\n  z(i) =[squared] 0 an z(i) = 0":                   `2:21: found "an", want the end, or an operator (and, or, ->); did you mean "and"?`,
		`forall i: (z(i) =[squared] 0`:                                 `1:29: found the end, want ) that closes a parenthesis`,
		`forall i: z(i) =[squared] 0)`:                                 `1:28: found ")", want the end, or an operator (and, or, ->)`,
		`forall i: z(i) -> z(i) =[squared] 0`:                          `1:16: found "->", want =, !=, or =[premetric] after a term`,
		`forall i: (z(i))`:                                             `1:11: found a term, want a formula, such as an equality of two terms`,
		`forall i: z(i) and z(i) =[squared] 0`:                         `1:16: found "and", want =, !=, or =[premetric] after a term`,
		`forall i: z(i) < 0`:                                           `1:16: found '<', which has no meaning in sentences`,
		`∀ i: z(i) =[squared] 0`:                                       `1:1: found '∀', which has no meaning in sentences; want forall`,
		`forall i: z(i) == 0`:                                          `1:16: found ==, want =`,
		`forall i: z(i) 0`:                                             `1:16: found "0", want =, !=, or =[premetric] after a term`,
		`forall i: z(i) =[squared] (i = i)`:                            `1:27: found a formula, want a term`,
		`forall i: i = i = i`:                                          `1:17: found "=", want and between two equalities`,
		`exist(i)`:                                                     `1:1: found "exist", want a formula; did you mean "exists"?`,
		`forall i: x(i) =[squared] 0`:                                  `1:11: found "x" before "(", want y (factors) or z (codes); or bind a function: exists x: z -> y in affine: ...`,
		`forall i: z.(i) =[squared] 0`:                                 `1:13: found "(", want the name of a factor`,
		`forall i: z.shape =[squared] 0`:                               `1:19: found "=", want ( and the variable of a row`,
		`forall i: z(0) =[squared] 0`:                                  `1:13: found "0", want the variable of a row`,
		`forall i: z(i =[squared] 0`:                                   `1:15: found "=", want ) after the variable of a row`,
		`forall i: z[2:1](i) =[squared] 0`:                             `1:15: found columns 2:1, want a second number that is larger than the first`,
		`forall i: z[1.5](i) =[squared] 0`:                             `1:13: found "1.5", want the number of a column, from 0 on`,
		`forall i: z[1;2](i) =[squared] 0`:                             `1:14: found ';', which has no meaning in sentences`,
		`forall i: z[1(i) =[squared] 0`:                                `1:14: found "(", want , or ] after columns`,
		`forall i: z(i) =[squared] [1 2]`:                              `1:30: found "2", want , or ] in a vector`,
		`forall i: z(i) =[squared] [i]`:                                `1:28: found "i", want a number of a vector`,
		`forall i: z(i) =[squared] 2.`:                                 `1:28: found ".", want the end, or an operator (and, or, ->)`,
		`forall i: z(i) =[squared] 2e+`:                                `1:28: found "e", want the end, or an operator (and, or, ->)`,
		`forall i: z(i) =[squared] 1e999`:                              `1:27: found 1e999, want a number that float64 holds`,
		`forall i: y.shape(i) = "heart`:                                `1:24: found a quotation without an end or with a wrong escape, want a name in double quotes on one line`,
		`forall i: y.shape(i) = ""`:                                    `1:24: found "", want a nonempty name`,
		`-2 * (forall i: z(i) =[squared] 0)`:                           `1:1: a formula is multiplied by -2, want a number above 0`,
		`forall i: größe(i) = 0`:                                       `1:11: found "größe" before "(", want y (factors) or z (codes); or bind a function: exists größe: z -> y in affine: ...`,
		`with and = sum: forall i: z(i) =[squared] 0`:                  `1:12: unknown operation "sum" of and; known: add, max, logexp, norm, root, product`,
		`with or = harmonik: forall i: z(i) =[squared] 0`:              `1:11: unknown operation "harmonik" of or; did you mean "harmonic"?`,
		`with xor = max: forall i: z(i) =[squared] 0`:                  `1:6: found "xor", want a connective (and, or, -> or not), or z ~ q`,
		`with and max: forall i: z(i) =[squared] 0`:                    `1:10: found "max", want = and an operation`,
		`with and = max, and = max: z(i)`:                              `1:17: the operation of and is set twice`,
		`with and = max forall i: z(i) =[squared] 0`:                   `1:16: found "forall", want , or : after a setting`,
		`with and = 3: forall i: z(i) =[squared] 0`:                    `1:12: found "3", want an operation`,
		`exists h: z -> y in affine: forall i: h.a(z(i)) =[squared] 0`: `1:40: found ".", want ( and the argument of a function`,
		"forall i: z(i) =[squared] \x80":                               `1:27: found a byte that is not UTF-8`,
		strings.Repeat("(", 5000):                                      `1:286: parts are nested too deeply`,
		strings.Repeat("i", 20000):                                     `1:16385: a sentence of 20000 bytes, want at most 16384`,
	} {
		_, err := syntax.Parse(text)
		var e *syntax.Error
		if !errors.As(err, &e) || err.Error() != want {
			t.Errorf("%.80s: %v, want %s", text, err, want)
		}
	}
}

func TestMentions(t *testing.T) {
	for text, want := range map[string][2]bool{
		`forall i: z(i) =[absolute] 0`:                                                   {false, false},
		`forall i: z[0:2](i) =[absolute] 0`:                                              {false, false},
		`forall i: z.shape(i) =[absolute] 0`:                                             {false, true},
		`exists c in z.shape: forall i: z.shape(i) =[euclidean] c`:                       {false, true},
		`forall i: z(i) =[absolute] y(i)`:                                                {true, false},
		`forall v in y.shape: forall i: z(i) =[absolute] 0`:                              {true, false},
		`forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[squared] z.shape(j)`: {true, true},
	} {
		if factors, subCodes := parsed(t, text).Mentions(); [2]bool{factors, subCodes} != want {
			t.Errorf("%s: mentions factors %v, sub-codes %v; want %v", text, factors, subCodes, want)
		}
	}
}

func TestCompared(t *testing.T) {
	for text, want := range map[string][]string{
		`forall i: z(i) =[absolute] y.a(i)`:                                                        nil,
		`forall i, j: y.a(i) != y.a(j) -> z(i) =[squared] z(j)`:                                    nil,
		`forall i, j: y.a(i) = y.a(j) and y.b(i) = 0 -> z(i) =[squared] y.c(j)`:                    {"a", "b"},
		`forall v in y.a: forall i: y.a(i) = v -> z(i) =[squared] 0`:                               {"a"},
		`exists m: y.a -> z.a, h: y.b -> z in affine: forall[mean] i: m(y.a(i)) =[squared] z.a(i)`: {"a"},
	} {
		must.EqualSlices(t, parsed(t, text).Compared(), want, text)
	}
}

// TestNames tests that every operation has a name, and that the name sets the operation.
func TestNames(t *testing.T) {
	for c, n := range map[string]int{"and": 6, "or": 5, "->": 7, "not": 3} {
		for i := range n {
			var q syntax.Quantale
			switch c {
			case "and":
				q.And = syntax.Conjunction(i)
			case "or":
				q.Or = syntax.Disjunction(i)
			case "->":
				q.Implies = syntax.Implication(i)
			default:
				q.Not = syntax.Negation(i)
			}
			s, err := syntax.Parse(syntax.Sentence{Quantale: q, Sampled: true, Body: parsed(t, "forall i: i = i").Body}.String())
			if err != nil || s.Quantale != q {
				t.Errorf("%v is parsed as %v, %v", q, s.Quantale, err)
			}
		}
	}
	must.Equal(t, fmt.Sprint(syntax.Crisp, syntax.Circular, syntax.NotInverse, syntax.AnyFunction, syntax.ByBody),
		"crisp circular inverse any body")
}

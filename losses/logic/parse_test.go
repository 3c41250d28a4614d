package logic

import (
	"errors"
	"reflect"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// TestParse compares texts with built sentences.
func TestParse(t *testing.T) {
	i, j, v, c := syntax.Variable("i"), syntax.Variable("j"), syntax.Variable("v"), syntax.Variable("c")
	atom := Equal(syntax.Euclidean, Codes(i), Codes(j))
	zero := Equal(syntax.Squared, Codes(i), syntax.Number(0))
	for text, want := range map[string]syntax.Sentence{
		`forall i, j: z(i) =[euclidean] z(j)`:                                                 {Body: ForAll(factor.Max, Rows("i", "j"), atom)},
		"forall[max] i,j:z(i)=[euclidean]z(j)":                                                {Body: ForAll(factor.Max, Rows("i", "j"), atom)},
		"forall [mean-square] i:\n\tforall[sum] j: z(i)=[euclidean]z(j)":                      {Body: ForAll(factor.MeanSquare, Rows("i"), ForAll(factor.Sum, Rows("j"), atom))},
		`exists[min] i: 0.5 * forall[mean] j: z(i) =[euclidean] z(j)`:                         {Body: Exists(Rows("i"), Scale(0.5, ForAll(factor.Mean, Rows("j"), atom)))},
		`with and = add, or = min, -> = monus, not = complement: forall i: z(i) =[squared] 0`: {Body: ForAll(factor.Max, Rows("i"), zero)},
		`with and = logexp, or = harmonic-square, -> = max, not = inverse: forall i: z(i) =[squared] 0`: {
			Quantale: syntax.Quantale{And: syntax.AndLogExp, Or: syntax.OrHarmonicSquare, Implies: syntax.ImpliesMax,
				Not: syntax.NotInverse}, Body: ForAll(factor.Max, Rows("i"), zero)},
		`forall i: not z(i) =[squared] 0 and z(i) =[squared] 0 or z(i) =[squared] 0 -> z(i) =[squared] 0 -> z(i) =[squared] 0`: {
			Body: ForAll(factor.Max, Rows("i"), Implies(Or(And(Not(zero), zero), zero), Implies(zero, zero)))},
		`forall i: z(i) =[squared] 0 and (z(i) =[squared] 0 and z(i) =[squared] 0) and 2 * (z(i) =[squared] 0)`: {
			Body: ForAll(factor.Max, Rows("i"), And(zero, And(zero, zero), Scale(2, zero)))},
		`(forall i: z(i) =[squared] 0) or not exists i: z(i) =[squared] 0`: {Body: Or(ForAll(factor.Max, Rows("i"), zero), Not(Exists(Rows("i"), zero)))},
		`forall v in y.shape: forall i: y.shape(i) = v -> z.shape(i) =[circular 6.25] z[0:2](i) - 2 * [1, -1] + -z[3, 0](i)`: {
			Body: ForAll(factor.Max, Values("shape", "v"), ForAll(factor.Max, Rows("i"), Implies(Same(Factor("shape", i), v),
				EqualCircular(6.25, SubCode("shape", i),
					Plus(Minus(CodeColumns(i, syntax.Range{Lo: 0, Hi: 2}), Times(2, syntax.Vector{1, -1})),
						Times(-1, CodeColumns(i, syntax.Range{Lo: 3, Hi: 4}, syntax.Range{Lo: 0, Hi: 1})))))))},
		`exists c in {-1, 0.5e1}: exists i: i != i or y(i) = y[0:3](i) or z[2](i) =[circular] 0.5 * (c - -2)`: {
			Body: Exists(Members("c", syntax.Number(-1), syntax.Number(5)),
				Exists(Rows("i"), Or(Differ(i, i), Same(Factors(i), FactorColumns(i, syntax.Range{Lo: 0, Hi: 3})),
					Equal(syntax.Circular, CodeColumns(i, syntax.Range{Lo: 2, Hi: 3}), Times(0.5, Minus(c, syntax.Number(-2)))))))},
		`exists c in {"heart", "a \"b\""}: exists i: y.shape(i) = c and z."x y"(i) =[absolute] y."x y"(i)`: {
			Body: Exists(Members("c", syntax.Level("heart"), syntax.Level(`a "b"`)),
				Exists(Rows("i"), And(Same(Factor("shape", i), c), Equal(syntax.Absolute, SubCode("x y", i), Factor("x y", i)))))},
		`exists c in z[0, 2:4]: forall[mean] i: z[0, 2:4](i) =[euclidean] c`: {
			Body: Exists(PointsOf("c", syntax.Range{Lo: 0, Hi: 1}, syntax.Range{Lo: 2, Hi: 4}),
				ForAll(factor.Mean, Rows("i"), Equal(syntax.Euclidean, CodeColumns(i, syntax.Range{Lo: 0, Hi: 1}, syntax.Range{Lo: 2, Hi: 4}), c)))},
		`exists c in z."in": forall i: z."in"(i) =[discrete] c`: {
			Body: Exists(Points("c", "in"), ForAll(factor.Max, Rows("i"), Equal(syntax.Discrete, SubCode("in", i), c)))},
	} {
		got, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := unplaced(got); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is parsed as %v, want %v", text, got, want)
		}
		if again, err := Parse(got.String()); err != nil || !reflect.DeepEqual(unplaced(again), want) {
			t.Errorf("%s is printed as %v, which is parsed as %v, %v", text, got, again, err)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	crispHint := " is 0 or infinity here, without a gradient; want a premetric, such as =[euclidean], or crisp equalities only as what restricts a quantifier (forall i: ... -> ..., exists i: ... and ...)"
	for text, want := range map[string]string{
		`forall i: z(i) = 0`:                                                   `1:16: a plain = of codes has no gradient; want a premetric, such as =[euclidean]`,
		`forall i: z(k) =[squared] 0`:                                          `1:11: there is no variable k; known: i`,
		`z(k) =[squared] 0`:                                                    `1:1: there is no variable k; want a quantifier that binds it, such as forall k: ...`,
		`forall i: z.shap(i) =[squared] 0`:                                     `1:11: there is no sub-code "shap"; did you mean "shape"?`,
		`forall i: y.sape(i) =[squared] 0`:                                     `1:11: there is no factor "sape"; did you mean "shape"?`,
		`forall v in y.hu: forall i: z(i) =[squared] 0`:                        `1:13: there is no factor "hu"; did you mean "hue"?`,
		`forall i: z[2:5](i) =[squared] 0`:                                     `1:11: columns 2:5 do not exist: the codes have 4 columns`,
		`forall i: y[3](i) =[squared] 0`:                                       `1:11: columns 3:4 do not exist: the factors have 3 columns`,
		`forall i: z[0:2, 1](i) =[squared] 0`:                                  `1:11: column 1 is named twice`,
		`forall i: z(i) =[squared] z.shape(i)`:                                 `1:16: a term has 4 columns and the other 2 columns, want terms of one width`,
		`forall i: z(i) + y(i) =[squared] 0`:                                   `1:16: a term has 4 columns and the other 3 columns, want terms of one width`,
		`forall i: i =[squared] 0`:                                             `1:11: i stands for a row; want its code or factor, such as z(i)`,
		`forall v in y.hue: z(v) =[squared] 0`:                                 `1:20: v stands for a value of a factor, want a variable that stands for a row`,
		`forall i: forall i: z(i) =[squared] 0`:                                `1:11: the variable i is bound already, want another name`,
		`forall i: y.shape(i) = y.hue(i) -> z(i) =[squared] 0`:                 `1:22: y.shape(i) and y.hue(i) are values of different factors, want =[absolute] or another premetric`,
		`forall i: i = 3 -> z(i) =[squared] 0`:                                 `1:13: i and 3 cannot be compared; want two rows, two values of one factor, or a factor and a constant`,
		`forall i: y(i) = [1, 2] -> z(i) =[squared] 0`:                         `1:16: a term has 3 columns and the other 2 columns, want terms of one width`,
		`forall i: y.hue(i) = "red" -> z(i) =[squared] 0`:                      `1:20: the factor hue has no level "red"`,
		`forall i: y.shape(i) = "hart" -> z(i) =[squared] 0`:                   `1:22: the factor shape has no level "hart"; did you mean "heart"?`,
		`forall i: y.shape(i) + 1 = 2 -> z(i) =[squared] 0`:                    `1:26: a plain = of a sum or multiple; want a premetric, such as =[absolute]`,
		`forall i: z(i) =[squared] "heart"`:                                    `1:27: the name of a level has no distance; want a plain = between it and a factor`,
		`forall c in {"heart"}: forall i: z(i) =[squared] c`:                   `1:50: c stands for the name of a level, which has no distance; want a plain = between it and a factor`,
		`forall c in {1, [1, 2]}: forall i: z(i) =[squared] 0`:                 `1:13: the constants of a set are of different kinds; want numbers, or vectors of one width, or names of levels`,
		`forall i, j: y.shape(i) = y.shape(j)`:                                 `1:1: forall i, j: y.shape(i) = y.shape(j)` + crispHint,
		`forall i: z(i) =[squared] 0 -> y.shape(i) = "heart"`:                  `1:43: y.shape(i) = "heart"` + crispHint,
		`forall i: z(i) =[squared] 0 and y.shape(i) = "heart"`:                 `1:44: y.shape(i) = "heart"` + crispHint,
		`forall i: z(i) =[squared] 1e200`:                                      `1:27: the number 1e+200 is out of range`,
		`exists c in z: forall i: z(i) =[euclidean] 0`:                         `1:1: ` + wantCentre,
		`exists c in z: forall i: y(i) =[euclidean] c`:                         `1:1: ` + wantCentre,
		`exists c in z: forall i: [1, 2] =[euclidean] c`:                       `1:1: ` + wantCentre,
		`exists c in z: forall c: z(c) =[euclidean] c`:                         `1:1: ` + wantCentre,
		`exists c in z: exists i: z(i) =[euclidean] c`:                         `1:1: ` + wantCentre,
		`exists c in z: forall i in y.hue: z[0](i) =[euclidean] c`:             `1:1: ` + wantCentre,
		`exists c in z: forall i: 2 * (z(i) =[euclidean] c)`:                   `1:1: ` + wantCentre,
		`forall j: exists c in z: forall i: z(j) =[euclidean] c`:               `1:11: ` + wantCentre,
		`forall c: exists c in z: forall i: z(i) =[euclidean] c`:               `1:11: the variable c is bound already, want another name`,
		`exists c in z.hue: forall i: z(i) =[euclidean] c`:                     `1:13: there is no sub-code "hue"; known: big, shape, x y`,
		`exists c in z: forall i: i = c`:                                       `1:1: ` + wantCentre,
		`exists c in z: forall i: z(i) =[euclidean] c + 1`:                     `1:1: ` + wantCentre,
		`exists c in z: z(c) =[squared] 0`:                                     `1:1: ` + wantCentre,
		`exists c in z: forall i: z(i) =[absolute] c`:                          `1:31: =[absolute] with forall[max] has no exact solution here: ` + wantCentre,
		`exists c in z: forall i: z.shape(i) =[euclidean] c`:                   `1:37: z.shape(i) has other columns than the points of z: ` + wantCentre,
		`forall[mean] c in z: forall i: z(i) =[euclidean] c`:                   `1:1: ` + wantCentre,
		`exists c in z: forall i, j: z(i) =[euclidean] c`:                      `1:1: ` + wantCentre,
		`exists c in z: forall i: z(i) =[euclidean] c and z(i) =[euclidean] c`: `1:1: ` + wantCentre,
		`exists c in z: forall i: i = c -> z(i) =[euclidean] c`:                `1:1: ` + wantCentre,
		`forall i: 1e200 * z(i) =[squared] 0`:                                  `1:11: the factor 1e+200 is out of range`,
		`forall g(i, j): z(i) =[squared] 0`:                                    `1:1: a quantifier without a variable`,
		`exists c in z: forall[mean-square] i: z(i) =[squared] c`:              `1:44: =[squared] with forall[mean-square] has no exact solution here: ` + wantCentre,
	} {
		_, err := Compile(parsed(t, text), testSchema)
		var e *Error
		if !errors.As(err, &e) || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestSchemaErrors tests errors of schemas, and of an empty sentence.
func TestSchemaErrors(t *testing.T) {
	must.ErrorOf(Compile(Sentence{}, testSchema))(t, "a sentence without a formula")
	for want, s := range map[string]Schema{
		"codes of 0 columns":                   {},
		"sub-code a has no columns":            {Codes: 1, SubCodes: map[string][]int{"a": {}}},
		"sub-code a has column 1":              {Codes: 1, SubCodes: map[string][]int{"a": {1}}},
		`factor 1 is called "a"`:               {Codes: 1, Factors: []string{"a", "a"}},
		`there is no such factor; known: a`:    {Codes: 1, Factors: []string{"a"}, Levels: map[string][]string{"hue hue": nil}},
		`schema of a sentence: codes of 0 col`: {},
	} {
		must.ErrorOf(Compile(parsed(t, `forall i: z(i) =[squared] 0`), s))(t, want, s)
	}
}

// TestSettings reads and writes sentences as settings.
func TestSettings(t *testing.T) {
	var s Sentence
	if _, err := s.MarshalText(); err == nil {
		t.Error("no sentence is written")
	}
	for _, text := range []string{"", "forall"} {
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if err := s.UnmarshalText([]byte("  forall   i: z(i)=[squared]0\n")); err != nil {
		t.Error(err)
	}
	if text, err := s.MarshalText(); err != nil || string(text) != "forall i: z(i) =[squared] 0" {
		t.Errorf("it is written as %s, %v", text, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range largeSentences() {
		f.Add(text)
	}
	for seed := range 40 {
		f.Add(randomSentence(seed).String())
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		printed := s.String()
		again, err := Parse(printed)
		if err != nil {
			t.Fatalf("%s is printed as %s: %v", text, printed, err)
		}
		if !reflect.DeepEqual(unplaced(again), unplaced(s)) || again.String() != printed {
			t.Fatalf("%s is printed as %s, which is another sentence", text, printed)
		}
		s.Formula()
		s.Quantity()
		s.Truth()
		if q, err := Compile(s, testSchema); err == nil {
			b := batches(1, 2)["grid"]
			if v, err := q.Value(b.z, b.y, b.labels); err == nil && !(v >= 0) {
				t.Fatalf("%s is %v", text, v)
			}
		}
	})
}

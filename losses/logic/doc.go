// Package logic turns sentences about the codes and factors of a batch into losses, by the conversion of Zhang and
// Sugiyama 2024 (table 1 and appendix B). Equality becomes a strict premetric, connectives become operations of a
// quantale on [0, inf], quantifiers become aggregators, and 0 is truth. Package syntax has the language.
//
// [Compile] checks a sentence against a [Schema] and returns a [Quantity]: a function of numbers ([Quantity.Value]) or
// a differentiable node ([Quantity.Node]). It resolves the names of the syntax tree, which gives a typed program
// (internal/program). Package internal/eval computes the program for batches. Parts of the program that are named
// losses become operations of package losses.
//
// # Cost
//
// Equalities of a factor that restrict a quantifier become groups of rows. Some parts of a sentence are named losses:
// variance, diameter, mpd, radius, mad of the values of a factor, contraction, and weighted sums of these. The
// operations of the losses compute such parts, and the same kernels compute distances of pairs within groups. Named
// losses in a sentence use the plain estimator, the rows themselves, even if the loss in a config has another default.
// Any other part costs a few nanoseconds for every tuple of rows and every column; memory is linear in the rows. A
// sentence of more than 1e9 tuples is an error.
package logic

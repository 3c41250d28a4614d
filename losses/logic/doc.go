// Package logic turns sentences about the codes and factors of a batch into losses, by the conversion of Zhang and
// Sugiyama 2024 (table 1 and appendix B). Equality becomes a strict premetric, connectives become operations of a
// quantale on [0, inf], quantifiers become aggregators, and 0 is truth.
//
// [Parse] reads a sentence. [Compile] checks it against a [Schema] and returns a [Quantity]: a function of numbers
// ([Quantity.Value]) or a differentiable node ([Quantity.Node]). [Sentence.Truth] says what a quantity of 0 means.
//
//	forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[euclidean] z.shape(j)
//
// says that rows of equal shape have equal sub-codes z.shape; its quantity is the mean distance of the sub-codes of such
// rows.
//
// # Grammar
//
//	sentence   = [ "with" setting { "," setting } ":" ] formula .
//	setting    = ( "and" | "or" | "->" | "not" ) "=" operation | "z" "~" "q" .
//	formula    = or [ "->" formula ] .
//	or         = and { "or" and } .
//	and        = not { "and" not } .
//	not        = "not" not | scaled | equality | independent .
//	scaled     = number "*" scaled | quantified | "(" formula ")" .
//	quantified = ( "forall" | "exists" ) [ "[" aggregate "]" ] name { "," name } { "," move } [ "in" set ] ":" formula
//	           | "exists" function { "," function } ":" formula .
//	function   = name [ "." name ] ":" space "->" space [ "in" class ] [ "by" fit ] .
//	class      = "affine" | "linear" | "isometry" | "mlp" [ [ ":" ] "{" "layers" ":" "[" number { "," number } "]" "}" ] .
//	fit        = "least squares" | "absolute" | "max" .
//	move       = name "(" name "," name ")" .
//	independent = "independent" [ "[" ( "hsic" | "tc" | "discriminator" ) "]" ] "(" space "," space { "," space } ")" .
//	set        = "y." factor | "{" constant { "," constant } "}" | space .
//	equality   = term ( "=" | "!=" | "=[" premetric [ period ] "]" ) term .
//	term       = product { ( "+" | "-" ) product } .
//	product    = number "*" product | "-" product | "(" term ")" | name | constant | space "(" name ")"
//	           | name [ "." name ] "(" term ")" | "act" [ "[" number "]" ] "(" name [ "." name ] "," term ")" .
//	space      = ( "y" | "z" ) [ "." name | "[" columns { "," columns } "]" ] .
//	columns    = number [ ":" number ] .
//	constant   = number | "[" number { "," number } "]" | string .
//
// The body of a quantifier extends as far as possible. Names are letters, digits and underscores, or anything in double
// quotes after a dot: y."object hue"(i). y stands for factors and z for codes. z(i) is the whole code of row i,
// z.shape(i) the sub-code of the factor shape, z[0:2](i) are columns 0 and 1, and z[0, 3](i) columns 0 and 3. y(i),
// y.shape(i) and y[0](i) are values of factors.
//
// A program builds a sentence as a text. The verb %q of package fmt quotes any name after a dot: y.%q(i).
//
// # Variables
//
//	i, j                 rows of the batch
//	v in y.shape         values of a factor that occur in the batch
//	c in {0, 0.5, 1}     constants: numbers, vectors or names of levels
//	c in z.shape         points of R^k, in one form, below
//	h: z -> y in affine  functions, in some forms, below
//	g(i, j)              the known transformation of the data from row i to row j
//
// A row variable ranges over the rows in which all factors in the body of the quantifier are known. With y.shape(i) in
// the body, i ranges over the rows of known shape.
//
// # Moves
//
// forall i, j, g(i, j): ... ranges over the pairs of rows with a known transformation of the data between them. In
// training these pairs lie within the groups of a supervision such as pairs. In a metric they agree in all factors
// except circular factors and rotations in space. act(g, z(i)) are the codes of row i after the transformation that
// takes the data from row i to row j:
//
//	of a circle      pairs of columns (a, b) -> (a cos t - b sin t, a sin t + b cos t), t = w (angle of j - angle of i)
//	of rotations     three columns each, R_j R_i^-1 z
//
// with the frequency w of act[w](g, z(i)), 1 by default. Each factor moves the sub-code of its name, act(g,
// z.angle(i)). act(g, z(i)) moves all these sub-codes and leaves other columns unchanged; act(g.angle, z[0:2](i)) moves
// the columns given. act(g, y.angle(i)) adds the angle to a circular factor, in turns: compare it by =[circular]. The
// quantity of
//
//	forall[mean] i, j, g(i, j): z(j) =[squared] act(g, z(i))
//
// is twice losses.LSBD without a projection. For codes that are whitened as in D_LSBD, it is twice D_LSBD at the
// frequency.
//
// # Independence
//
// independent(z.a, z.b, ...) says that sub-codes are independent over the rows of the batch. Its quantity is
//
//	hsic             the default: the Hilbert-Schmidt independence criterion of z.a and all later sub-codes together, plus the
//	                 criterion of z.b and all later ones, ...: 0 exactly if they are independent in a row drawn at random
//	tc               the total correlation in nats of the normal distribution with the codes' covariance, 0 also for uncorrelated
//	                 codes. Training with Gaussian posteriors estimates it from their densities; the estimate may be below 0
//	discriminator    the total correlation estimated by a discriminator that is trained along; not for metrics
//
// # Equality
//
// a =[premetric] b is a distance of numbers, or of vectors of one width. A number next to a vector denotes the vector
// with that number in every column.
//
//	euclidean    sqrt(sum_k (a_k - b_k)^2)
//	squared      sum_k (a_k - b_k)^2
//	absolute     sum_k |a_k - b_k|
//	discrete     number of columns that differ; without a gradient
//	circular P   sum_k min(t, P - t), t = |a_k - b_k| mod P; P is 1 by default
//	cosine       1 - <a, b> / (|a| |b|); 0 if both vectors are 0, 1 if one is
//
// Cosine is not a strict premetric: it is 0 also between vectors with equal directions. Two more premetrics compare the
// Gaussian posteriors of the rows, in columns of the codes (z(i), z.shape(i) or z[0:2](i) on both sides). The means are
// a_k and b_k, the standard deviations s_k and r_k, and t_k = 2 log(s_k / r_k). Both premetrics are 0 exactly where
// means and variances are equal:
//
//	kl           sum_k (e^t_k - 1 - t_k + ((a_k - b_k) / r_k)^2) / 2, in nats: the divergence of the
//	             first row's posterior from the second row's, KL(first || second)
//	wasserstein  sqrt(sum_k (a_k - b_k)^2 + (s_k - r_k)^2), the 2-Wasserstein distance
//
// A plain a = b, and a != b, are crisp: true or false, 0 or infinity, without a
// gradient. They compare rows, values of factors (levels with levels, by their
// labels; a value with a number, as float32), and constants, but not codes. A crisp
// formula is allowed where it cannot make the sentence infinite:
//
//   - forall i, j: crisp -> ... restricts the domain of the quantifier, and so does
//     exists i: crisp and ...: the aggregate is over the remaining tuples.
//     forall over nothing is 0, exists over nothing is infinite;
//   - crisp -> a elsewhere is a if the crisp formula is true, otherwise 0;
//   - crisp or a, which is 0 or a.
//
// # Connectives
//
// The operation of a connective is set for a whole sentence: `with and = max, -> = norm: ...`.
//
//	and   add              a + b                              the default
//	      max              max(a, b)
//	      logexp           log(e^a + e^b - 1)                 example 14
//	      norm             sqrt(a^2 + b^2)
//	      root             a + b + 2 sqrt(a b)
//	      product          a + b + a b
//	or    min              min(a, b)                          the default
//	      harmonic         a b / (a + b)                      example 15
//	      harmonic-square  a b / sqrt(a^2 + b^2)
//	      logexp           -log(e^-a + e^-b - e^-(a+b))
//	      tanh             artanh(tanh a tanh b)
//	->    monus            b - a                              the default; all if a < b, otherwise 0
//	      max              b                                  example 17; it jumps at a = b
//	      logexp           log(1 + e^b - e^a)                 lemma 13: the adjoints of the
//	      norm             sqrt(b^2 - a^2)                    conjunctions of these names
//	      root             (sqrt b - sqrt a)^2
//	      product          (b - a) / (1 + a)
//	      strict           b if a is 0, otherwise 0           example 16
//	not   complement       max(1 - a, 0)                      the default
//	      inverse          1 / a, infinite where a is 0       appendix B.5
//	      strict           1 if a is 0, otherwise 0           equation 69
//
// With the strict operations zero is equivalent to truth, but they jump where a goes to 0. They
// are allowed if a does not vary with the codes: for crisp equalities, =[discrete], values of
// factors, and formulas of these.
//
// 0.5 * (...) multiplies a quantity by a positive number, which keeps truth.
//
// # Quantifiers
//
// forall aggregates by max, as the supremum of the paper, or by forall[mean],
// forall[sum] or forall[mean-square] (the mean of squares, without a root); exists
// takes the least. The variables of one quantifier are aggregated together, over
// all tuples. Conjunctions and disjunctions of all quantities are further aggregates
// (appendix B.10; a_k are the quantities of n tuples):
//
//	forall[logexp]           log(1 + sum_k (e^a_k - 1))
//	forall[norm]             sqrt(sum_k a_k^2)
//	forall[root]             (sum_k sqrt a_k)^2
//	forall[product]          prod_k (1 + a_k) - 1
//	exists[harmonic]         1 / sum_k 1/a_k
//	exists[harmonic-square]  1 / sqrt(sum_k 1/a_k^2)
//	exists[logexp]           -log(1 - prod_k (1 - e^-a_k))
//	exists[tanh]             artanh(prod_k tanh a_k)
//	exists[soft T]           -T log(sum_k e^(-a_k/T) / n)
//
// The homomorphic aggregates are 0 exactly where the quantifier is true of the zeros of a_k. Only the soft minimum is
// not homomorphic: it is 0 only where all a_k are. It is between the least a_k, its limit at low temperatures T, and
// the mean, its limit at high ones, and has a gradient in every a_k. harmonic and harmonic-square of n equal quantities
// fall with n, logexp and tanh are products that vanish in large domains of small quantities.
//
// exists over R^k is solved exactly for the deviations of the paper's
// examples 2 to 4,
//
//	exists c in z.shape: forall[aggregate] i: crisp -> z.shape(i) =[euclidean] c
//
// with max (the radius of the smallest enclosing ball), mean and sum (from the geometric median) and mean-square (the
// variance). With =[squared], max, mean and sum are solved. It is an error elsewhere.
//
// # Functions
//
// exists h: z -> y in affine: ... says that there is an affine map from codes to factors; h(z(i)) is its value at a
// row. Functions go between any columns of codes and factors, and are affine, linear, or an isometry (orthonormal, with
// an offset). Without a class, any function qualifies, but its arguments must be levels of factors: m.shape: y.shape ->
// z.shape has a point for each level, and m: y -> z for each tuple of levels.
//
// The body is minimised exactly, with the gradient through the optimum (envelope theorem), in the following forms. Each
// function stands alone on a side of one equality, under forall over rows:
//
//	forall[mean], [sum]    =[squared]    least squares; of levels the mean, of isometries Procrustes
//	forall[mean-square]    =[euclidean]  the same
//	forall[mean], [sum]    =[absolute]   least absolute deviations; of levels the median of a column
//	forall[mean], [sum]    =[euclidean]  least mean length, to a proven gap of 1e-10; of levels the
//	                                     geometric median
//	forall                 =[euclidean]  least largest length, with =[squared] its square; of levels
//	                                     the smallest ball; for one column also =[absolute]
//
// Several functions are found separately: in operands of and, of or, and right of ->, with weights. Under forall[mean]
// and [sum] they may stand in operands of an `and` that is add, under forall in operands of an `and` that is max. A
// function of levels may stand under forall v in y.shape, around the rows with y.shape(i) = v. Everything beyond these
// forms is an error.
//
// A function in mlp is a network of tanh units: 64, or the widths in layers. Training updates its parameters along with
// the model's, by the gradient of the quantity. Any body may apply it, to codes or factors of a row. [Quantity.ValueOf]
// fits it: the least of five local minima that L-BFGS finds, each until 100 steps lower the quantity by less than 1e-6
// of it. Its quantifier must be a summand of the sentence.
//
// A function with by least squares, by absolute or by max is fitted by the criterion of this name: mean square
// distance, mean absolute deviation of each column, or largest Euclidean distance. Then the body is evaluated, with any
// aggregate and =[euclidean], [squared] or [absolute]. The result is an upper bound of the body's least quantity. The
// gradient is the derivative through the fitted function, by the normal equations or by the rows that determine it.
// With fewer rows than columns, and at ties, the rows do not determine it; the gradient then takes one choice.
//
// [Quantity.Approximation] returns the functions.
//
// # Samples
//
// `with z ~ q: ...` takes samples of the rows' posteriors q instead of their means: z(i) is one sample of row i, the
// same everywhere in the sentence. kl and wasserstein compare the posteriors themselves.
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

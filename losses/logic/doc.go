// Package logic converts sentences about the codes and factors of a batch into losses (Zhang and Sugiyama 2024, table 1
// and appendix B). Equality becomes a strict premetric, connectives become operations of a quantale on [0, inf], and
// quantifiers become aggregators. 0 means true.
//
// [Parse] reads a sentence. [Compile] checks it against a [Schema] and returns a [Quantity]. A Quantity is a function
// of numbers ([Quantity.Value]) and a differentiable node ([Quantity.Node]). [Sentence.Truth] says what a quantity of 0
// means.
//
//	forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[euclidean] z.shape(j)
//
// says that rows with equal shape have equal sub-codes z.shape; its quantity is the mean distance between the sub-codes
// of such rows.
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
// A program can build a sentence as a string. The verb %q of package fmt quotes any name after a dot: y.%q(i).
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
// A row variable ranges over the rows where all factors in the quantifier's body are known. With y.shape(i) in the
// body, i ranges over the rows with known shape.
//
// # Moves
//
// forall i, j, g(i, j): ... ranges over the pairs of rows with a known transformation g of the data from row i to row
// j. In training, both rows are in the same group of a supervision such as pairs. In a metric, both rows have equal
// values of all factors except circular factors and rotations in space. act(g, z(i)) is the code of row i after the
// transformation g:
//
//	of a circle      pairs of columns (a, b) -> (a cos t - b sin t, a sin t + b cos t), t = w (angle of j - angle of i)
//	of rotations     three columns each, R_j R_i^-1 z
//
// where w is the frequency in act[w](g, z(i)), 1 by default. Each factor acts on the sub-code with its name, act(g,
// z.angle(i)). act(g, z(i)) transforms all these sub-codes and leaves other columns unchanged; act(g.angle, z[0:2](i))
// transforms the given columns. act(g, y.angle(i)) adds the angle to a circular factor, in turns: compare the result by
// =[circular]. The quantity of
//
//	forall[mean] i, j, g(i, j): z(j) =[squared] act(g, z(i))
//
// is twice losses.LSBD without a projection. For codes that are whitened as in D_LSBD, it is twice D_LSBD at this
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
// a =[premetric] b is a distance between numbers, or between vectors of equal width. A number next to a vector stands
// for the vector with this number in every column.
//
//	euclidean    sqrt(sum_k (a_k - b_k)^2)
//	squared      sum_k (a_k - b_k)^2
//	absolute     sum_k |a_k - b_k|
//	discrete     number of columns that differ; without a gradient
//	circular P   sum_k min(t, P - t), t = |a_k - b_k| mod P; P is 1 by default
//	cosine       1 - <a, b> / (|a| |b|); 0 if both vectors are 0, 1 if one is
//
// Cosine is not a strict premetric, because it is also 0 for different vectors with the same direction. Two more
// premetrics compare the Gaussian posteriors of two rows, in columns of the codes (z(i), z.shape(i) or z[0:2](i) on
// both sides). The means are a_k and b_k, the standard deviations s_k and r_k, and t_k = 2 log(s_k / r_k). Both
// premetrics are 0 if and only if means and variances are equal:
//
//	kl           sum_k (e^t_k - 1 - t_k + ((a_k - b_k) / r_k)^2) / 2, in nats: the divergence of the
//	             first row's posterior from the second row's, KL(first || second)
//	wasserstein  sqrt(sum_k (a_k - b_k)^2 + (s_k - r_k)^2), the 2-Wasserstein distance
//
// A plain a = b, or a != b, is crisp: true or false, 0 or infinity, without a gradient. It compares rows, values of
// factors (levels with levels, by their labels; a level with its name, as in y.shape(i) = "heart"; a value with a
// number, as float32), and constants, but not codes. A crisp formula is allowed only where it cannot make the sentence
// infinite:
//
//   - forall i, j: crisp -> ... restricts the domain of the quantifier, and so does exists i: crisp and ...: only the
//     remaining tuples are aggregated. forall over an empty domain is 0, and exists over an empty domain is infinite;
//   - elsewhere, crisp -> a is a if the crisp formula is true, and otherwise 0;
//   - crisp or a, which is 0 or a.
//
// # Connectives
//
// The operation of a connective applies to the whole sentence: `with and = max, -> = norm: ...`.
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
// With the strict operations, a quantity of 0 is equivalent to truth, but they jump where a goes to 0. They are
// therefore only allowed if a does not depend on the codes: for crisp equalities, =[discrete], values of factors, and
// formulas of these.
//
// 0.5 * (...) multiplies a quantity by a positive number, which does not change the truth.
//
// # Quantifiers
//
// forall takes the maximum, as the supremum in the paper; forall[mean], forall[sum] and forall[mean-square] (the mean
// of squares, without a root) are other aggregates. exists takes the minimum. The variables of one quantifier are
// aggregated together, over all tuples of rows. Conjunctions and disjunctions of all quantities are further aggregates
// (appendix B.10; a_k are the quantities of the n tuples):
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
// The homomorphic aggregates are 0 if and only if the quantifier holds for the statements a_k = 0. Only the soft
// minimum is not homomorphic: it is 0 only if all a_k are 0. It lies between the smallest a_k, its limit for low
// temperatures T, and the mean, its limit for high T, and has a gradient in every a_k. For n equal quantities, harmonic
// and harmonic-square decrease with n; logexp and tanh are products, which vanish in large domains of small quantities.
//
// exists over R^k is solved exactly for the deviations in the paper's examples 2 to 4,
//
//	exists c in z.shape: forall[aggregate] i: crisp -> z.shape(i) =[euclidean] c
//
// with max (the radius of the smallest enclosing ball), mean and sum (from the geometric median) and mean-square (the
// variance). With =[squared], max, mean and sum are solved. Other forms are an error.
//
// # Functions
//
// exists h: z -> y in affine: ... says that there is an affine map h from codes to factors; h(z(i)) is its value at row
// i. Functions map between any columns of codes and factors. Their class is affine, linear, or isometry (orthonormal,
// with an offset). Without a class, any function is allowed, but its arguments must be levels of factors: m.shape:
// y.shape -> z.shape has a point for each level, and m: y -> z a point for each tuple of levels.
//
// In the following forms, the body is minimised exactly, with the gradient through the optimum (envelope theorem). Each
// function is alone on one side of a single equality, under forall over rows:
//
//	forall[mean], [sum]    =[squared]    least squares; of levels the mean, of isometries Procrustes
//	forall[mean-square]    =[euclidean]  the same
//	forall[mean], [sum]    =[absolute]   least absolute deviations; of levels the median of a column
//	forall[mean], [sum]    =[euclidean]  least mean length, to a proven gap of 1e-10; of levels the
//	                                     geometric median
//	forall                 =[euclidean]  least largest length, with =[squared] its square; of levels
//	                                     the smallest ball; for one column also =[absolute]
//
// Several functions are fitted separately if they are in different operands of `and`, of `or`, or to the right of ->,
// with weights. Under forall[mean] and [sum] they may be in operands of an `and` that adds, and under forall in
// operands of an `and` that takes the maximum. A function of levels may be under forall v in y.shape, outside the
// quantifier over the rows with y.shape(i) = v. All other forms are an error.
//
// A function in mlp is a network of tanh units; the hidden layer has 64 units, or the widths in layers. Training
// updates its parameters together with the model's, by the gradient of the quantity. Any body may apply it to codes or
// factors of a row. [Quantity.ValueOf] fits it with L-BFGS from five starts and takes the smallest local minimum. A run
// stops when 100 steps lower the quantity by less than 1e-6 of its value. Its quantifier must be a summand of the
// sentence.
//
// A function with by least squares, by absolute or by max is fitted by that criterion: mean squared distance, mean
// absolute deviation of each column, or largest Euclidean distance. Then the body is evaluated, with any aggregate and
// with =[euclidean], [squared] or [absolute]. The result is an upper bound of the body's minimum. The gradient is the
// derivative through the fitted function, from the normal equations or from the rows that determine it. With fewer rows
// than columns, and at ties, the function is not unique; the gradient then uses one of the choices.
//
// [Quantity.Approximation] returns the functions.
//
// # Samples
//
// `with z ~ q: ...` uses samples of the rows' posteriors q instead of their means: z(i) is one sample for row i, the
// same throughout the sentence. kl and wasserstein compare the posteriors themselves.
//
// # Cost
//
// Equalities of a factor that restrict a quantifier become groups of rows. Some parts of a sentence are losses under
// another name: variance, diameter, mpd, radius, mad of the values of a factor, contraction, and weighted sums of
// these. The operations of these losses compute such parts, and the same kernels compute pairwise distances within
// groups. In a sentence they use the plain estimator, on the rows of the batch, even if the loss in a config has
// another default. Any other part takes a few nanoseconds for each tuple of rows and each column; memory is linear in
// the number of rows. A sentence with more than 1e9 tuples is an error.
package logic

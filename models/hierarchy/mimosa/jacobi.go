package mimosa

import "math"

// diagonalise replaces a symmetric d x d matrix by its eigenvalues on the diagonal, the largest first, by Jacobi
// rotations. Row j of vectors becomes the eigenvector of eigenvalue j.
func diagonalise(a, vectors []float64, d int) {
	clear(vectors)
	norm := 0.0
	for i := range d {
		vectors[i*d+i] = 1
		for j := range d {
			norm += a[i*d+j] * a[i*d+j]
		}
	}
	const sweeps = 60 // fewer than ten are enough: convergence is quadratic
	for range sweeps {
		off := 0.0
		for i := range d {
			for j := range i {
				off += a[i*d+j] * a[i*d+j]
			}
		}
		if off <= 1e-34*norm {
			break
		}
		for p := range d {
			for q := p + 1; q < d; q++ {
				rotate(a, vectors, d, p, q)
			}
		}
	}
	sortEigenvalues(a, vectors, d)
}

// sortEigenvalues sorts the eigenvalues of a diagonal matrix in descending order, with their eigenvectors.
func sortEigenvalues(a, vectors []float64, d int) {
	for j := range d { // selection sort
		top := j
		for i := j + 1; i < d; i++ {
			if a[i*d+i] > a[top*d+top] {
				top = i
			}
		}
		if top != j {
			a[j*d+j], a[top*d+top] = a[top*d+top], a[j*d+j]
			for c := range d {
				vectors[j*d+c], vectors[top*d+c] = vectors[top*d+c], vectors[j*d+c]
			}
		}
	}
}

// rotate makes a[p][q] zero by a Jacobi rotation.
func rotate(a, vectors []float64, d, p, q int) {
	apq := a[p*d+q]
	if apq == 0 {
		return
	}
	theta := (a[q*d+q] - a[p*d+p]) / (2 * apq)
	t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1)) // the smaller root; 0 if theta overflows
	if theta < 0 {
		t = -t
	}
	cos := 1 / math.Sqrt(t*t+1)
	sin := t * cos
	app, aqq := a[p*d+p]-t*apq, a[q*d+q]+t*apq
	for k := range d {
		if k != p && k != q {
			x, y := a[k*d+p], a[k*d+q]
			x, y = cos*x-sin*y, sin*x+cos*y
			a[k*d+p], a[p*d+k], a[k*d+q], a[q*d+k] = x, x, y, y
		}
		x, y := vectors[p*d+k], vectors[q*d+k]
		vectors[p*d+k], vectors[q*d+k] = cos*x-sin*y, sin*x+cos*y
	}
	a[p*d+p], a[q*d+q], a[p*d+q], a[q*d+p] = app, aqq, 0, 0
}

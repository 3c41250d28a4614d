package losses

import (
	"fmt"
	"maps"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/graph"
)

// LSBD returns the distance of the points of labelled groups from where their
// transformations put the group's common point,
//
//	L_LSBD = 1/B sum_B 1/M sum_m |z_m - y_m|^2,  y_m = g_m . zbar
//
// with y from [CircleTransport], [SphereTransport] or [MeanTransport]. Rotations
// keep distances, so |z_m - y_m| = |g_m^-1 . z_m - zbar|, which is how the paper
// writes it. z and y have the shape [B*M, columns]; the result is a scalar. It is
// differentiable everywhere; its least value, where the encoder is equivariant on
// every group, is 0.
//
// Source: Tonnaer et al. 2022, section 5.
func LSBD(z, y *gorgonia.Node) (*gorgonia.Node, error) { return graph.LSBD(z, y) }

// PublicLSBD returns what the public code of LSBD-VAE computes in place of
// [LSBD]. Its distance is taken on the concatenation of all latent spaces, once
// per space, and summed over the members of a group:
//
//	1/B sum_B sum_m spheres * 2 (1 - clip(z_m.y_m, -1, 1)) + euclideans * |z_m - y_m|
//
// z and y are the columns of all spaces together, [B*M, columns]; spheres and
// euclideans count the spaces; the result is a scalar. Value and gradient vanish
// wherever z.y >= 1, so that on a torus both circles may be wrong by 60 degrees:
// use it to compare with that code only. The gradient of |z - y| at 0 is taken as 0.
func PublicLSBD(z, y *gorgonia.Node, m, spheres, euclideans int) (*gorgonia.Node, error) {
	return graph.PublicLSBD(z, y, m, spheres, euclideans)
}

// CircleTransport returns y_m = R(a_m) Pi(sum_k R(-a_k) z_k) within every group of
// m consecutive rows: z and y have the shape [groups*m, 2], the angles a, in
// radians, [groups*m, 1]. Pi divides by the norm, or by 1e-6 if that is larger.
// It is differentiable in z.
//
// Source: Tonnaer et al. 2022, section 5.
func CircleTransport(z, angles *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return graph.Transport(graph.Circle, z, angles, m)
}

// SphereTransport is [CircleTransport] for points of S^2: z and y have the shape
// [groups*m, 3], the rotations [groups*m, 4], each an axis of any length and an
// angle in radians; the axis 0 stands for no rotation.
func SphereTransport(z, rotations *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return graph.Transport(graph.AxisAngle, z, rotations, m)
}

// MeanTransport gives every row of a group of m consecutive rows their mean: what
// becomes of [CircleTransport] in R^n, on which the group does not act.
func MeanTransport(z *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return graph.Transport(graph.Identity, z, nil, m)
}

// LSBDLoss is the sum of [LSBD] over the spaces on which the transformations of labelled groups
// act: the latent spaces of lsbd-vae, which transports its codes itself, or the planes and spheres that are
// named, of the codes of any model.
//
// A plane is two columns, which a circular factor turns; with Project its points are those of the unit
// circle, z/|z|, and the group's common point is projected too ([CircleTransport]); without, they are those of R^2
// ([PlaneTransport]), and codes of 0 have a loss of 0. A sphere is three columns likewise.
type LSBDLoss struct {
	Weight  float64       `yaml:"weight" doc:"factor in the total: gamma"`
	Variant string        `yaml:"variant" doc:"paper, or public-code for what the authors' public code computes"`
	Planes  CodeBlocks    `yaml:"planes" doc:"two code columns for each circular factor that turns them, such as {x: [0, 1]}; none: the model's own spaces"`
	Spheres []SphereBlock `yaml:"spheres" doc:"three code columns each, turned about an axis or by rotations in space"`
	Project bool          `yaml:"project" doc:"project the points of planes and spheres to length 1"`
	On      On            `yaml:"on" doc:"codes that planes and spheres are columns of: sample (reparameterised z that is decoded) or codes (posterior mean)"`
}

// NewLSBD returns the default settings.
func NewLSBD() *LSBDLoss {
	return &LSBDLoss{Weight: 100, Variant: "paper", Project: true, On: OnSample}
}

// turns says whether columns of the codes are named.
func (l *LSBDLoss) turns() bool { return len(l.Planes) > 0 || len(l.Spheres) > 0 }

// Validate checks the settings.
func (l *LSBDLoss) Validate() error {
	if l.Variant != "paper" && l.Variant != "public-code" {
		return config.Invalid("variant", "want paper or public-code, got %q", l.Variant)
	}
	if l.turns() && l.Variant != "paper" {
		return config.Invalid("variant", "want paper, as planes or spheres are named: public-code is for the latent spaces of lsbd-vae")
	}
	for _, name := range slices.Sorted(maps.Keys(l.Planes)) {
		if err := distinctColumns(l.Planes[name], 2); err != nil {
			return config.Invalid("planes."+name, "%w", err)
		}
	}
	return validWeight(l.Weight)
}

// Weighting implements [Loss].
func (l *LSBDLoss) Weighting() float64 { return l.Weight }

// Supervised implements [Supervised].
func (*LSBDLoss) Supervised() {}

// Add implements [Loss].
func (l *LSBDLoss) Add(o *Outputs) (*gorgonia.Node, error) {
	if l.turns() {
		return l.turningLSBD(o)
	}
	if len(o.Transports) == 0 {
		return nil, fmt.Errorf("%w; want planes, such as {%s: [0, 1]}, or the model lsbd-vae", missing("transported codes of labelled groups"), o.Transformations.example())
	}
	switch l.Variant {
	case "paper":
		return paperLSBD(o.Transports)
	case "public-code":
		return publicLSBD(o.Transports, o.Group)
	}
	return nil, fmt.Errorf("unknown variant %q; known: paper, public-code", l.Variant)
}

func paperLSBD(transports []Transport) (*gorgonia.Node, error) {
	var nodes gorgonia.Nodes
	var ones []float64
	for i, t := range transports {
		if !t.Acts {
			continue
		}
		n, err := LSBD(t.Points, t.Moved)
		if err != nil {
			return nil, fmt.Errorf("latent space %d: %w", i, err)
		}
		nodes, ones = append(nodes, n), append(ones, 1)
	}
	switch len(nodes) {
	case 0:
		return nil, missing("a latent space on which transformations act, such as sphere with dim 1")
	case 1:
		return nodes[0], nil
	}
	return graph.WeightedSum(ones, nodes...)
}

func publicLSBD(transports []Transport, m int) (*gorgonia.Node, error) {
	var points, moved gorgonia.Nodes
	spheres := 0
	for _, t := range transports {
		points, moved = append(points, t.Points), append(moved, t.Moved)
		if t.Sphere {
			spheres++
		}
	}
	z, err := graph.ConcatColumns(points...)
	if err != nil {
		return nil, err
	}
	y, err := graph.ConcatColumns(moved...)
	if err != nil {
		return nil, err
	}
	return PublicLSBD(z, y, m, spheres, len(transports)-spheres)
}

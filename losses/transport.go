package losses

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/losses/internal/symmetry"
)

// CircleTransport returns y_m = R(a_m) Pi(sum_k R(-a_k) z_k) within every group of m consecutive rows. z and y have the
// shape [groups*m, 2], and the angles a, in radians, [groups*m, 1]. Pi divides by the norm, or by 1e-6 if the norm is
// smaller. It is differentiable in z.
//
// Source: Tonnaer et al. 2022, section 5.
func CircleTransport(z, angles *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return symmetry.Transport(symmetry.Circle, z, angles, m)
}

// SphereTransport is [CircleTransport] for points of S^2. z and y have the shape [groups*m, 3]. A rotation, a row of
// [groups*m, 4], is an axis of any length and an angle in radians; a zero axis means no rotation.
func SphereTransport(z, rotations *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return symmetry.Transport(symmetry.AxisAngle, z, rotations, m)
}

// MeanTransport returns, for every row, the mean of its group of m consecutive rows. It is [CircleTransport] in R^n,
// where the group acts by the identity.
func MeanTransport(z *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return symmetry.Transport(symmetry.Identity, z, nil, m)
}

// PlaneTransport is [CircleTransport] without the projection: y_m = R(a_m) 1/m sum_k R(-a_k) z_k
// within every group of m consecutive rows, for points z of R^2.
func PlaneTransport(z, angles *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return symmetry.Transport(symmetry.Plane, z, angles, m)
}

// SpaceTransport is [SphereTransport] without the projection: the common point of a group is the mean of its points of
// R^3 after rotating them back.
func SpaceTransport(z, rotations *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return symmetry.Transport(symmetry.Space, z, rotations, m)
}

// AboutAxis returns rotations [rows, 4], each an axis and an angle in radians: factor times the angles [rows, 1] around
// one axis; see [SphereTransport]. It has no gradient.
func AboutAxis(axis [3]float64, factor float64, angles *gorgonia.Node) (*gorgonia.Node, error) {
	return symmetry.AboutAxis(axis, factor, angles)
}

package models

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/models/latent"
)

// LSBDVAE is the LSBD-VAE (Tonnaer et al. 2022, section 5), for the losses reconstruction, kl and lsbd. On unlabelled
// images it is the [DeltaVAE]. A labelled group has images x_1, ..., x_M and known transformations g_m from x_1 to
// x_m. On labelled groups it minimises the objective of the DeltaVAE, decodes y_m and not the sample z_m, and adds
//
//	gamma 1/M sum_m |z_m - y_m|^2,  y_m = rho(g_m) zbar,  zbar = Pi(1/M sum_m rho(g_m)^-1 z_m).
//
// rho is the action on each space, Pi the projection onto the space, and gamma the weight of lsbd. The supervision
// sets M: pairs, paths or views.
//
// Circular factors act on circles and on spheres with an axis. The k-th such space follows the k-th circular factor of
// Factors. The r-th other S^2 follows the r-th factor of poses in Factors, under SO(3), or the r-th rotation of the
// groups. A single pose transforms every S^2. The code of a pose without symmetry is z = (Rv, Rw), two spheres under
// one rotation. A single sphere would lose the rotation about one axis of the object.
type LSBDVAE struct {
	Networks
	Latent       latent.List `yaml:"latent" doc:"latent spaces, in the order of their columns"`
	Factors      []string    `yaml:"factors" doc:"factors that act on the spaces: circular factors on the circles in order, poses on the spheres without axis in order; repeats are allowed; if absent, all factors once, and a single pose on every such sphere"`
	Orthogonal   bool        `yaml:"orthogonal" doc:"orthogonalise points on spheres that the same rotation in space moves, by the Gram-Schmidt process"`
	StopGradient bool        `yaml:"stop_gradient" doc:"stop the gradient of the reconstruction of labelled groups before the encoder"`
}

// NewLSBDVAE returns the default settings: a torus.
func NewLSBDVAE() *LSBDVAE {
	return &LSBDVAE{Networks: newNetworks(), Latent: latent.Of(latent.NewSphere(), latent.NewSphere())}
}

func (s *LSBDVAE) New(data Data, seed uint64) (Model, error) {
	moves, err := s.moves(data)
	if err != nil {
		return nil, err
	}
	m := &lsbdVAE{deltaVAEOf(s.Networks, data, seed, s.Latent), moves, s.StopGradient}
	if s.Orthogonal {
		if m.frames, err = s.frames(moves); err != nil {
			return nil, err
		}
	}
	return m, Materialise(m, data)
}

// moves returns, for each latent space, the columns of a batch's transformations that act on the space.
func (s *LSBDVAE) moves(data Data) ([][]int, error) {
	angles, poses, err := s.factors(data)
	if err != nil {
		return nil, err
	}
	shared := len(s.Factors) == 0 && data.Rotations == 1 // one pose for all spheres
	var list [][]int
	for i, c := range s.Latent {
		switch space := c.Value; {
		case space.Columns() == 0:
			list = append(list, nil)
		case space.Turns() && len(angles) > 0:
			list = append(list, angles[:1])
			angles = angles[1:]
		case space.Turns():
			return nil, fmt.Errorf("lsbd-vae: latent space %d needs a circular factor, but none is left; want a circular factor for each such space", i)
		case len(poses) > 0:
			first := len(data.Factors) + 4*poses[0]
			list = append(list, []int{first, first + 1, first + 2, first + 3})
			if !shared {
				poses = poses[1:]
			}
		case data.Rotations > 0:
			return nil, fmt.Errorf("lsbd-vae: latent space %d (%s) needs a rotation in space, but none is left; want an axis, such as {sphere: {dim: 2, axis: [0, 0, 1]}}, or a factor of rotations for each sphere in model.lsbd-vae.factors, which may be named more than once", i, c.Name)
		default:
			return nil, fmt.Errorf("lsbd-vae: latent space %d (%s) is acted on by axis and angle, and factors only give angles; want an axis, such as {sphere: {dim: 2, axis: [0, 0, 1]}}, or rotations in the supervision groups", i, c.Name)
		}
	}
	if len(angles) > 0 {
		return nil, fmt.Errorf("lsbd-vae: factor %q has no space to act on; want a circle (or a sphere with an axis) for each circular factor, or fewer factors in model.lsbd-vae.factors", data.Factors[angles[0]].Name)
	}
	if shared && slices.ContainsFunc(list, func(columns []int) bool { return len(columns) == 4 }) {
		poses = nil
	}
	if names := poseNames(data.Factors); len(poses) > 0 && len(names) > 0 { // rotations from a file may remain unused
		return nil, fmt.Errorf("lsbd-vae: factor %q is a rotation in space and has no sphere to act on; want {sphere: {dim: 2}} among the latent spaces for every such factor, or name other factors with model.lsbd-vae.factors", names[poses[0]])
	}
	return list, nil
}

// frames lists, for each rotation that acts on several spaces, these spaces.
func (s *LSBDVAE) frames(moves [][]int) (frames [][]int, err error) {
	byRotation := map[int][]int{}
	for i, columns := range moves {
		if len(columns) == 4 {
			byRotation[columns[0]] = append(byRotation[columns[0]], i)
		}
	}
	for _, first := range slices.Sorted(maps.Keys(byRotation)) {
		switch spaces := byRotation[first]; {
		case len(spaces) > 3:
			return nil, fmt.Errorf("lsbd-vae: orthogonal: one rotation moves %d spheres; want at most 3, because space has three orthogonal directions", len(spaces))
		case len(spaces) > 1:
			frames = append(frames, spaces)
		}
	}
	if frames == nil {
		return nil, errors.New("lsbd-vae: orthogonal: no two spheres are moved by one rotation in space; want false")
	}
	return frames, nil
}

// factors lists the circular factors by their indices, and the rotations in space by their indices in the groups. They
// are in the order in which spaces use them.
func (s *LSBDVAE) factors(data Data) (angles, poses []int, err error) {
	if len(s.Factors) == 0 {
		for i, f := range data.Factors {
			if f.Kind == factor.Circular {
				angles = append(angles, i)
			}
		}
		return angles, numeric.UpTo(data.Rotations), nil
	}
	names := factor.Names(data.Factors)
	for _, name := range s.Factors {
		found := slices.Index(names, name)
		switch {
		case found < 0:
			return nil, nil, fmt.Errorf("lsbd-vae: factors: there is no factor %q%s", name, registry.Suggest(name, names))
		case data.Factors[found].Rotations != nil:
			r := slices.Index(poseNames(data.Factors), name)
			if r >= data.Rotations {
				return nil, nil, fmt.Errorf("lsbd-vae: factors: the supervision groups lack rotations of %q", name)
			}
			poses = append(poses, r)
		case data.Factors[found].Kind == factor.Circular:
			angles = append(angles, found)
		default:
			return nil, nil, fmt.Errorf("lsbd-vae: factors: %q is %v, not circular; want a circular factor or rotations: %s",
				name, data.Factors[found].Kind, strings.Join(namesWith(data.Factors, factor.Factor.Turns), ", "))
		}
	}
	return angles, poses, nil
}

// poseNames lists the names of the factors of rotations in space, in the order of the groups' rotations.
func poseNames(factors []factor.Factor) []string {
	return namesWith(factors, func(f factor.Factor) bool { return f.Rotations != nil })
}

func namesWith(all []factor.Factor, has func(factor.Factor) bool) []string {
	return factor.Names(slices.DeleteFunc(slices.Clone(all), func(f factor.Factor) bool { return !has(f) }))
}

type lsbdVAE struct {
	deltaVAE
	moves [][]int
	stop  bool
}

func (m *lsbdVAE) Objectives() []Objective {
	return []Objective{{Name: "supervised", Labelled: true}, {Name: "unsupervised"}}
}

func (m *lsbdVAE) Build(g *nn.Graph, o Objective, n, group int) (*Program, error) {
	if !o.Labelled {
		return m.deltaVAE.Build(g, o, n, group)
	}
	p, variables, err := m.sampleSpaces(g, n)
	if err != nil {
		return nil, err
	}
	var moved []*gorgonia.Node
	for i, v := range variables {
		var moves *gorgonia.Node
		if columns := m.moves[i]; columns != nil {
			if moves, err = g.Input(fmt.Sprintf("moves/%d", i), n, len(columns)); err != nil {
				return nil, err
			}
			p.Transformations = append(p.Transformations, Transformation{moves, columns})
			if v.Space.Turns() {
				moves, err = v.Space.Turn(moves)
			}
			if err != nil {
				return nil, err
			}
		}
		t, err := v.Transport(moves, group)
		if err != nil {
			return nil, fmt.Errorf("latent space %d: %w", i, err)
		}
		p.Outputs.Transports = append(p.Outputs.Transports, t)
		moved = append(moved, t.Moved)
	}
	y, err := graph.ConcatColumns(moved...)
	if err != nil {
		return nil, err
	}
	if m.stop {
		if y, err = graph.StopGradient(y); err != nil {
			return nil, err
		}
	}
	p.Outputs.Logits, err = m.autoencoder.Decode(g, y)
	return p, err
}

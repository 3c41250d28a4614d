package render_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/unravel-ml/unravel/datasets/internal/render"

	"github.com/unravel-ml/unravel/internal/must"
)

// shards returns n triangles of all sizes around the origin, with normals.
func shards(n int, seed uint64) *Mesh {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &Mesh{}
	for i := range n {
		centre := [3]float64{r.Float64()*2 - 1, r.Float64()*2 - 1, r.Float64()*2 - 1}
		size := math.Ldexp(1, -r.IntN(8))
		for range 3 {
			var v, n [3]float64
			for k := range v {
				v[k] = centre[k] + float64(size*(r.Float64()-0.5))
				n[k] = r.Float64() - 0.5
			}
			m.Vertices, m.Normals = append(m.Vertices, v), append(m.Normals, n)
		}
		m.Triangles = append(m.Triangles, [3]int32{int32(3 * i), int32(3*i + 1), int32(3*i + 2)})
	}
	return m
}

// hard returns a scene with every feature of a renderer: flat and smooth parts, two lights, and triangles through the
// near plane.
func hard(camera Camera) *Scene {
	return &Scene{
		Parts: []Part{
			{Mesh: ball(12).Smooth(60), Colour: [3]float64{0.9, 0.3, 0.1}, Scale: 0.7, Shift: [3]float64{0.2, 0.1, -0.3}, Turn: Turn([3]float64{1, 2, 3}, 0.7)},
			{Mesh: ball(5), Colour: [3]float64{0.2, 0.8, 0.5}, Scale: 0.5, Shift: [3]float64{-0.4, -0.2, 0.4}, Turn: Turn([3]float64{-1, 0.5, 0.2}, 2.2)},
			{Mesh: shards(200, 5), Colour: [3]float64{0.4, 0.5, 1}},
		},
		Camera: camera, Ambient: 0.2, Background: [3]float64{0.1, 0.12, 0.2},
		Lights: []Light{{Direction: [3]float64{0.3, 0.5, 0.8}, Colour: [3]float64{0.7, 0.6, 0.5}},
			{Direction: [3]float64{-1, 0.2, 0.1}, Colour: [3]float64{0, 0.2, 0.4}}},
	}
}

// cameras returns a far camera, a camera in the middle of the scene, and an orthographic camera.
func cameras() []Camera {
	return []Camera{
		{},
		{Eye: Orbit(0.6, 0.8, 0.3), Angle: 1.2, Near: 0.05},
		{Eye: Orbit(3, -2, 0.9), Target: [3]float64{0.1, 0, 0.2}, Up: [3]float64{0.2, 1, 0}, Half: 0.8},
	}
}

// TestSameBitsEverywhere compares pictures with pictures drawn on amd64. Machines that fuse products and sums, or have
// other math functions, must give the same bits.
func TestSameBitsEverywhere(t *testing.T) {
	want := []string{"ff11bacd0adb1f02a180cbbf7a449904", "aa47e2c9819eb09f5d8a676f0628dc57", "389e136cbebe17de1295d50e80597e61"}
	for i, c := range cameras() {
		picture := draw(t, hard(c), 96, 3)
		save(t, fmt.Sprint("hard", i), picture, 96)
		must.Equal(t, fmt.Sprintf("%x", sha256.Sum256(picture))[:32], want[i], "camera", i, "hash")
	}
}

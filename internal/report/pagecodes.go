package report

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/report/sheet"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
)

// Bounds on the codes of a page: most points, most numbers, and least points for any width.
const (
	mostPoints  = 1600
	mostNumbers = 120_000
	leastPoints = 100
)

// PageRows returns the rows of n codes of a width that a page shows. They are stratified at random and in random order,
// which makes their first rows a sample too.
func PageRows(n, width int) []int {
	stream := rng.New(0, "report/page")
	list := stratified(n, max(leastPoints, min(mostPoints, mostNumbers/max(width, 1))), stream)
	stream.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// PageCodes returns the codes for a page. in holds the codes and levels of some images of a data set, images holds
// their indices in it, and names holds their numbers for people; nil means the same numbers. spaces is the layout of
// the codes; nil means single columns.
func PageCodes(in *metrics.Input, d datasets.Dataset, images, names []int, spaces []models.Space) (*web.Codes, error) {
	if in.Codes.Rows == 0 {
		return nil, nil
	}
	if names == nil {
		names = images
	}
	c := &web.Codes{Codes: web.Floats(in.Codes.Data, in.Codes.Rows, in.Codes.Cols), Factors: []web.Factor{}, Spaces: pageSpaces(spaces), Rows: web.Integers(names, len(names))}
	for i := range in.Codes.Cols {
		c.Columns = append(c.Columns, fmt.Sprint("z", i))
	}
	for j := range in.Factors {
		if f := pageFactor(in, j); f.Size != 1 {
			c.Factors = append(c.Factors, f)
		}
	}
	if in.Codes.Cols > 2 && in.Codes.Rows > 2 && allFinite(in.Codes.Data) {
		p, err := geometry.PCA(in.Codes.Data, in.Codes.Cols)
		if err != nil {
			return nil, err
		}
		c.Components = pageComponents(p, in.Codes)
	}
	c.Names = FileNames(d, images)
	pictures, err := sheet.Thumbnails(d, images)
	c.Thumbnails = pictures
	return c, err
}

// FileNames lists the files of some images of a data set; nil means that an image has no file.
func FileNames(d datasets.Dataset, images []int) []string {
	names := make([]string, len(images))
	for i, image := range images {
		if d != nil {
			names[i] = datasets.FileName(d, image)
		}
		if names[i] == "" {
			return nil
		}
	}
	return names
}

// pageComponents projects codes onto their first two principal components.
func pageComponents(p *geometry.Components, codes matrix.Matrix) *web.Components {
	const k = 2
	var sum float64
	for _, v := range p.Sigma {
		sum += v * v
	}
	if !(sum > 0) || len(p.Sigma) < k {
		return nil
	}
	c := &web.Components{Values: web.Floats(p.Project(codes.Data, k), codes.Rows, k)}
	for i := range k {
		c.Names = append(c.Names, fmt.Sprintf("principal component %d (%.0f %%)", i+1, 100*p.Sigma[i]*p.Sigma[i]/sum))
	}
	return c
}

func allFinite(list []float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return !finite(v) })
}

// pageSpaces lists the circles, spheres and choices of the latent space.
func pageSpaces(spaces []models.Space) []web.Space {
	list, counts := []web.Space{}, map[string]int{}
	for _, s := range spaces {
		kind := "plane"
		switch {
		case s.Circle:
			kind = "circle"
		case s.Sphere:
			kind = "sphere"
		case s.Options > 0:
			kind = "choice"
		}
		if kind == "plane" {
			continue
		}
		counts[kind]++
		w := web.Space{Name: fmt.Sprint(kind, " ", counts[kind]), Kind: kind}
		for i := range s.Width {
			w.Columns = append(w.Columns, s.First+i)
		}
		list = append(list, w)
	}
	return list
}

// mostLevelNames is the largest number of levels with names on a page.
const mostLevelNames = 4096

// pageFactor describes a factor and lists the levels of all rows.
func pageFactor(in *metrics.Input, j int) web.Factor {
	n, f := in.Codes.Rows, in.Factors[j]
	if j < len(in.Exact) && in.Exact[j] != nil {
		return web.Factor{Name: f.Name, Kind: "continuous", Values: web.Floats(in.Exact[j], n)}
	}
	levels := byLevel(in, j, func(level int) float64 { return float64(level) })
	w := web.Factor{Name: f.Name, Kind: f.Kind.String(), Size: f.Size, Values: web.Floats(levels, n)}
	switch {
	case f.Size > mostLevelNames:
	case f.Names != nil:
		w.Levels = f.Names
	case f.Values != nil:
		for l := range f.Size {
			w.Levels = append(w.Levels, sheet.Level(f, l))
		}
	}
	return w
}

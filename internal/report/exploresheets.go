package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/raster"
	"github.com/unravel-ml/unravel/internal/report/web"
)

// Sizes of sheets: the steps of a line or a circle, the steps of a sphere, and the limits on all pictures, pixels and
// characters of URLs together. If a pair of controls does not fit with all steps, its sheet has every coarse-th step.
const (
	sheetSteps       = 9
	latitudes        = 7
	longitudes       = 12
	maxSheetPictures = 1000
	maxSheetPixels   = 4_000_000
	maxSheetBytes    = 2_400_000
	coarse           = 2
)

// sheets decodes single controls until the limits are reached, and then pairs of the controls that change the picture
// most.
func (x *Explored) sheets(limits raster.Pictures) (*sheets, error) {
	s := &sheets{Explored: x, limits: limits, out: &web.Sheets{}}
	var moving []*stepped
	for _, c := range flattened(x.Codes.Controls()) {
		if c.Kind == decode.Turn { // each sphere has a control of its type Ball
			continue
		}
		m := &stepped{Control: c, values: stepsOf(c)}
		if s.room() < len(m.values) {
			break
		}
		if err := s.add(m, nil, 1); err != nil {
			return nil, err
		}
		if c.Kind != decode.Ball {
			moving = append(moving, m)
		}
	}
	slices.SortStableFunc(moving, func(a, b *stepped) int { return cmp.Compare(b.change, a.change) })
	for j := 1; j < len(moving); j++ {
		for i := range j {
			every := 1
			if s.room() < moving[i].places(every)*moving[j].places(every) {
				every = coarse
			}
			if s.room() < moving[i].places(every)*moving[j].places(every) {
				return s, nil
			}
			if err := s.add(moving[i], moving[j], every); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// with returns the controls that have steps in sheets.
func (s *sheets) with(list []web.Control) (some []web.Control) {
	for _, c := range list {
		if !slices.ContainsFunc(s.out.Steps, func(steps web.Steps) bool { return steps.Name == c.Name }) {
			continue
		}
		for i := range c.Options {
			c.Options[i].Controls = s.with(c.Options[i].Controls)
		}
		some = append(some, c)
	}
	return some
}

// flattened lists controls and those under their options.
func flattened(list []decode.Control) (all []decode.Control) {
	for _, c := range list {
		all = append(all, c)
		for _, o := range c.Options {
			all = append(all, flattened(o.Controls)...)
		}
	}
	return all
}

// sheets collects sheets one after another until the limits are reached.
type sheets struct {
	*Explored
	limits              raster.Pictures
	out                 *web.Sheets
	done, pixels, bytes int // numbers of pictures, pixels and bytes so far
}

// room is the number of pictures that still fit if they are as large as the previous ones.
func (s *sheets) room() int {
	if s.done == 0 {
		return maxSheetPictures
	}
	return min(maxSheetPictures-s.done, (maxSheetPixels-s.pixels)*s.done/s.pixels, (maxSheetBytes-s.bytes)*s.done/s.bytes)
}

// stepped is a control with its steps.
type stepped struct {
	decode.Control
	values [][]float64 // values of its columns at each step
	change float64     // mean change of pixels, along the control alone
}

// stepsOf returns the values of a control's columns at its steps.
func stepsOf(c decode.Control) (values [][]float64) {
	switch c.Kind {
	case decode.Choose:
		for o := range c.Options {
			values = append(values, []float64{float64(o + 1)})
		}
	case decode.Ball:
		return spread(len(c.Columns))
	case decode.Circle:
		for i := range sheetSteps + 1 {
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / (sheetSteps + 1))
			values = append(values, []float64{cos, sin})
		}
	default:
		for i := range sheetSteps {
			values = append(values, []float64{c.Low + (c.High-c.Low)*float64(i)/(sheetSteps-1)})
		}
	}
	return values
}

// places is the number of steps of a control if only every so many have pictures.
func (m *stepped) places(every int) int {
	if m.Kind == decode.Choose {
		every = 1
	}
	return (len(m.values) + every - 1) / every
}

// walk returns a code at some steps of a control. If the code does not use the control, it returns the unchanged code
// for each step.
func (s *sheets) walk(code []float64, m *stepped, every int) (codes [][]float64) {
	at := m.Columns[0]
	if !s.Codes.Uses(code, at) {
		return slices.Repeat([][]float64{code}, m.places(every))
	}
	if m.Kind == decode.Choose {
		return s.Codes.Options(code, at)
	}
	for i := 0; i < len(m.values); i += every {
		moved := slices.Clone(code)
		copy(moved[at:], m.values[i])
		codes = append(codes, moved)
	}
	return codes
}

// spread returns points all over a unit sphere. In space they follow latitude and longitude; in other dimensions they
// lie on the great circles from the first axis to every other axis.
func spread(n int) (points [][]float64) {
	if n == 3 {
		for i := range latitudes {
			sinLat, cosLat := math.Sincos(math.Pi * ((float64(i)+0.5)/latitudes - 0.5))
			for j := range longitudes {
				sin, cos := math.Sincos(2 * math.Pi * float64(j) / longitudes)
				points = append(points, []float64{cosLat * sin, sinLat, cosLat * cos})
			}
		}
		return points
	}
	for axis := 1; axis < n; axis++ {
		for j := range longitudes {
			p := make([]float64, n)
			p[axis], p[0] = math.Sincos(2 * math.Pi * float64(j) / longitudes)
			points = append(points, p)
		}
	}
	return points
}

// add decodes a control alone, or a pair of controls, at some steps.
func (s *sheets) add(a, b *stepped, every int) error {
	codes, columns := s.walk(s.At.Row(0), a, every), ""
	if b != nil {
		var both [][]float64
		for _, code := range codes {
			both = append(both, s.walk(code, b, every)...)
		}
		codes, columns = both, b.Name
	}
	var flat []float32
	for _, code := range codes {
		flat = appendRow(flat, code)
	}
	pixels, err := s.Decoder.Decode(flat)
	if err != nil {
		return err
	}
	if b == nil {
		a.change = change(pixels, len(codes))
		s.out.Steps = append(s.out.Steps, web.Steps{Name: a.Name, Values: web.Floats(slices.Concat(a.values...), len(a.values), len(a.values[0]))})
	}
	pictures, err := s.limits.Of(pixels)
	if err != nil {
		return err
	}
	sheet, err := sheetOf(pictures, int(math.Ceil(math.Sqrt(float64(len(pictures))))))
	s.done, s.pixels, s.bytes = s.done+len(pictures), s.pixels+len(pictures)*sheet.Width*sheet.Height, s.bytes+len(sheet.Source)
	m := web.Sheet{Rows: a.Name, Columns: columns, Pictures: sheet}
	if every > 1 {
		m.Every = every
	}
	s.out.Maps = append(s.out.Maps, m)
	return err
}

// change is the mean absolute difference of n images from the previous image.
func change(pixels []float32, n int) (sum float64) {
	size := len(pixels) / n
	for i := size; i < len(pixels); i++ {
		sum += math.Abs(float64(pixels[i] - pixels[i-size]))
	}
	return sum / float64(max(len(pixels)-size, 1))
}

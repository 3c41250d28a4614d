package train

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/report"
	"github.com/unravel-ml/unravel/rng"
	"github.com/unravel-ml/unravel/runs"
)

// finish encodes the data set, a sample or nothing, measures the codes, and draws figures and the report.
func (s *session) finish(ctx context.Context) ([]metrics.Result, error) {
	t := s.trainer
	s.experiment.Progress = NewActivity(s.log)
	defer s.experiment.Progress.End()
	t.release()
	if v, ok := spreadOf(s.last); ok && v < leastSpread {
		s.say("note: the codes have collapsed: their spread was %.2g in the last epoch, where random codes have about 1", v)
	}
	codes, err := s.encode(ctx)
	if err != nil {
		return nil, err
	}
	results := []metrics.Result{}
	if codes.Data != nil {
		if results, err = s.experiment.Evaluate(codes, s.experiment.Final()); err != nil {
			return nil, err
		}
	}
	if err := s.store.Write(runs.MetricsFile, runs.JSON(results)); err != nil {
		return nil, err
	}
	if err := s.logMetrics(t.epoch, t.step, results); err != nil {
		return nil, err
	}
	if err := s.events.Flush(); err != nil {
		return nil, err
	}
	if !t.settings.Figures {
		return results, nil
	}
	drawn, err := s.figures(codes)
	if err != nil {
		return nil, err
	}
	return results, s.store.Write(runs.ReportFile, func(w io.Writer) error { return report.WriteReport(w, s.report(results, drawn)) })
}

// leastSpread is the spread of codes below which they count as collapsed: that of random codes is near 1.
const leastSpread = 0.05

// spread returns the mean spread of the codes in the last epoch, of models that watch it.
func spreadOf(l runs.Losses) (float64, bool) {
	for _, parts := range l {
		if v, ok := parts[models.SpreadName]; ok {
			return v, true
		}
	}
	return 0, false
}

// report describes the run on a page.
func (s *session) report(results []metrics.Result, drawn []report.ReportFigure) report.Report {
	e, t := s.experiment, s.trainer
	r := report.Report{Title: e.Config.Name, Config: s.config, Figures: drawn, Summary: []report.Fact{
		{Name: "model", Value: e.Config.Model.Name}, {Name: "data set", Value: e.Config.Dataset.Name},
		{Name: "seed", Value: fmt.Sprint(e.Config.Seed)}, {Name: "epochs", Value: fmt.Sprint(t.epoch)},
		{Name: "steps", Value: fmt.Sprint(t.step)}, {Name: "parameters", Value: fmt.Sprint(e.Model.Params().Count())}}}
	if v, ok := spreadOf(s.last); ok {
		r.Summary = append(r.Summary, report.Fact{Name: "spread of the codes in the last epoch", Value: fmt.Sprintf("%.3g", v)})
	}
	for _, result := range results {
		r.Metrics = append(r.Metrics, report.ReportMetric{Name: result.Name, Value: result.Value, Better: result.Better.String(),
			Parts: result.Parts, Notes: result.Notes})
	}
	return r
}

// figures draws the run's pictures into its folder and returns them for the report.
func (s *session) figures(codes metrics.Matrix) ([]report.ReportFigure, error) {
	var list []report.ReportFigure
	all := []struct {
		name, caption string
		draw          func(io.Writer) error
	}{
		{"losses", "Losses, weighted sum and parts, means over epochs.", s.drawLosses},
		{"reconstructions", "Images and their reconstructions.", func(w io.Writer) error { return s.drawReconstructions(w, codes) }},
		{"torus", "The circles of the latent space against the true factors.", func(w io.Writer) error { return s.drawTorus(w, codes) }},
		{"codes", "Pairs of code columns before and after training, in colours that the factors mix: the first three are red, green and blue.",
			func(w io.Writer) error { return s.drawCodes(w, codes) }},
		{"hierarchy", "The hierarchy of the codes.", s.drawHierarchy},
		{"paths", "Decoded images while one dimension moves, for every path through the hierarchy.", func(w io.Writer) error { return s.drawPaths(w, codes) }},
		{"histograms", "Every true dimension (rows) against every code column, where both are active.", func(w io.Writer) error { return s.drawHistograms(w, codes) }},
		{"traversals", "Decoded images while one part of the code moves and the rest is held.", func(w io.Writer) error { return s.drawTraversals(w, codes) }},
	}
	s.experiment.Progress.Begin("drawing", len(all))
	defer s.experiment.Progress.End()
	for i, f := range all {
		s.experiment.Progress.Step(i, f.name)
		file := runs.FiguresDir + "/" + f.name + ".png"
		if codes.Data == nil && f.name != "losses" && f.name != "hierarchy" { // the others show codes
			if err := s.forget(file); err != nil {
				return nil, err
			}
			continue
		}
		var png bytes.Buffer
		if err := f.draw(&png); err != nil {
			return nil, fmt.Errorf("figure %s: %w", f.name, err)
		}
		if png.Len() == 0 { // it does not apply to this model or data set
			continue
		}
		if err := s.store.Write(file, runs.Bytes(png.Bytes())); err != nil {
			return nil, err
		}
		list = append(list, report.ReportFigure{Caption: f.caption, PNG: png.Bytes()})
	}
	return list, nil
}

// drawLosses draws what the log holds, so that a resumed run shows all of its epochs.
func (s *session) drawLosses(w io.Writer) error {
	var series []report.Series
	at := map[string]int{}
	if err := s.store.ReadLog(func(line runs.Line) {
		for _, o := range s.trainer.plan.objectives() {
			losses := line.Losses[o.Name]
			if losses == nil { // the line is about something else
				continue
			}
			for _, name := range s.trainer.lossNames(o) {
				key := o.Name + " " + name
				i, ok := at[key]
				if !ok {
					i = len(series)
					at[key] = i
					series = append(series, report.Series{Name: key})
				}
				series[i].X = append(series[i].X, float64(line.Epoch))
				series[i].Y = append(series[i].Y, losses[name])
			}
		}
	}); err != nil {
		return err
	}
	if len(series) == 0 {
		return nil
	}
	return report.Curves(w, report.CurveOptions{Title: s.experiment.Config.Name, XLabel: "epoch", YLabel: "loss (parts without weights)", Log: true}, series)
}

// shown lists the images of n that figures of codes show: all, or of so many equal
// stretches one each, at random: regular steps would keep in step with the grid of factors.
func shown(n int) []int {
	list, stream := make([]int, min(n, maxPoints)), rng.New(0, "figures")
	for i := range list {
		list[i] = i
		if n > maxPoints {
			list[i] = int((float64(i) + stream.Float64()) / maxPoints * float64(n))
		}
	}
	return list
}

// scattered returns count indices of n that do not follow the grid of factors: multiples of the golden section.
func scattered(n, count int) []int {
	list := make([]int, min(n, count))
	for i := range list {
		list[i] = int(math.Mod(float64(i+1)*math.Phi, 1) * float64(n))
	}
	return list
}

// drawReconstructions decodes the codes of images spread over the data set.
func (s *session) drawReconstructions(w io.Writer, codes metrics.Matrix) error {
	e := s.experiment
	if !e.Coder.Decodes() {
		return nil
	}
	h, wd, c := e.Data.ImageShape()
	list := scattered(e.Data.Len(), 16)
	inputs := make([]float32, len(list)*h*wd*c)
	datasets.Fill(e.Data, list, inputs)
	var rows []float32
	for _, i := range list {
		rows = appendRow(rows, codes.Row(i))
	}
	outputs, err := e.Coder.Decode(rows)
	if err != nil {
		return err
	}
	return report.Reconstructions(w, "reconstructions", inputs, outputs, h, wd, c)
}

func appendRow(dst []float32, row []float64) []float32 {
	for _, v := range row {
		dst = append(dst, float32(v))
	}
	return dst
}

// circles names the circles of the latent space: "circle 1", ...
func (s *session) circles() (list []models.Space, names []string) {
	for _, space := range s.experiment.Model.Spaces() {
		if space.Circle {
			list = append(list, space)
			names = append(names, fmt.Sprintf("circle %d", len(list)))
		}
	}
	return list, names
}

// maxPoints is how many images a figure of codes shows at most.
const maxPoints = 10000

func (s *session) drawTorus(w io.Writer, codes metrics.Matrix) error {
	e := s.experiment
	list, names := s.circles()
	images := shown(e.Data.Len())
	var circles, factors []report.Angles
	for i, space := range list {
		a := report.Angles{Name: names[i]}
		for _, r := range images {
			row := codes.Row(r)
			a.Values = append(a.Values, math.Atan2(row[space.First+1], row[space.First]))
		}
		circles = append(circles, a)
	}
	levels := make([]int, len(e.Data.Factors()))
	for k, f := range e.Data.Factors() {
		if f.Kind != factor.Circular {
			continue
		}
		a := report.Angles{Name: f.Name}
		for _, r := range images {
			e.Data.FactorsAt(r, levels)
			a.Values = append(a.Values, f.Angle(levels[k]))
		}
		factors = append(factors, a)
	}
	if len(circles) == 0 || len(factors) == 0 {
		return nil
	}
	return report.Torus(w, e.Config.Name+": latent angles", circles, factors)
}

// drawCodes shows the codes of a space without circles, as initialised and as trained.
func (s *session) drawCodes(w io.Writer, codes metrics.Matrix) error {
	e := s.experiment
	if list, _ := s.circles(); len(list) > 0 || codes.Cols < 2 {
		return nil
	}
	images := shown(e.Data.Len())
	before, err := e.initialCodes(images)
	if err != nil {
		return err
	}
	stages := []report.Stage{{Name: "before training"}, {Name: "after training"}}
	for c := range codes.Cols {
		name := fmt.Sprintf("z%d", c)
		was, is := report.Column{Name: name}, report.Column{Name: name}
		for i, row := range images {
			was.Values = append(was.Values, before.Row(i)[c])
			is.Values = append(is.Values, codes.Row(row)[c])
		}
		stages[0].Codes, stages[1].Codes = append(stages[0].Codes, was), append(stages[1].Codes, is)
	}
	return report.CodePlanes(w, e.Config.Name+": codes", stages, factorColumns(e.Data, images))
}

// initialCodes are the codes of images before training, which the seed repeats.
func (e *Experiment) initialCodes(images []int) (metrics.Matrix, error) {
	data := e.modelData()
	m, err := e.Config.Model.Value.New(data, e.Config.Seed)
	if err != nil {
		return metrics.Matrix{}, err
	}
	coder, err := NewCoder(m, data)
	if err != nil {
		return metrics.Matrix{}, err
	}
	coder.views = e.Config.Views
	codes, err := coder.Encode(context.Background(), e.Data, images)
	return metrics.NewMatrix(len(images), coder.Width(), codes), err
}

// factorColumns lists the values of the factors of images.
func factorColumns(d datasets.Dataset, images []int) []report.Column {
	factors := d.Factors()
	list, levels := make([]report.Column, len(factors)), make([]int, len(factors))
	for _, i := range images {
		d.FactorsAt(i, levels)
		for k, f := range factors {
			list[k].Name = f.Name
			list[k].Values = append(list[k].Values, f.Value(levels[k]))
		}
	}
	return list
}

// traversalSteps is how many images a row of a traversal has.
const traversalSteps = 12

// drawTraversals turns each circle around, or, where there is none, moves each
// coordinate from -2 to 2, starting from the code of the first image.
func (s *session) drawTraversals(w io.Writer, codes metrics.Matrix) error {
	if _, ok := s.experiment.Model.(models.Hierarchical); ok || !s.experiment.Coder.Decodes() {
		return nil
	}
	spaces, names := s.circles()
	title, labels := "angle on the circle, degrees", make([]string, traversalSteps)
	move := func(row []float32, part, step int) {
		at := spaces[part].First
		sin, cos := math.Sincos(2 * math.Pi * float64(step) / traversalSteps)
		row[at], row[at+1] = float32(cos), float32(sin)
		labels[step] = fmt.Sprint(360 * step / traversalSteps)
	}
	if len(spaces) == 0 {
		title = "value of the coordinate"
		for j := range min(codes.Cols, 32) {
			names = append(names, fmt.Sprintf("z%d", j))
		}
		move = func(row []float32, part, step int) {
			row[part] = -2 + 4*float32(step)/(traversalSteps-1)
			labels[step] = fmt.Sprintf("%.2g", row[part])
		}
	}
	var rows []float32
	for part := range names {
		for step := range traversalSteps {
			at := len(rows)
			rows = appendRow(rows, codes.Row(0))
			move(rows[at:], part, step)
		}
	}
	images, err := s.experiment.Coder.Decode(rows)
	if err != nil {
		return err
	}
	h, wd, c := s.experiment.Data.ImageShape()
	return report.Traversals(w, "traversals", title, names, labels, images, h, wd, c)
}

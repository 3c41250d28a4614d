package serve

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

const maxPageBytes = 64 << 20 // maximum size of files that a page reads completely

const maxFileBytes = 1 << 30 // maximum size of files that are sent unchanged

// description is the answer of /api/run: the texts on the page of a run.
type description struct {
	row
	Model    string          `json:"model"`
	Dataset  string          `json:"dataset"`
	Settings index.Settings  `json:"settings"`
	Results  index.Results   `json:"results"`
	Begun    string          `json:"begun,omitempty"`
	Version  string          `json:"version,omitempty"`
	Machine  *rundir.Machine `json:"machine,omitempty"`
	Config   string          `json:"config"`
	Report   bool            `json:"report"`  // the run has a report
	Figures  []figure        `json:"figures"` // pictures
	Preview  string          `json:"preview"` // version of the newest checkpoint; empty: none
}

type figure struct {
	Name    string `json:"name"`
	Caption string `json:"caption"`
}

func (s *Server) runData(w http.ResponseWriter, r *http.Request, run *runState) error {
	version := fmt.Sprint(run.serial, " ", s.previews.version(run))
	return s.described.send(w, r, version, run.path, func() (any, error) { return s.describe(run), nil })
}

func (s *Server) describe(run *runState) description {
	d := description{row: rowOf(run, nil, time.Now()), Settings: run.Settings, Results: run.Results, Begun: run.Begun,
		Version: run.Version,
		Model:   choiceOf(run, "model"), Dataset: choiceOf(run, "dataset"), Figures: s.figures(run),
		Preview: s.previews.version(run)}
	if run.Machine.OS != "" {
		d.Machine = &run.Machine
	}
	if text, err := s.read(run, rundir.Config, 1<<20); err == nil {
		d.Config = strings.ToValidUTF8(string(text), "\uFFFD")
	}
	if f, err := s.runs.open(run, rundir.ReportFile); err == nil {
		d.Report = f.Close() == nil
	}
	return d
}

// choiceOf returns a run's choice for a config key, such as the name of its model.
func choiceOf(run *runState, key string) string {
	for k := range run.Settings.All() {
		if suffix, ok := strings.CutPrefix(k, key+"."); ok {
			name, _, _ := strings.Cut(suffix, ".")
			return name
		}
	}
	value, _ := run.Settings.Get(key)
	return value
}

// read reads a file of a run with at most the given length.
func (s *Server) read(run *runState, name string, limit int64) ([]byte, error) {
	f, err := s.runs.open(run, name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = badRequest(name + " is too long to be shown")
	}
	return text, err
}

// curvesAnswer is the answer of /api/curves.
type curvesAnswer struct {
	Curves *web.Curves `json:"curves"`
	At     int64       `json:"at"` // number of log bytes in the curves; /api/events continues there
}

// curvesData answers with the curves of a run. It reads the log only after a change.
func (s *Server) curvesData(w http.ResponseWriter, r *http.Request, run *runState) error {
	return s.curves.send(w, r, s.runs.fileStampOf(run, rundir.LogFile), run.path, func() (any, error) {
		lines, offset, err := s.runs.lines(run)
		return curvesAnswer{cmp.Or(report.RunCurves(nil, lines), &web.Curves{Panels: []web.Panel{}}), offset}, err
	})
}

// lines reads the complete lines of a run's log. A run without a log has no lines.
func (r *runs) lines(run *runState) (lines []rundir.Line, offset int64, err error) {
	f, err := r.open(run, rundir.LogFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close() // it was only read
	return readLines(f, maxPageBytes)
}

// readLines reads lines of a log. It skips invalid lines and an incomplete last line.
func readLines(source io.Reader, limit int64) (lines []rundir.Line, read int64, err error) {
	in := bufio.NewReader(io.LimitReader(source, limit))
	for {
		text, err := in.ReadBytes('\n')
		if err == io.EOF {
			return lines, read, nil
		}
		if err != nil {
			return lines, read, err
		}
		read += int64(len(text))
		var line rundir.Line
		if json.Unmarshal(text, &line) == nil {
			lines = append(lines, line)
		}
	}
}

var pictureKinds = map[string]string{".png": "image/png", ".gif": "image/gif"}

const maxFigures = 200

// figures lists the pictures of a run: Unravel's in the order of reports, then others by name.
func (s *Server) figures(run *runState) []figure {
	list, names := []figure{}, s.figureNames(run)
	for _, f := range train.FigureCaptions() {
		if i := slices.Index(names, f.Name); i >= 0 {
			list, names = append(list, figure(f)), slices.Delete(names, i, i+1)
		}
	}
	for _, name := range names {
		list = append(list, figure{name, name})
	}
	return list
}

func (s *Server) figureNames(run *runState) []string {
	names := []string{}
	dir, err := s.runs.root.Load().Open(filepath.FromSlash(run.path + "/" + rundir.FiguresDir))
	if err != nil {
		return names
	}
	defer dir.Close() // it was only read
	entries, _ := dir.ReadDir(maxFigures)
	for _, e := range entries {
		if pictureKinds[filepath.Ext(e.Name())] != "" && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// figureData answers with a picture of a run. The picture must be in the list of figures.
func (s *Server) figureData(w http.ResponseWriter, r *http.Request, run *runState) error {
	name := r.URL.Query().Get("name")
	if !slices.Contains(s.figureNames(run), name) {
		return notFound("the run has no such picture")
	}
	return s.sendFile(w, r, run, rundir.FiguresDir+"/"+name, pictureKinds[filepath.Ext(name)])
}

// reportPolicy lets a report run its own scripts, but isolates it, because a report is not trusted.
const reportPolicy = "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data: blob:; " +
	"font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

func (s *Server) report(w http.ResponseWriter, r *http.Request, run *runState) error {
	w.Header().Set("Content-Security-Policy", reportPolicy)
	return s.sendFile(w, r, run, rundir.ReportFile, "text/html; charset=utf-8")
}

func (s *Server) sendFile(w http.ResponseWriter, r *http.Request, run *runState, name, kind string) error {
	f, err := s.runs.open(run, name)
	if err != nil {
		return notFound("the run has no " + name + " that can be read")
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err == nil && info.Size() > maxFileBytes {
		err = badRequest(name + " is too long to be shown")
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, "", info.ModTime(), f)
	return nil
}

func (s *Server) runPage(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("dir")
	p := s.newPage(name, widgets, "run.js") // also for a missing run: it may start later
	p.Run = name
	if _, err := s.runs.find(name); err != nil && !s.runs.isNewRun(name) {
		p.Failure = err.Error()
	}
	return s.sendPage(w, r, "run.tmpl", p)
}

// listPage answers with the list of runs, or with the page of the only run.
func (s *Server) listPage(w http.ResponseWriter, r *http.Request) error {
	if snap := s.runs.current(); s.runs.single && len(snap.list) == 1 {
		p := s.newPage(snap.list[0].Dir, widgets, "run.js")
		p.Run = snap.list[0].Dir
		return s.sendPage(w, r, "run.tmpl", p)
	}
	return s.sendPage(w, r, "list.tmpl", s.newPage("Runs", nil, "list.js", "parallel.js", "search.js"))
}

// Package mlflow sends runs to an MLflow tracking server through its REST API
// (https://mlflow.org/docs/latest/rest-api.html).
//
// The runs of a folder form an experiment. The tag unravel.run identifies a run: the hash of its computation and the
// name of its folder. A server never changes parameters and metrics. Send therefore only adds missing ones, and an
// interrupted call can be continued. Send keeps the changes of MLflow's users: names, tags, and deleted runs and
// experiments.
package mlflow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/progress"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// Summary counts the runs of a call of Send and lists notes.
type Summary struct {
	Runs, Changed int      // runs on the server, and how many of them are new or changed
	Experiments   int      // number of experiments of these runs
	Notes         []string // deviations from the request
}

// Send sends runs of the folder dir to a server. It skips damaged runs and runs that have not started. It also skips
// runs with unreadable files or rejected values, and names these runs in the error. Unfinished runs get their current
// state ([index.Live]). Send retries a failed request up to four times, and follows no redirects. In names, characters
// that MLflow rejects become underscores, and equal or long names get a suffix.
func Send(ctx context.Context, to Server, dir string, runs []*index.Run) (Summary, error) {
	c, err := newClient(to)
	if err != nil {
		return Summary{}, err
	}
	defer c.http.HTTPClient.CloseIdleConnections()
	if dir, err = filepath.Abs(dir); err != nil {
		return Summary{}, err
	}
	s := &sender{client: c, dir: dir}
	experiments := s.prepare(runs)
	for _, name := range slices.Sorted(maps.Keys(experiments)) {
		if err := s.experiment(ctx, name, experiments[name]); err != nil {
			return s.sum, errors.Join(s.runErrors, err)
		}
	}
	return s.sum, s.runErrors
}

type sender struct {
	client         *client
	dir            string // absolute
	sum            Summary
	runErrors      error // errors of single runs
	artifactsNoted bool  // a note already says that the server does not accept artifacts
}

func (s *sender) note(format string, args ...any) {
	s.sum.Notes = append(s.sum.Notes, fmt.Sprintf(format, args...))
}

type job struct {
	run    *index.Run
	folder string
	key    string // value of the tag unravel.run
	status string
	stamp  string // changes with any part of the run that Send sends
	begun  time.Time

	remote  remoteRun // run on the server; id is empty if there is none
	sent    bool      // the server has this stamp
	deleted bool      // a user deleted the run
}

func (s *sender) prepare(runs []*index.Run) map[string][]*job {
	index.Live(s.dir, runs)
	damaged, waiting := 0, 0
	jobs := map[string][]*job{}
	for _, r := range runs {
		folder := filepath.Join(s.dir, filepath.FromSlash(r.Dir))
		status := statuses[r.State]
		switch {
		case r.State == sweep.Damaged:
			damaged++
		case status == "":
			waiting++
		default:
			name := s.experimentName(filepath.Dir(folder))
			jobs[name] = append(jobs[name], &job{run: r, folder: folder, key: truncate(r.Hash+"/"+filepath.Base(folder), maxTag),
				status: status, stamp: stampOf(folder, status)})
		}
	}
	if damaged > 0 {
		s.note("left out %d damaged runs; `unravel runs --filter state=damaged --json` says why they are", damaged)
	}
	if waiting > 0 {
		s.note("left out %d runs that have not begun", waiting)
	}
	return jobs
}

// experimentName returns the folder's path relative to the parent of dir.
func (s *sender) experimentName(folder string) string {
	name := filepath.Base(folder)
	if rel, err := filepath.Rel(s.dir, folder); err == nil && filepath.IsLocal(rel) {
		name = path.Join(filepath.Base(s.dir), filepath.ToSlash(rel))
	}
	return truncate(name, maxExperimentName)
}

func (s *sender) experiment(ctx context.Context, name string, jobs []*job) error {
	id, deleted, err := s.client.experiment(ctx, name)
	if err != nil {
		return err
	}
	if deleted {
		s.note("left out %d runs: their experiment %s was deleted in MLflow; restore it there to send them", len(jobs), name)
		return nil
	}
	s.sum.Experiments++
	if err := s.findRemote(ctx, id, jobs); err != nil {
		return err
	}
	deletedRuns := 0
	for i, j := range jobs {
		progress.Report(ctx, "sending runs of "+name, int64(i), int64(len(jobs)))
		switch {
		case j.deleted:
			deletedRuns++
			continue
		case !j.sent:
			err := s.send(ctx, id, j)
			if isRunError(err) {
				s.runErrors = errors.Join(s.runErrors, fmt.Errorf("%s: %w", j.run.Dir, err))
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", j.run.Dir, err)
			}
			s.sum.Changed++
		}
		s.sum.Runs++
		j.remote = remoteRun{} // frees memory: there may be a hundred thousand runs
	}
	if deletedRuns > 0 {
		s.note("left out %d runs of %s that were deleted in MLflow; restore them there to send them", deletedRuns, name)
	}
	return nil
}

// isRunError reports whether an error only concerns a single run.
func isRunError(err error) bool {
	var refused *serverError
	if errors.As(err, &refused) {
		return refused.Status == http.StatusBadRequest || refused.Status == http.StatusRequestEntityTooLarge
	}
	return errors.As(err, new(unreadableError))
}

type unreadableError struct{ error } // error in the files of a run

func (e unreadableError) Unwrap() error { return e.error }

func (s *sender) findRemote(ctx context.Context, experiment string, jobs []*job) error {
	byKey := map[string]*job{}
	for _, j := range jobs {
		byKey[j.key] = j
	}
	return s.client.search(ctx, experiment, func(r *remoteRun) {
		tags := mapOf(r.Data.Tags)
		j := byKey[tags[runTag]]
		if j == nil || j.remote.Info.RunID != "" && !j.deleted {
			return
		}
		j.deleted = r.Info.Stage == "deleted"
		j.remote = remoteRun{Info: r.Info}
		if j.sent = tags[stampTag] == j.stamp; !j.sent {
			j.remote = *r
		}
	})
}

// send sends the missing parts of a run. It sends the stamp last: if the stamp is missing, the next call continues.
func (s *sender) send(ctx context.Context, experiment string, j *job) error {
	for _, name := range sentFiles {
		if err := rundir.CheckFile(j.folder, name); err != nil {
			return unreadableError{err}
		}
	}
	log, err := readLog(j.folder)
	if err != nil {
		return unreadableError{err}
	}
	j.begun = startTime(j.folder)
	if j.remote.Info.RunID == "" {
		if err := s.create(ctx, experiment, j); err != nil {
			return err
		}
	}
	params, note := paramsOf(j.run)
	params, note = keepParams(params, mapOf(j.remote.Data.Params), note)
	points := missingPoints(metricsOf(j.run, j.folder, log, j.begun), j.remote.Data.Metrics)
	if err := s.client.log(ctx, j.remote.Info.RunID, points, params, nil); err != nil {
		return err
	}
	update := map[string]any{"run_id": j.remote.Info.RunID, "status": j.status}
	if j.status != statusRunning {
		if err := s.artifacts(ctx, j); err != nil {
			return err
		}
		update["end_time"] = endTime(j.run, j.folder).UnixMilli()
	}
	if err := s.client.call(ctx, http.MethodPost, "runs/update", nil, update, nil); err != nil {
		return err
	}
	tags := tagsOf(j.run, note)
	tags[stampTag] = j.stamp
	return s.client.log(ctx, j.remote.Info.RunID, nil, nil, tags)
}

// create creates a run on the server. Without a response, it looks for the run, which may exist.
func (s *sender) create(ctx context.Context, experiment string, j *job) error {
	request := map[string]any{"experiment_id": experiment, "run_name": truncate(filepath.Base(j.folder), maxTag),
		"start_time": j.begun.UnixMilli(),
		"tags":       pairs(map[string]string{runTag: j.key, kindTag: "LOCAL", sourceTag: "unravel train"})}
	for try := 1; ; try++ {
		var answer struct{ Run remoteRun }
		err := s.client.call(context.WithValue(ctx, onceKey{}, true), http.MethodPost, "runs/create", nil, request, &answer)
		if err == nil && answer.Run.Info.RunID == "" {
			return fmt.Errorf("%s: POST runs/create: the answer has no run_id; want a server of MLflow", s.client.name())
		}
		if err == nil {
			j.remote = answer.Run
			return nil
		}
		var refused *serverError
		if ctx.Err() != nil || try > retries || errors.As(err, &refused) && refused.Status < 500 {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(s.client.http.RetryWaitMin << (try - 1)):
		}
		if err := s.findRemote(ctx, experiment, []*job{j}); err != nil || j.remote.Info.RunID != "" {
			return err
		}
	}
}

// artifacts sends the results and figures of a run, if the server stores artifacts itself.
func (s *sender) artifacts(ctx context.Context, j *job) error {
	location, err := url.Parse(j.remote.Info.ArtifactURI)
	if err != nil || location.Scheme != "mlflow-artifacts" || location.Host != "" && location.Host != s.client.base.Host {
		if !s.artifactsNoted {
			s.artifactsNoted = true
			s.note("left out artifacts: the server keeps them at %s; want a server with `--serve-artifacts`",
				j.remote.Info.ArtifactURI)
		}
		return nil
	}
	figures, err := os.ReadDir(filepath.Join(j.folder, rundir.FiguresDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadableError{err}
	}
	names := slices.Clone(sentFiles)
	for _, f := range figures {
		if f.Type().IsRegular() && !strings.HasPrefix(f.Name(), ".") && !disk.IsTemporary(f.Name()) {
			names = append(names, rundir.FiguresDir+"/"+f.Name())
		}
	}
	for _, name := range names {
		content, err := rundir.ReadFile(j.folder, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return unreadableError{err}
		}
		if err := s.client.put(ctx, strings.Trim(location.Path, "/")+"/"+name, content); err != nil {
			return err
		}
	}
	return nil
}

package sweep

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/search"
)

// Search searches for the best settings of an experiment. Its trials are ordinary runs, with the number and the
// settings of the trial in rundir.TrialFile. It stores no other state: a process reads the trials in the folder, and
// begins the next trial while it holds the folder's lock. Several processes can therefore work on one search, and a
// search can be stopped and continued at any time. The random settings of a trial only depend on the seed of the search
// and the number of the trial.
type Search struct {
	Method search.MethodChoice

	plan     *Plan
	file     string // file of the base config
	source   []byte
	node     *config.Node // settings of the method
	reader   Reader
	matching map[string]bool // hashes of configs that agree with their trial
}

const epochsKey = "train.epochs" // setting that rungs determine

// NewSearch returns the search of a plan. It checks the objective, and that the base config has the settings of the
// space and accepts their values. Its errors are *config.Error.
func (p *Plan) NewSearch() (*Search, error) {
	s := &Search{Method: p.Search, plan: p, node: p.searchNode(), matching: map[string]bool{}}
	var err error
	if s.file, s.source, err = configs.Find(p.Base, filepath.Dir(p.file)); err != nil {
		return nil, p.root.Invalid("base", "%w", err)
	}
	base, err := train.Load(s.file, s.source, p.fixedSettings().Overrides()...)
	if err != nil {
		return nil, p.withPosition(err)
	}
	if err := s.checkRungs(base); err != nil {
		return nil, err
	}
	own := s.Method.Value.Common()
	if names, _ := metricNames(base); own.Loss == "" && !slices.Contains(names, own.Metric) {
		if len(names) == 0 {
			return nil, s.node.Invalid("metric", "%s measures no metric; want one under metrics", p.Base)
		}
		return nil, s.node.Invalid("metric", "%q is no metric of %s%s", own.Metric, p.Base,
			registry.Suggest(own.Metric, names))
	}
	return s, s.checkSpace()
}

func (p *Plan) fixedSettings() Settings {
	list := slices.Clone(p.Set)
	for _, seed := range p.Seeds {
		list = append(list, Setting{"seed", fmt.Sprint(seed)})
	}
	return list
}

// searchNode returns a part of the search in the plan's file, or nil if the file does not contain it.
func (p *Plan) searchNode(path ...string) *config.Node {
	n := p.root.Get("search")
	for _, key := range append([]string{p.Search.Name}, path...) {
		if n != nil {
			n = n.Get(key)
		}
	}
	return n
}

// checkRungs rejects settings that rungs determine, and settings that end runs before their rung.
func (s *Search) checkRungs(base train.Config) error {
	if s.Method.Value.Rungs() == nil {
		return nil
	}
	set := slices.ContainsFunc(s.plan.Set, func(setting Setting) bool { return setting.Key == epochsKey })
	if set || slices.ContainsFunc(s.Method.Value.Common().Space, func(r search.Range) bool { return r.Key == epochsKey }) {
		return s.plan.root.Invalid("search", "%s trains for the epochs of its rungs, from min to max; want %s nowhere else",
			s.Method.Name, epochsKey)
	}
	if base.Train.Stop != nil {
		return s.plan.root.Invalid("search",
			"%s compares runs of equal length, and train.stop ends runs of %s before; want it without",
			s.Method.Name, s.plan.Base)
	}
	return nil
}

const betweenShare = 0.382 // position in a range that is unlikely to be a round number

// checkSpace loads the base config with each value of a choice, and with both ends and an inner value of other ranges.
func (s *Search) checkSpace() error {
	var errs []error
	for _, r := range s.Method.Value.Common().Space {
		texts := r.Values
		if r.Kind != search.Choice {
			texts = []string{r.Text(r.Low), r.Text(r.High)}
			if r.Kind == search.Linear || r.Kind == search.Log {
				texts = append(texts, strconv.FormatFloat(r.Low+betweenShare*(r.High-r.Low), 'g', -1, 64))
			}
		}
		for _, text := range texts {
			if _, err := train.Load(s.file, s.source, append(s.plan.fixedSettings(), Setting{r.Key, text}).Overrides()...); err != nil {
				errs = append(errs, s.plan.withPosition(err))
				break
			}
		}
	}
	return errors.Join(errs...)
}

// Check returns an error unless the first trial can be trained, its training has the objective's loss, and it can
// continue to the epochs of all rungs, for each value of a choice.
func (s *Search) Check() error {
	settings := s.Method.Value.Common()
	first := settings.Space.Draw(settings.Seed, 0, nil)
	if err := s.checkTrial(first); err != nil || s.Method.Value.Rungs() == nil {
		return err
	}
	for i, r := range settings.Space { // a choice may be a schedule or a model that depends on the number of epochs
		for v := range r.Values {
			if p := slices.Clone(first); v != int(first[i]) {
				p[i] = float64(v)
				if err := s.checkTrial(p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkTrial returns an error unless a trial can be trained and compared, and can continue to all rungs.
func (s *Search) checkTrial(p search.Point) error {
	settings, rungs := s.Method.Value.Common(), s.Method.Value.Rungs()
	r, err := s.run(0, s.settings(p), len(rungs)-1)
	if err != nil {
		return err
	}
	if v := r.Config.Train.Validation; v != nil && strings.HasPrefix(settings.Loss, engine.ValidationName+"/") {
		for _, end := range slices.Concat(rungs, []int{r.Config.Train.Epochs}) {
			if end%v.Every != 0 {
				return s.node.Invalid("loss", "%s is measured every %d epochs, and not after %d; "+
					"want train.validation.every: 1, or a multiple of it as epochs", settings.Loss, v.Every, end)
			}
		}
	}
	err = train.CheckSearch(r.Config, settings.Loss, rungs)
	var mistake *config.Error
	if errors.As(err, &mistake) && mistake.File == "" && (mistake.Key == "loss" || mistake.Key == "max") {
		return s.node.Invalid(mistake.Key, "%w", mistake.Err)
	}
	return err
}

func (s *Search) settings(p search.Point) (list Settings) {
	for i, r := range s.Method.Value.Common().Space {
		list = append(list, Setting{r.Key, r.Text(p[i])})
	}
	return list
}

// run returns the run of a trial up to the end of a rung.
func (s *Search) run(trial int, trialSettings Settings, rung int) (Run, error) {
	all := append(s.plan.fixedSettings(), trialSettings...)
	if rungs := s.Method.Value.Rungs(); rungs != nil {
		all = append(all, Setting{epochsKey, strconv.Itoa(rungs[rung])})
	}
	c, err := train.Load(s.file, s.source, all.Overrides()...)
	if err != nil {
		return Run{}, s.plan.withPosition(err)
	}
	return NewRun(fmt.Sprintf("trial%03d", trial), c)
}

// Command returns the command line that repeats the run of a trial on its own.
func (s *Search) Command(t *Trial) []string {
	all := append(s.plan.fixedSettings(), t.Settings...)
	if s.Method.Value.Rungs() != nil {
		all = append(all, Setting{epochsKey, strconv.Itoa(t.Epochs)})
	}
	return append([]string{"unravel", "train", s.plan.Base}, all.Overrides()...)
}

// Trials reads the trials in a folder. It returns an error for trials of another search, or of this search with another
// base config. For a missing folder, it returns an empty list.
func (s *Search) Trials(ctx context.Context, dir string) (*Trials, error) {
	folders, err := Look(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	dirs := make([]string, len(folders))
	for i, f := range folders {
		dirs[i] = filepath.Join(dir, filepath.FromSlash(f.Name))
	}
	found, err := readTrials(dirs, &s.reader)
	if err != nil {
		return nil, err
	}
	if found == nil {
		found = &Trials{Method: s.Method}
		if base, err := train.Load(s.file, s.source, s.plan.fixedSettings().Overrides()...); err == nil { // unchanged
			found.Better = directionOf(s.Method.Value.Common(), base)
		}
		return found, nil
	}
	const want = "want the old search, or another folder (--out)"
	if other := differentSearch(found.Method, s.Method); other != "" {
		return nil, fmt.Errorf("%s holds trials of another search: there %s; %s", dir, other, want)
	}
	found.Method = s.Method
	rungs := s.Method.Value.Rungs()
	for _, t := range found.List {
		if s.matching[t.ConfigHash] {
			continue
		}
		r, err := s.run(t.Index, t.Settings, slices.Index(rungs, t.Config.Train.Epochs))
		if err != nil {
			return nil, err
		}
		if r.Hash != t.ConfigHash {
			recorded, err1 := settingsOf(t.Config)
			planned, err2 := settingsOf(r.Config)
			difference := differentSettings(recorded, planned)
			err := fmt.Errorf("%s holds trials of another base config: in %s %s; %s", dir, t.Name, difference, want)
			return nil, errors.Join(err, err1, err2)
		}
		s.matching[t.ConfigHash] = true
	}
	return found, nil
}

// Preview returns the settings of at most n next trials, as long as they are random and do not depend on results.
func (s *Search) Preview(found *Trials, n int) (list []Settings) {
	own, trials := s.Method.Value.Common(), found.points()
	for len(list) < n && (own.Runs == 0 || len(trials) < own.Runs) {
		if t, ok := s.Method.Value.(*search.TPE); ok && len(trials) >= t.Startup {
			break
		}
		p := own.Space.Draw(own.Seed, len(trials), trials)
		if p == nil {
			break
		}
		trials, list = append(trials, search.Trial{Point: p}), append(list, s.settings(p))
	}
	return list
}

// Execute trains the trials of the search in a folder until its budget is used up, and returns all trials. Failed
// trials count as the worst, and do not end the search. Options.Index and Options.Of are ignored. When the context
// ends, the error is train.ErrStopped.
func (s *Search) Execute(ctx context.Context, dir string, o Options) (*Trials, error) {
	if o.Start == nil {
		o.Start = InProcess
	}
	o.Log = plain.Or(o.Log)
	if _, err := s.Trials(ctx, dir); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	jobs := max(1, o.Jobs)
	e := &searchExecution{Options: o, Search: s, dir: dir, threads: max(1, runtime.GOMAXPROCS(0)/jobs),
		watch: rundir.NewWatch(), progress: map[string]float64{}, retried: map[int]bool{}}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() {
			if err := e.work(ctx); err != nil {
				cancel(err) // the other jobs also save and end
			}
		})
	}
	workers.Wait()
	failure := context.Cause(ctx)
	found, err := s.Trials(context.WithoutCancel(ctx), dir)
	if failure != nil {
		if errors.Is(failure, context.Canceled) || errors.Is(failure, context.DeadlineExceeded) {
			failure = train.ErrStopped
		}
		return found, failure
	}
	return found, err
}

type searchExecution struct {
	Options
	*Search
	dir     string
	threads int // threads per run
	watch   *rundir.Watch

	chooseLock sync.Mutex   // held while a job chooses its work
	retried    map[int]bool // failed trials that this call has repeated

	lock     sync.Mutex
	progress map[string]float64 // fraction done of the runs that this call trains, by folder
	status   Status
}

// work takes one step after another until there is nothing left to do.
func (e *searchExecution) work(ctx context.Context) error {
	for ctx.Err() == nil {
		dir, run, wait, err := e.choose(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case dir == "" && !wait:
			return nil
		case dir == "":
			select {
			case <-ctx.Done():
			case <-time.After(waitLocked):
			}
			continue
		}
		begun := time.Now()
		err = e.Start(ctx, dir, e.threads, func(done, all int) { e.reportProgress(dir, float64(done)/float64(max(all, 1))) })
		if !errors.Is(err, rundir.ErrLocked) && !errors.Is(err, train.ErrStopped) && (err == nil || ctx.Err() == nil) {
			entry := readOutcome(dir, run, err, begun, e.Log)
			if entry.State == Failed && Read(dir).State != Failed { // otherwise the run would start again and again
				return fmt.Errorf("run %s: %w", run.Name, entry.Problem)
			}
		}
		e.lock.Lock()
		delete(e.progress, dir)
		e.lock.Unlock()
	}
	return nil
}

// reportProgress records the progress of a run and passes the status on.
func (e *searchExecution) reportProgress(dir string, part float64) {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.progress[dir] = part
	if e.Observe == nil {
		return
	}
	s := e.status
	s.Running = len(e.progress)
	for _, part := range e.progress {
		s.Part = min(1, s.Part+part/float64(max(s.Runs, 1)))
	}
	e.Observe(s)
}

// reportFolder records the state of the folder. It returns the folders that this call works on.
func (e *searchExecution) reportFolder(found *Trials) map[string]bool {
	e.lock.Lock()
	defer e.lock.Unlock()
	own := map[string]bool{}
	for dir := range e.progress {
		own[dir] = true
	}
	budget := e.Method.Value.Common()
	e.status = Status{Runs: max(budget.Runs, len(found.List)), Left: -1}
	for _, t := range found.List {
		switch {
		case t.State == Finished:
			e.status.Finished++
		case t.State == Failed:
			e.status.Failed++
		case !own[t.Dir]:
			e.status.Elsewhere++
		}
	}
	e.status.Part = float64(e.status.Finished+e.status.Failed) / float64(max(e.status.Runs, 1))
	if budget.CoreHours > 0 {
		e.status.Part = min(1, max(found.CoreHours/budget.CoreHours, 0))
		if budget.Runs > 0 {
			e.status.Part = max(e.status.Part, float64(e.status.Finished+e.status.Failed)/float64(budget.Runs))
		}
	}
	if e.Observe != nil {
		s := e.status
		s.Running = len(own)
		e.Observe(s)
	}
	return own
}

// choose returns the folder of the next run. If dir is empty, wait reports whether there may be one later.
func (e *searchExecution) choose(ctx context.Context) (dir string, run Run, wait bool, err error) {
	e.chooseLock.Lock()
	defer e.chooseLock.Unlock()
	held, err := rundir.Hold(ctx, e.dir)
	if err != nil {
		return "", run, false, err
	}
	defer func() { err = errors.Join(err, held.Unlock()) }()
	found, err := e.Trials(ctx, e.dir)
	if err != nil {
		return "", run, false, err
	}
	own := e.reportFolder(found)
	rungs := e.Method.Value.Rungs()
	running := false
	for _, t := range found.List {
		retry := t.State == Failed && e.Retry && !e.retried[t.Index]
		if t.State == Finished || t.State == Failed && !retry {
			continue
		}
		if own[t.Dir] || isHeld(e.watch, t.Dir) {
			running = running || own[t.Dir] || !e.NoWait
			continue
		}
		if retry {
			if err := removeRecord(t.Dir); err != nil {
				return "", run, false, err
			}
			e.retried[t.Index] = true
		}
		run, err = e.Search.run(t.Index, t.Settings, slices.Index(rungs, t.Config.Train.Epochs))
		return e.markOwn(t.Dir, err), run, false, err
	}
	budget := e.Method.Value.Common()
	if budget.CoreHours > 0 && found.CoreHours >= budget.CoreHours {
		return "", run, running, nil
	}
	trials := found.points()
	if k := missingIndex(found.List); k >= 0 { // a user removed the trial, or it is damaged
		if p := budget.Space.Draw(budget.Seed, k, trials); p != nil {
			return e.startTrial(ctx, k, p, held)
		}
	}
	step, ok := e.Method.Value.Next(trials, budget.Runs == 0 || len(trials) < budget.Runs)
	switch {
	case !ok:
		return "", run, running, nil
	case step.Trial == len(trials):
		return e.startTrial(ctx, step.Trial, step.Point, held)
	}
	return e.promote(found.List[step.Trial], step.Rung)
}

// missingIndex returns the first missing number of a trial, or -1 if no number is missing.
func missingIndex(list []Trial) int {
	for i, t := range list {
		if t.Index != i {
			return i
		}
	}
	return -1
}

// markOwn marks the run of a folder as this call's.
func (e *searchExecution) markOwn(dir string, err error) string {
	if err != nil {
		return ""
	}
	e.lock.Lock()
	defer e.lock.Unlock()
	e.progress[dir] = 0
	return dir
}

// promote gives a finished trial the epochs of another rung.
func (e *searchExecution) promote(t Trial, rung int) (dir string, run Run, wait bool, err error) {
	run, err = e.Search.run(t.Index, t.Settings, rung)
	if err != nil {
		return "", run, false, err
	}
	text, err := run.Config.Encode()
	if err != nil {
		return "", run, false, err
	}
	store, err := e.watch.Open(t.Dir)
	if errors.Is(err, rundir.ErrLocked) { // another process is reading it
		return "", run, true, nil
	}
	if err == nil {
		err = errors.Join(store.Write(rundir.Config, rundir.Bytes(text)), store.Close())
	}
	return e.markOwn(t.Dir, err), run, false, err
}

func (e *searchExecution) startTrial(ctx context.Context, k int, p search.Point, held *rundir.Folder) (dir string,
	run Run, wait bool, err error) {
	drawn := e.settings(p)
	if run, err = e.Search.run(k, drawn, 0); err != nil {
		return "", run, false, err
	}
	file := trialFile{Trial: k, Settings: map[string]string{}}
	for _, s := range drawn {
		file.Settings[s.Key] = s.Value
	}
	if file.Search, err = encodeSearch(e.Method); err != nil {
		return "", run, false, err
	}
	dir, err = createFolder(ctx, e.dir, run, held, func(store *rundir.Run, write func() error) error {
		return store.Begin(func() error {
			if err := store.Write(rundir.TrialFile, rundir.JSON(file)); err != nil {
				return err
			}
			return write()
		})
	})
	return e.markOwn(dir, err), run, false, err
}

// String returns the settings as on a command line.
func (s Settings) String() string { return strings.Join(s.Overrides(), " ") }

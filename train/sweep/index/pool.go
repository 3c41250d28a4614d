package index

import (
	"strconv"

	"github.com/unravel-ml/unravel/train/sweep"
)

// pool lets runs share equal settings and names of results.
type pool struct {
	kinds  map[string]*kind         // by their text
	names  map[string]*names        // by their text
	shared map[*sweep.Setting]*kind // by the first setting of a list that entries of a [sweep.Reader] share
}

// newPool returns a pool with the settings and names of some runs. Entries without a run have none.
func newPool(entries []entry) *pool {
	p := &pool{map[string]*kind{}, map[string]*names{}, map[*sweep.Setting]*kind{}}
	seen := map[any]bool{}
	for _, e := range entries {
		if e.Run == nil {
			continue
		}
		if k := e.Settings.kind; k != nil && !seen[k] {
			seen[k] = true
			p.kinds[k.text()], p.names[k.names.text()] = k, k.names
		}
		if n := e.Results.names; n != nil && !seen[n] {
			seen[n] = true
			p.names[n.text()] = n
		}
	}
	return p
}

// run returns the run of a folder.
func (p *pool) run(name, stamp string, e sweep.Entry) *Run {
	r := runOf(name, stamp, e)
	if e.State == sweep.Damaged {
		return r
	}
	list, err := e.Settings()
	if err != nil {
		r.State, r.Problem = sweep.Damaged, err.Error()
		return r
	}
	r.Settings, r.Results = p.settings(e, list), resultsOf(e)
	if r.Results.names != nil {
		r.Results.names = p.share(r.Results.names)
	}
	return r
}

func (p *pool) settings(e sweep.Entry, list []sweep.Setting) Settings {
	s := Settings{name: e.Config.Name, seed: strconv.FormatUint(e.Config.Seed, 10)}
	if len(list) > 0 {
		s.kind = p.shared[&list[0]]
	}
	if s.kind != nil {
		return s
	}
	all := map[string]string{nameKey: s.name, seedKey: s.seed}
	for _, setting := range list {
		all[setting.Key] = setting.Value
	}
	s.kind = NewSettings(all).kind
	s.kind.names = p.share(s.kind.names)
	if known := p.kinds[s.kind.text()]; known != nil {
		s.kind = known
	}
	p.kinds[s.kind.text()] = s.kind
	if len(list) > 0 {
		p.shared[&list[0]] = s.kind
	}
	return s
}

func (p *pool) share(n *names) *names {
	text := n.text()
	if known := p.names[text]; known != nil {
		return known
	}
	p.names[text] = n
	return n
}

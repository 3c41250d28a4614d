package sweep

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
)

// Machines describes a simulated cluster: its nodes and their shared file system.
type Machines struct {
	Nodes   float64 // number of nodes
	Cores   float64 // cores per node
	Threads float64 // cores per run
	Start   float64 // seconds until a free slot begins its next run
	Spread  float64 // standard deviation of the logarithms of durations, for stragglers
	Array   float64 // maximum number of tasks per job

	Ops        float64 // file operations per second of the shared file system
	Latency    float64 // milliseconds per file operation
	Bandwidth  float64 // bandwidth of the file system, in MB/s
	Checkpoint float64 // size of a checkpoint, in MB
	Interval   float64 // seconds between checkpoints
	Run        float64 // file operations per run, without checkpoints
	Folder     float64 // file operations of a starting task per run folder; tasks on the same node share them

	Assumed []string // omitted keys, as KEY=NUMBER: assumptions about a typical cluster, not measurements of this one
}

// machineKeys are the keys of Machines in ParseMachines.
var machineKeys = []struct {
	key   string
	value func(*Machines) *float64
	usual float64 // default; NaN: required
	least float64
	whole bool
}{
	{"nodes", func(m *Machines) *float64 { return &m.Nodes }, math.NaN(), 1, true},
	{"cores", func(m *Machines) *float64 { return &m.Cores }, math.NaN(), 1, true},
	{"threads", func(m *Machines) *float64 { return &m.Threads }, 1, 1, true},
	{"start", func(m *Machines) *float64 { return &m.Start }, 1, 0, false},
	{"spread", func(m *Machines) *float64 { return &m.Spread }, 0.1, 0, false},
	{"array", func(m *Machines) *float64 { return &m.Array }, 1001, 1, true},
	{"ops", func(m *Machines) *float64 { return &m.Ops }, 10000, 1, false},
	{"latency", func(m *Machines) *float64 { return &m.Latency }, 0.3, 0, false},
	{"bandwidth", func(m *Machines) *float64 { return &m.Bandwidth }, 1000, 0.001, false},
	{"checkpoint", func(m *Machines) *float64 { return &m.Checkpoint }, 5, 0, false},
	{"interval", func(m *Machines) *float64 { return &m.Interval }, 30, 0.001, false},
	{"run", func(m *Machines) *float64 { return &m.Run }, 1000, 0, false},
	{"folder", func(m *Machines) *float64 { return &m.Folder }, 15, 0, false},
}

// ParseMachines parses a list such as nodes=64,cores=64,threads=1. nodes and cores are required. The defaults of the
// other keys describe a typical network file system and Slurm.
func ParseMachines(text string) (*Machines, error) {
	m, given := &Machines{}, map[string]bool{}
	var names []string
	for _, k := range machineKeys {
		names = append(names, k.key)
		*k.value(m) = k.usual
	}
	for item := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(item), "=")
		i := slices.Index(names, name)
		switch {
		case !ok:
			return nil, fmt.Errorf("%q: want KEY=NUMBER, such as nodes=64,cores=64", item)
		case i < 0:
			return nil, fmt.Errorf("unknown key %q%s; want %s", name, registry.Suggest(name, names), strings.Join(names, ", "))
		case given[name]:
			return nil, fmt.Errorf("%s is given twice", name)
		}
		given[name] = true
		k := machineKeys[i]
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(v) || v < k.least || v > 1e9 || k.whole && v != math.Trunc(v) {
			kind := "a number"
			if k.whole {
				kind = "a whole number"
			}
			return nil, fmt.Errorf("%s=%s: want %s of %v or more", name, value, kind, k.least)
		}
		*k.value(m) = v
	}
	for i, k := range machineKeys {
		if math.IsNaN(*k.value(m)) {
			return nil, fmt.Errorf("%s is missing; want nodes=N,cores=N", names[i])
		}
		if !given[k.key] {
			m.Assumed = append(m.Assumed, fmt.Sprintf("%s=%v", k.key, k.usual))
		}
	}
	if m.Threads > m.Cores {
		return nil, fmt.Errorf("threads=%v: a node has %v cores", m.Threads, m.Cores)
	}
	return m, nil
}

// Places returns the number of runs that fit on the machines at the same time.
func (m *Machines) Places() int { return int(m.Nodes * math.Floor(m.Cores/m.Threads)) }

// Piece is a run in a simulation.
type Piece struct {
	Seconds float64
	After   []int // indices of runs that must end before this run begins
}

// Other costs of runs.
const (
	checkpointOps = 30   // file operations per checkpoint, including the state and the logs
	planTime      = 3e-4 // seconds per run for a task to expand the plan
	resultSize    = 0.25 // MB of a run's results, without checkpoints
	foldersAtOnce = 32   // folders that a starting task reads concurrently
)

// Simulation is the cost of a sweep on simulated machines.
type Simulation struct {
	Runs      int     `json:"runs"`
	Places    int     `json:"places"`       // number of concurrent runs that fit on the machines
	Tasks     int     `json:"tasks"`        // number of concurrent runs: limited by places, runs and the scheduler's array
	CoreHours float64 `json:"core_hours"`   // hours of cores spent on runs
	Wall      float64 `json:"wall_seconds"` // time until the last run has ended
	Longest   float64 `json:"longest_seconds"`
	Use       float64 `json:"use"` // fraction of the cores' time that is spent on runs

	Begin    float64 `json:"begin_seconds"`  // time until a task knows its work
	Ops      float64 `json:"ops_per_second"` // file operations per second while all tasks work
	Written  float64 `json:"mb_per_second"`
	Follow   float64 `json:"follow_seconds"` // seconds of the follower's first look
	OpsNodes float64 `json:"ops_nodes"`      // number of nodes at which file operations become the limit
	MBNodes  float64 `json:"mb_nodes"`       // number of nodes at which bandwidth becomes the limit
	RunNodes float64 `json:"run_nodes"`      // number of nodes beyond which the sweep does not end sooner: each run has a place, or the longest run takes as long as all
}

// Simulate assigns runs to the places of machines in order. A run begins when a place is free and the run that it
// starts from has ended. It returns an error if runs wait for each other.
func (m *Machines) Simulate(runs []Piece) (*Simulation, error) {
	s := &Simulation{Runs: len(runs), Places: m.Places()}
	if len(runs) == 0 {
		return s, nil
	}
	s.Tasks = min(len(runs), s.Places, int(m.Array))
	durations := make([]float64, len(runs))
	n, sum, slotsPerNode := float64(len(runs)), 0.0, math.Floor(m.Cores/m.Threads)
	for i, r := range runs {
		seconds := r.Seconds * m.stragglerFactor(i)
		durations[i] = m.Start + seconds
		s.Longest = max(s.Longest, durations[i])
		s.CoreHours += seconds * m.Threads / 3600
		sum += durations[i]
	}
	nodes := math.Ceil(float64(s.Tasks) / slotsPerNode)
	s.Begin = n*planTime + n*m.Folder*max(m.Latency/1000/foldersAtOnce, nodes/m.Ops)
	span, err := schedule(runs, durations, s.Tasks)
	if err != nil {
		return nil, err
	}
	s.Wall = s.Begin + span
	s.Use = s.CoreHours * 3600 / (s.Wall * m.Nodes * m.Cores)
	mean := max(sum/n, 1e-9)
	ops := m.Run/mean + checkpointOps/m.Interval         // file operations per second of a task
	written := resultSize/mean + m.Checkpoint/m.Interval // MB per second of a task
	s.Ops, s.Written = ops*float64(s.Tasks), written*float64(s.Tasks)
	s.OpsNodes, s.MBNodes = m.Ops/max(ops*slotsPerNode, 1e-9), m.Bandwidth/max(written*slotsPerNode, 1e-9)
	s.RunNodes = math.Ceil(min(n, sum/max(s.Longest, 1e-9)) / slotsPerNode)
	s.Follow = n * m.Latency / 1000
	return s, nil
}

// Limit names the bottleneck that prevents more machines from ending sooner.
func (s *Simulation) Limit(m *Machines) string {
	switch span := s.Wall - s.Begin; {
	case s.Runs == 0:
		return "there is no run"
	case s.Ops > m.Ops:
		return "operations of the file system"
	case s.Written > m.Bandwidth:
		return "bandwidth of the file system"
	case s.Begin > span:
		return "tasks that look at all folders when they begin"
	case s.Tasks == s.Runs || s.Longest > 0.9*span:
		return "the longest run"
	case s.Tasks < s.Places:
		return "the scheduler's largest array"
	}
	return "the number of cores"
}

// stragglerFactor returns the factor on the i-th run's duration: log-normal with mean 1, in a fixed order.
func (m *Machines) stragglerFactor(i int) float64 {
	if m.Spread == 0 {
		return 1
	}
	_, u := math.Modf((float64(i) + 0.5) * math.Phi)
	return math.Exp(m.Spread*math.Sqrt2*math.Erfinv(2*u-1) - m.Spread*m.Spread/2)
}

func schedule(runs []Piece, durations []float64, places int) (now float64, err error) {
	waits, next := make([]int, len(runs)), make([][]int, len(runs))
	ready := &itemHeap[int]{less: cmp.Compare[int]}
	for i, r := range runs {
		waits[i] = len(r.After)
		for _, before := range r.After {
			if before < 0 || before >= len(runs) {
				return 0, fmt.Errorf("run %d starts from run %d of %d", i, before, len(runs))
			}
			next[before] = append(next[before], i)
		}
		if waits[i] == 0 {
			ready.list = append(ready.list, i)
		}
	}
	type end struct {
		at  float64
		run int
	}
	working := &itemHeap[end]{less: func(a,
		b end) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.run, b.run))
	}}
	done := 0
	for ready.Len()+working.Len() > 0 {
		for ready.Len() > 0 && working.Len() < places {
			i := heap.Pop(ready).(int)
			heap.Push(working, end{now + durations[i], i})
		}
		e := heap.Pop(working).(end)
		now = e.at
		done++
		for _, i := range next[e.run] {
			if waits[i]--; waits[i] == 0 {
				heap.Push(ready, i)
			}
		}
	}
	if done < len(runs) {
		return 0, fmt.Errorf("%d runs start from each other", len(runs)-done)
	}
	return now, nil
}

// itemHeap is a heap of items for package heap.
type itemHeap[T any] struct {
	list []T
	less func(a, b T) int
}

func (n *itemHeap[T]) Len() int           { return len(n.list) }
func (n *itemHeap[T]) Less(i, j int) bool { return n.less(n.list[i], n.list[j]) < 0 }
func (n *itemHeap[T]) Swap(i, j int)      { n.list[i], n.list[j] = n.list[j], n.list[i] }
func (n *itemHeap[T]) Push(x any)         { n.list = append(n.list, x.(T)) }
func (n *itemHeap[T]) Pop() any {
	last := n.list[len(n.list)-1]
	n.list = n.list[:len(n.list)-1]
	return last
}

// Pieces lists runs and their seconds for a simulation. A run waits for the run in the folder that it starts from.
func Pieces(dir string, runs []Run, seconds []float64) []Piece {
	index := map[string]int{}
	for i, r := range runs {
		index[filepath.Join(dir, r.Name)] = i
	}
	list := make([]Piece, len(runs))
	for i, r := range runs {
		list[i].Seconds = seconds[i]
		if r.Config.Init == nil {
			continue
		}
		from := strings.ReplaceAll(r.Config.Init.Run, "{seed}", strconv.FormatUint(r.Config.Seed, 10))
		if before, ok := index[filepath.Clean(from)]; ok && before != i {
			list[i].After = []int{before}
		}
	}
	return list
}

var weightLine = regexp.MustCompile(`: -?([0-9]*\.[0-9]+(e[-+]?[0-9]+)?|[0-9]+e[-+]?[0-9]+)$`)

// CostOf returns a text that is equal for runs that take equally long: the config without names, seeds, starts, weights
// and rates. Weights and rates are the numbers with a decimal point or an exponent in losses and optimisers.
func CostOf(r Run) string {
	c := r.Config
	c.Seed, c.Init = 0, nil
	text, err := c.Identity()
	if err != nil { // unreachable: the config was hashed before
		return r.Hash
	}
	var b strings.Builder
	top := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" && line[0] != ' ' {
			top, _, _ = strings.Cut(line, ":")
		}
		if top == "losses" || top == "train" && strings.HasPrefix(line, "      ") {
			line = weightLine.ReplaceAllString(line, ": #")
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

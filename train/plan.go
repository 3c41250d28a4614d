package train

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/monitor"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Plan predicts the data, memory, time, metrics and files of a run, or of its first stage.
type Plan struct {
	Name     string       `json:"name"`
	Stage    string       `json:"stage,omitempty"` // learns from the codes of the first of two stages; empty: one stage
	Dataset  PlanData     `json:"dataset"`
	Network  []PlanPart   `json:"network"` // parameters, grouped by the first element of their names
	Memory   PlanMemory   `json:"memory"`
	Schedule PlanSchedule `json:"schedule"`
	Time     PlanTime     `json:"time"`
	Measures PlanMeasures `json:"measures"`
	Writes   []string     `json:"writes"` // files of the run's folder

	Device     string             `json:"device,omitempty"`     // name of the GPU
	Placements []engine.Placement `json:"placements,omitempty"` // where its operations run
}

// PlanData describes the data set.
type PlanData struct {
	Name     string  `json:"name"`
	Images   int     `json:"images"`
	Height   int     `json:"height"`
	Width    int     `json:"width"`
	Channels int     `json:"channels"`
	Labelled int     `json:"labelled"`  // images in groups, and images with known labels
	HeldOut  int     `json:"held_out"`  // images held out from training
	Bytes    float64 `json:"bytes"`     // bytes in memory, measured when the data set was built
	AllBytes float64 `json:"all_bytes"` // bytes of all images as float32, which need not be in memory at once
}

// PlanPart counts the numbers in one part of a model.
type PlanPart struct {
	Name       string `json:"part"`
	Parameters int    `json:"parameters"`
	States     int    `json:"states"` // states that follow parameters, such as EMA targets and running statistics
}

// PlanMemory estimates memory in bytes.
type PlanMemory struct {
	engine.Footprint
	Training float64 `json:"training"` // the sum of the parts, the data set and the program
	Encoding float64 `json:"encoding"` // memory of the networks for encoding and decoding, to measure and to draw
	Codes    float64 `json:"codes"`    // memory of all codes at the end, and of measuring them
	Peak     float64 `json:"peak"`     // maximum over the run
	Machine  float64 `json:"machine"`  // memory of the machine, of its control group, or the limit of its address space
	Usable   float64 `json:"usable"`   // the part of Machine that this program may use
}

// PlanSchedule counts steps.
type PlanSchedule struct {
	Epochs      int `json:"epochs"`
	EpochSteps  int `json:"epoch_steps"`
	EpochImages int `json:"epoch_images"`
	Steps       int `json:"steps"`
	Batch       int `json:"batch"` // the largest batch: train.batch, or all images if there are fewer
}

// PlanTime estimates the time of the whole run.
type PlanTime struct {
	Estimate
	Total   float64 `json:"seconds"` // the sum of all parts
	Threads int     `json:"threads"`
	FLOP    float64 `json:"step_flop"` // operations of a step: three times the forward pass
}

// PlanMeasures describes the metrics of a run.
type PlanMeasures struct {
	Final        []string `json:"final"`
	FinalImages  int      `json:"final_images"`             // images encoded at the end
	FinalHeldOut int      `json:"final_held_out,omitempty"` // images among them that metrics measure; 0: all
	During       []string `json:"during"`
	Every        int      `json:"every"` // epochs
	Images       int      `json:"images"`
}

// Check reports whether a config can be trained and measured, as far as that can be checked before training. Its data
// set, model and losses must fit together, and its metrics must suit their input. For a model that learns in stages,
// Check checks the first stage. It writes nothing.
func Check(c Config) error {
	if err := c.Validate(); err != nil {
		return config.AsError(err)
	}
	if c.stage() != nil {
		initial, err := c.initialConfig()
		if err != nil {
			return err
		}
		return Check(initial)
	}
	return CheckSearch(c, "", nil)
}

// CheckSearch reports whether a search can train runs of a config and, if loss is set, compare them by this training
// loss, named as in [EarlyStop]. If epochs are given, it also checks that training for these numbers of epochs is a
// prefix of the config's training, which a run that continues later needs.
func CheckSearch(c Config, loss string, epochs []int) error {
	if c.stage() != nil {
		return Check(c)
	}
	e, err := NewExperiment(c)
	if err != nil {
		return err
	}
	l, _, err := e.compile()
	if err != nil {
		return err
	}
	defer l.Close()
	if loss != "" {
		if _, err := monitor.FindLoss(e.losses(l), loss); err != nil {
			return config.AsError(config.Invalid("loss", "%w", err))
		}
	}
	if len(epochs) == 0 {
		return nil
	}
	if reason := l.Prefixes(epochs); reason != "" {
		return config.AsError(config.Invalid("max",
			"the runs cannot go on to more epochs: %s; want, for instance, a constant schedule", reason))
	}
	return nil
}

// Here returns a variant of the config that this machine can check, rehearse and estimate: in float32 if the processor
// lacks mixed precision. Use it for runs on other machines, which check the config themselves.
func Here(c Config) Config {
	if c.Train.Precision.Check() != nil {
		c.Train.Precision = engine.Float32
	}
	c.Train.Device = c.Train.Device.Here()
	return c
}

const programBytes = 30 << 20 // memory of the process without a data set or a model: its code and Go's runtime

// Planned returns the plan of a config, after timing its first steps ([Rehearse]). If the context ends, it returns
// ErrStopped. If [Check] rejects the config, Planned returns the same error.
func Planned(ctx context.Context, c Config) (*Plan, error) { return planned(ctx, c, true) }

// PeakMemory estimates the peak bytes of a process that trains the run. It takes no step and writes nothing.
func PeakMemory(ctx context.Context, c Config) (float64, error) {
	p, err := planned(ctx, c, false)
	if err != nil {
		return 0, err
	}
	return p.Memory.Peak, nil
}

func planned(ctx context.Context, c Config, timed bool) (*Plan, error) {
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	staged, start := c, time.Now()
	p := &Plan{Name: c.Name}
	if s := c.stage(); s != nil {
		p.Stage = s.Name
		var err error
		if c, err = c.initialConfig(); err != nil {
			return nil, err
		}
	}
	ctx, unlimit := parallel.Limit(ctx, c.Train.Threads)
	defer unlimit()
	if err := c.prepareData(ctx, nil); err != nil { // returns when the context ends
		return nil, err
	}
	heapBefore := heap()
	d, err := c.buildData()
	if err != nil {
		return nil, err
	}
	dataBytes := max(0, heap()-heapBefore)
	e, err := experimentOn(d, c, nil)
	if err != nil {
		return nil, err
	}
	if err := e.loadStart(); err != nil {
		return nil, err
	}
	l, m, err := e.compile()
	if err != nil {
		return nil, err
	}
	defer l.Close()
	p.describe(e, l, m)
	p.Dataset.Bytes = dataBytes
	p.Memory.Training = programBytes + dataBytes + p.Memory.Footprint.Total()
	p.Memory.Peak = p.Memory.Training + p.Memory.Encoding + p.Memory.Codes
	if !timed {
		return p, nil
	}
	return p, p.time(ctx, staged, e, l, m, start)
}

func heap() float64 {
	runtime.GC()
	runtime.GC() // the second one frees what pools kept over the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func scheduleOf(c *Config, l *engine.Loop) PlanSchedule {
	return PlanSchedule{Epochs: c.Train.Epochs, EpochSteps: l.EpochSteps(), EpochImages: l.EpochImages(), Steps: l.Steps(),
		Batch: l.MaxBatch()}
}

// BatchNote says that train.batch exceeds the number of images of an epoch, or returns "".
func BatchNote(asked int, s PlanSchedule) string {
	if asked <= s.EpochImages {
		return ""
	}
	return fmt.Sprintf("train.batch is %d, but an epoch has fewer images: the largest batch has %s",
		asked, wording.Count(s.Batch, "image"))
}

// describe fills in everything except the time.
func (p *Plan) describe(e *Experiment, l *engine.Loop, m *monitor.Monitor) {
	c := &e.Config
	h, w, channels := e.Data.ImageShape()
	p.Dataset = PlanData{Name: e.Data.Name(), Images: e.Data.Len(), Height: h, Width: w, Channels: channels,
		Labelled: e.Split.GroupCount(), HeldOut: len(e.HeldOut), AllBytes: memory.Product(e.Data.Len(), h, w, channels, 4)}
	if e.Split.Known != nil {
		p.Dataset.Labelled += len(e.Split.Known.Images)
	}
	p.Network = partsOf(e)
	p.Schedule = scheduleOf(c, l)
	p.Device, p.Placements = l.GPU(), l.Placements()
	p.Measures = PlanMeasures{Final: metrics.ResultNames(e.Final())}
	if encoded := e.encoded(); encoded != nil {
		p.Measures.FinalImages, p.Measures.FinalHeldOut = encoded.Data.Len(), len(encoded.HeldOut)
	}
	if m != nil {
		p.Measures.During, p.Measures.Every, p.Measures.Images = metrics.ResultNames(m.Choices), m.Every, len(m.Images)
	}
	p.Writes = e.writes(p.Measures.FinalImages > 0)
	p.Memory = PlanMemory{Footprint: l.Footprint(), Machine: memory.Machine()}
	if p.Measures.FinalImages > 0 || m != nil {
		p.Memory.Encoding = e.Coder.encoder.Bytes() + e.Coder.decoder.Bytes()
	}
	p.Memory.Usable = p.Memory.Machine * memory.Share
	p.Memory.Codes = memory.Product(p.Measures.FinalImages, e.codeNumbers(), 8)
	if len(p.Measures.Final) == 0 { // no metric copies them
		p.Memory.Codes = memory.Product(p.Measures.FinalImages, e.Coder.Width(), 4+8)
	}
}

// partsOf counts a model's parameters by the first part of their names.
func partsOf(e *Experiment) []PlanPart {
	var list []PlanPart
	params := e.Model.Params()
	for _, name := range params.Names() {
		part, _, _ := strings.Cut(name, "/")
		if n := len(list); n == 0 || list[n-1].Name != part {
			list = append(list, PlanPart{Name: part})
		}
		last, size := &list[len(list)-1], params.Get(name).Shape().TotalSize()
		if params.IsState(name) {
			last.States += size
		} else {
			last.Parameters += size
		}
	}
	return list
}

func (e *Experiment) writes(codes bool) []string {
	list := []string{rundir.Config, rundir.LogFile, rundir.CheckpointFile, rundir.StateFile, rundir.MetricsFile,
		rundir.TableFile}
	if codes {
		list = append(list, rundir.CodesFile, rundir.FactorsFile)
	}
	if e.Config.Train.Figures {
		list = append(list, rundir.FiguresDir+"/*", rundir.ReportFile)
	}
	return append(list, rundir.RecordFile)
}

func (p *Plan) time(ctx context.Context, staged Config, e *Experiment, l *engine.Loop, m *monitor.Monitor,
	start time.Time) error {
	p.Time = PlanTime{Threads: parallel.Threads(), FLOP: 3 * l.FLOP()}
	var r *Estimate
	var err error
	if p.Stage == "" {
		r, err = e.rehearse(ctx, l, m, start, false)
	} else {
		r, err = Rehearse(ctx, staged, false) // both stages
	}
	if err != nil {
		return err
	}
	p.Time.Estimate, p.Time.Total = *r, r.Seconds()
	return nil
}

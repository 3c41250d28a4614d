package serve

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// previewAnswer is the answer of /api/preview.
type previewAnswer struct {
	position
	Warning  string          `json:"warning,omitempty"`
	Problem  string          `json:"problem,omitempty"` // why nothing is shown
	Pictures []picture       `json:"pictures"`
	Explore  json.RawMessage `json:"explore,omitempty"`
}

// position is the known position of a checkpoint in the training.
type position struct {
	Epoch *int `json:"epoch,omitempty"`
	Step  *int `json:"step,omitempty"`
}

// picture is a picture of a preview.
type picture struct {
	Name    string `json:"name"`
	Caption string `json:"caption"`
	Source  string `json:"src"` // a data URL
}

// NewPreview opens the newest checkpoint of a run's folder and computes its preview as JSON: reconstructions,
// traversals and the interactive decoder. It writes nothing, neither to the folder nor to the cache of data sets.
func NewPreview(ctx context.Context, dir string) ([]byte, error) {
	a := previewAnswer{position: positionOf(dir), Pictures: []picture{}}
	if err := train.PrepareRun(cache.WithoutMaking(ctx), dir, nil); err != nil {
		return nil, fmt.Errorf("%w; a server converts no data set, but unravel eval --run %s does", err, dir)
	}
	e, warning, err := train.OpenExperiment(dir)
	if err != nil {
		return nil, err
	}
	a.Warning = warning
	p, err := e.Preview(ctx)
	if err != nil {
		return nil, err
	}
	a.Explore = p.Explore
	for _, f := range p.Figures {
		a.Pictures = append(a.Pictures, picture{f.Name, f.Caption, web.PNG(f.PNG)})
	}
	return json.Marshal(a)
}

// positionOf reads the position of the newest checkpoint.
func positionOf(dir string) (p position) {
	text, err := rundir.ReadFile(dir, rundir.StateFile)
	if err != nil || json.Unmarshal(text, &p) != nil {
		return position{}
	}
	return p
}

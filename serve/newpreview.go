package serve

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/unravel-ml/unravel/train"
)

// picture is a picture of a preview.
type picture struct {
	Name    string `json:"name"`
	Caption string `json:"caption"`
	Source  string `json:"src"` // a data URL
}

// NewPreview opens the newest checkpoint of a run's folder and computes what is shown of it, as JSON: pictures of reconstructions and
// traversals. It writes nothing.
func NewPreview(ctx context.Context, dir string) ([]byte, error) {
	e, warning, err := train.OpenExperiment(dir)
	if err != nil {
		return nil, err
	}
	v := struct {
		Warning  string    `json:"warning,omitempty"`
		Pictures []picture `json:"pictures"`
	}{Warning: warning, Pictures: []picture{}}
	list, err := e.Preview(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		v.Pictures = append(v.Pictures, picture{f.Name, f.Caption, "data:image/png;base64," + base64.StdEncoding.EncodeToString(f.PNG)})
	}
	return json.Marshal(v)
}

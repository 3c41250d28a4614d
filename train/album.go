package train

import (
	"context"

	"github.com/unravel-ml/unravel/train/engine"
)

// maxAlbum bounds the evaluations with pictures in TensorBoard's file; TensorBoard shows ten by default.
const maxAlbum = 10

// album writes pictures of decoded codes to TensorBoard's file during training. It uses the codes of evaluations.
type album struct {
	session *session
	monitor *monitor
}

func (a *album) hook() engine.Hook {
	return engine.Hook{Name: "pictures", Priority: albumPriority, OnEpoch: func(_ context.Context, _ *engine.Loop, r *engine.EpochReport) error {
		if a.monitor.measuredAt != r.Epoch || !a.due(r.Epoch, r.Of) {
			return nil
		}
		return a.draw(r.Step)
	}}
}

// due chooses the evaluations with pictures: all, or the last and equally spaced ones before it.
func (a *album) due(epoch, epochs int) bool {
	all, this := epochs/a.monitor.every, epoch/a.monitor.every
	return (all-this)%((all+maxAlbum-1)/maxAlbum) == 0
}

// draw writes the pictures.
func (a *album) draw(step int) error {
	d := a.session.experiment.drawing(a.monitor.codes, a.monitor.images, nil)
	list, err := d.Decoded(context.Background())
	if err != nil {
		return err
	}
	for _, f := range list {
		if err := a.session.logs.Picture(step, f.Name, f.Caption, f.PNG); err != nil {
			return err
		}
	}
	return a.session.logs.Events.Flush()
}

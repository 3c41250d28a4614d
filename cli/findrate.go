package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// rateFlags are the flags of a learning-rate range test.
type rateFlags struct {
	FindRate bool    `help:"Test learning rates on the first steps instead of training (Smith 2017)." detail:"The rate rises until the loss diverges. The command prints a rate, and writes a picture and the losses."`
	RateLow  float64 `default:"1e-6" placeholder:"RATE" help:"Lowest rate of --find-rate."`
	RateHigh float64 `default:"1" placeholder:"RATE" help:"Highest rate of --find-rate."`
	RateStep int     `name:"rate-steps" default:"200" placeholder:"N" help:"Number of rates of --find-rate, one for each update."`
	RateOut  string  `placeholder:"DIR" writes:"folder" help:"Folder of rates.png, rates.csv and rates.json of --find-rate (default: find-rate/NAME)."`
}

// find tests rates, and writes and prints the result.
func (f *rateFlags) find(ctx context.Context, c train.Config, asJSON bool, s *streams) error {
	r, err := train.FindRate(ctx, c, train.RateTest{Low: f.RateLow, High: f.RateHigh, Steps: f.RateStep})
	if err != nil {
		return err
	}
	dir := f.RateOut
	if dir == "" {
		dir = filepath.Join("find-rate", c.Name)
	}
	if err := disk.MakeDir(dir); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer) error{
		"rates.png":  func(w io.Writer) error { return r.Draw(w, "Learning-rate range test of "+r.Optimizer+" for "+c.Name) },
		"rates.csv":  r.WriteCSV,
		"rates.json": rundir.JSON(r),
	} {
		if err := writeOut(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	last := r.Points[len(r.Points)-1]
	fmt.Fprintf(s.log, "%d rates from %.3g to %.3g; the smoothed loss of %s is lowest, %.4g, at %.3g\n", len(r.Points), r.Points[0].Rate, last.Rate, r.Objective, r.Lowest.Smoothed, r.Lowest.Rate)
	if r.Diverged != "" {
		fmt.Fprintf(s.log, "ended at a rate of %.3g: %s\n", last.Rate, r.Diverged)
	}
	fmt.Fprintf(s.log, "see %s\n", filepath.Join(dir, "rates.png"))
	if asJSON {
		return json.NewEncoder(s.out).Encode(r)
	}
	if r.Suggested == 0 {
		_, err = fmt.Fprintf(s.out, "no rate is suggested: the loss does not fall from %.3g on; want a lower --rate-low\n", f.RateLow)
		return err
	}
	_, err = fmt.Fprintf(s.out, "train.optimizer.%s.lr=%.2g\n", r.Optimizer, r.Suggested)
	return err
}

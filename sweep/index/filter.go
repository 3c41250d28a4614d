package index

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/sweep"
)

// Filter returns the runs for which all filters hold. A filter is KEY=VALUE, KEY!=VALUE, KEY<VALUE or KEY>VALUE, where KEY is
// the name of a column; the latter two compare numbers, and a run without the column fails all but KEY!=VALUE. The state unfinished
// stands for running, waiting and stopped ones as well.
func Filter(runs []*Run, filters ...string) ([]*Run, error) {
	runs = slices.Clone(runs)
	for _, f := range filters {
		at := strings.IndexAny(f, "=<>")
		if at < 1 {
			return nil, fmt.Errorf("filter %s: want KEY=VALUE, KEY!=VALUE, KEY<VALUE or KEY>VALUE", f)
		}
		key, sign, value := f[:at], f[at:at+1], f[at+1:]
		if strings.HasSuffix(key, "!") && sign == "=" {
			key, sign = strings.TrimSuffix(key, "!"), "!="
		}
		c, err := FindColumn(runs, key)
		if err != nil {
			return nil, err
		}
		holds, err := criterion(f, sign, value)
		if err != nil {
			return nil, err
		}
		if key == "state" && value == string(sweep.Unfinished) {
			holds = func(text string, _ bool) bool { return sweep.State(text).Unfinished() == (sign == "=") }
		}
		runs = slices.DeleteFunc(runs, func(r *Run) bool { return !holds(c.Of(r)) })
	}
	return runs, nil
}

// criterion is what a filter asks of a value.
func criterion(filter, sign, value string) (func(text string, ok bool) bool, error) {
	want, err := strconv.ParseFloat(value, 64)
	equal := func(text string, ok bool) bool {
		v, wrong := strconv.ParseFloat(text, 64)
		return ok && (text == value || err == nil && wrong == nil && v == want)
	}
	switch {
	case sign == "=":
		return equal, nil
	case sign == "!=":
		return func(text string, ok bool) bool { return !equal(text, ok) }, nil
	case err != nil:
		return nil, fmt.Errorf("filter %s: %q is not a number", filter, value)
	}
	return func(text string, ok bool) bool {
		v, wrong := strconv.ParseFloat(text, 64)
		return ok && wrong == nil && (sign == "<" && v < want || sign == ">" && v > want)
	}, nil
}

// Group is runs with the same values of some columns.
type Group struct {
	Values  []string           `json:"values"`
	Runs    int                `json:"runs"`
	Mean    map[string]float64 `json:"mean"` // of each result
	Std     map[string]float64 `json:"std"`  // its standard deviation, by n-1
	members []*Run
}

// GroupBy puts runs with the same values of columns together: in the order of these where all are numbers, else in that of the first run of
// each group.
func GroupBy(runs []*Run, by ...string) ([]*Group, error) {
	var columns []Column
	for _, name := range by {
		c, err := FindColumn(runs, name)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	var groups []*Group
	for _, r := range runs {
		var values []string
		for _, c := range columns {
			text, _ := c.Of(r)
			values = append(values, text)
		}
		at := slices.IndexFunc(groups, func(g *Group) bool { return slices.Equal(g.Values, values) })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &Group{Values: values, Mean: map[string]float64{}, Std: map[string]float64{}})
		}
		groups[at].members = append(groups[at].members, r)
	}
	for _, g := range groups {
		g.Runs = len(g.members)
		for _, name := range ResultNames(g.members) {
			g.Mean[name], g.Std[name] = moments(g.members, name)
		}
	}
	sortNumbers(groups)
	return groups, nil
}

// sortNumbers sorts groups by their values if all are numbers.
func sortNumbers(groups []*Group) {
	numbers := map[*Group][]float64{}
	for _, g := range groups {
		for _, text := range g.Values {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || math.IsNaN(v) {
				return
			}
			numbers[g] = append(numbers[g], v)
		}
	}
	slices.SortStableFunc(groups, func(a, b *Group) int { return slices.Compare(numbers[a], numbers[b]) })
}

// moments are the mean and the standard deviation (n-1) of a result.
func moments(runs []*Run, name string) (mean, std float64) {
	var values []float64
	for _, r := range runs {
		if v, ok := r.Results[name]; ok {
			values = append(values, v)
			mean += v
		}
	}
	mean /= float64(len(values))
	for _, v := range values {
		std += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(std / float64(max(1, len(values)-1)))
}

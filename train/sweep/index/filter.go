package index

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/train/sweep"
)

// stateNames lists the states that a filter accepts.
var stateNames = []string{string(sweep.Finished), string(sweep.Failed), string(sweep.Damaged), string(sweep.Running),
	string(sweep.Waiting), string(sweep.Stopped), string(sweep.Unfinished)}

// Filter returns the runs that match all filters. A filter is KEY=VALUE, KEY!=VALUE, KEY<VALUE, KEY<=VALUE, KEY>VALUE
// or KEY>=VALUE, where KEY is the name of a column. The last four compare numbers. A run without the column only
// matches KEY!=VALUE. The state unfinished also matches running, waiting and stopped runs.
func Filter(runs []*Run, filters ...string) ([]*Run, error) {
	runs = slices.Clone(runs)
	for _, f := range filters {
		position := strings.IndexAny(f, "=<>")
		if position < 1 {
			return nil, fmt.Errorf("filter %s: want KEY=VALUE, KEY!=VALUE, KEY<VALUE, KEY<=VALUE, KEY>VALUE or KEY>=VALUE", f)
		}
		key, sign, value := f[:position], f[position:position+1], f[position+1:]
		switch {
		case strings.HasSuffix(key, "!") && sign == "=":
			key, sign = strings.TrimSuffix(key, "!"), "!="
		case strings.HasPrefix(value, "=") && sign != "=":
			sign, value = sign+"=", value[1:]
		}
		c, err := FindColumn(runs, key)
		if err != nil {
			return nil, err
		}
		holds, err := criterion(f, sign, value)
		if err != nil {
			return nil, err
		}
		if key == "state" && !slices.Contains(stateNames, value) {
			return nil, fmt.Errorf("filter %s: no state is %q%s", f, value, registry.Suggest(value, stateNames))
		}
		if key == "state" && value == string(sweep.Unfinished) {
			holds = func(text string, _ bool) bool { return sweep.State(text).Unfinished() == (sign == "=") }
		}
		runs = slices.DeleteFunc(runs, func(r *Run) bool { return !holds(c.Of(r)) })
	}
	return runs, nil
}

func criterion(filter, sign, value string) (func(text string, ok bool) bool, error) {
	number, err := strconv.ParseFloat(value, 64)
	equal := func(text string, ok bool) bool {
		v, parseErr := strconv.ParseFloat(text, 64)
		return ok && (text == value || err == nil && parseErr == nil && v == number)
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
		v, parseErr := strconv.ParseFloat(text, 64)
		holds := sign[0] == '<' && v < number || sign[0] == '>' && v > number || len(sign) == 2 && v == number
		return ok && parseErr == nil && holds
	}, nil
}

// Group is a set of runs with equal values in some columns.
type Group struct {
	Values  []string           `json:"values"`
	Runs    int                `json:"runs"`
	Mean    map[string]float64 `json:"mean"`  // mean of each result
	Std     map[string]float64 `json:"std"`   // standard deviation of each result of several runs, with divisor n-1
	Count   map[string]int     `json:"count"` // number of runs with each result; failed and unfinished runs have none
	members []*Run

	Repeats []string `json:"repeats,omitempty"` // folders of other runs, which repeat a run and do not count
}

// GroupBy groups runs with equal values in some columns. It sorts the groups by these values if all values are numbers.
// Otherwise the groups are in the order of their first runs.
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
	byValues := map[string]*Group{}
	for _, r := range runs {
		var values []string
		for _, c := range columns {
			text, _ := c.Of(r)
			values = append(values, text)
		}
		key := strings.Join(values, "\x00")
		g := byValues[key]
		if g == nil {
			g = &Group{Values: values}
			byValues[key], groups = g, append(groups, g)
		}
		g.members = append(g.members, r)
	}
	for _, g := range groups {
		var repeats []*Run
		g.members, repeats = Distinct(g.members)
		for _, r := range repeats {
			g.Repeats = append(g.Repeats, r.Dir)
		}
		g.Runs = len(g.members)
		g.moments()
	}
	sortNumbers(groups)
	return groups, nil
}

// Distinct separates runs from repeats: runs with the config, including the seed, and the results of an earlier run. A
// copied folder is a repeat. Repeats would make deviations over seeds too small.
func Distinct(runs []*Run) (distinct, repeats []*Run) {
	seen := map[string][]*Run{} // by hash
	for _, r := range runs {
		equal := func(other *Run) bool { return slices.Equal(other.Results.numbers, r.Results.numbers) }
		if r.Hash != "" && r.Results.Len() > 0 && slices.ContainsFunc(seen[r.Hash], equal) {
			repeats = append(repeats, r)
			continue
		}
		seen[r.Hash] = append(seen[r.Hash], r)
		distinct = append(distinct, r)
	}
	return distinct, repeats
}

// sortNumbers sorts groups by their values if all values are numbers.
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

// moments sets Mean, Std and Count.
func (g *Group) moments() {
	values, lists := map[string]*[]float64{}, map[*names][]*[]float64{}
	for _, r := range g.members {
		n := r.Results.names
		if n != nil && lists[n] == nil {
			for _, name := range n.list {
				if values[name] == nil {
					values[name] = new([]float64)
				}
				lists[n] = append(lists[n], values[name])
			}
		}
		for i, v := range r.Results.numbers {
			*lists[n][i] = append(*lists[n][i], v)
		}
	}
	g.Mean, g.Std, g.Count = map[string]float64{}, map[string]float64{}, map[string]int{}
	for name, list := range values {
		mean, deviation := numeric.MeanDeviation(*list)
		g.Count[name], g.Mean[name] = len(*list), mean
		if len(*list) > 1 {
			g.Std[name] = deviation
		}
	}
}

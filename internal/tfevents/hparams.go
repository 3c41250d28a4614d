package tfevents

import (
	"slices"
	"strings"
	"time"
)

// Name of the HParams plugin, which compares the settings of runs, and the tags of its values
// (tensorboard/plugins/hparams).
const (
	hparams         = "hparams"
	SessionStartTag = "_hparams_/session_start_info"
	SessionEndTag   = "_hparams_/session_end_info"
	experimentTag   = "_hparams_/experiment"
)

// Field numbers of the plugin's messages (tensorboard/plugins/hparams/plugin_data.proto and api.proto; google.protobuf.Value).
// HParamsPluginData.version is 0, which is not written.
const (
	dataExperiment = 2 // Experiment
	dataStart      = 3 // SessionStartInfo
	dataEnd        = 4 // SessionEndInfo

	startSettings = 1 // map<string, google.protobuf.Value>
	startTime     = 5 // double
	endStatus     = 1 // Status
	endTime       = 2 // double

	mapKey      = 1 // string
	mapValue    = 2 // google.protobuf.Value
	valueNumber = 2 // double
	valueText   = 3 // string
	valueTruth  = 4 // bool

	experimentDescription = 1 // string
	experimentSettings    = 4 // HParamInfo, repeated
	experimentMetrics     = 5 // MetricInfo, repeated
	settingName           = 1 // string
	settingType           = 4 // DataType
	metricName            = 1 // MetricName
	metricTag             = 2 // string
	metricDisplay         = 3 // string
	metricDescription     = 4 // string
)

type Status int

// The statuses of the plugin.
const (
	Succeeded Status = 1
	Failed    Status = 2
)

type Setting struct {
	Name  string
	Value any // a float64, a bool or a string
}

// SessionStart returns the value with the settings and the start time of a run. The order of the settings does not
// change the value.
func SessionStart(settings []Setting, begun time.Time) Value {
	settings = slices.Clone(settings)
	slices.SortFunc(settings, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	var b []byte
	for _, s := range settings {
		entry := appendText(nil, mapKey, s.Name)
		b = appendBytes(b, startSettings, appendBytes(entry, mapValue, s.marshal()))
	}
	return pluginValue(SessionStartTag, dataStart, appendDouble(b, startTime, unixSeconds(begun)))
}

// marshal returns a google.protobuf.Value.
func (s *Setting) marshal() []byte {
	switch v := s.Value.(type) {
	case float64:
		return appendDouble(nil, valueNumber, v)
	case bool:
		b := appendTag(nil, valueTruth, wireVarint)
		if v {
			return append(b, 1)
		}
		return append(b, 0) // a member of a oneof is written even if it has the default value
	case string:
		return appendText(nil, valueText, v)
	}
	panic("tfevents: a setting is no number, boolean or text") // a bug in this program
}

// SessionEnd returns the value with the status and the end time of a run.
func SessionEnd(s Status, ended time.Time) Value {
	return pluginValue(SessionEndTag, dataEnd,
		appendDouble(appendInt(nil, endStatus, int64(s)), endTime, unixSeconds(ended)))
}

// Metric is a scalar that the plugin compares between runs.
type Metric struct {
	Tag, Name, Description string // tag of the scalars, and name and description on the page
}

// Experiment returns the value with the settings and metrics of all runs in a folder. Write it to an event file in the
// folder itself. The type of a setting is the type of its value. Without an experiment, TensorBoard compares all
// settings and all scalars.
func Experiment(description string, settings []Setting, metrics []Metric) Value {
	b := appendText(nil, experimentDescription, description)
	for _, s := range settings {
		info := appendInt(appendText(nil, settingName, s.Name), settingType, s.kind())
		b = appendBytes(b, experimentSettings, info)
	}
	for _, m := range metrics {
		info := appendBytes(nil, metricName, appendText(nil, metricTag, m.Tag))
		info = appendText(appendText(info, metricDisplay, m.Name), metricDescription, m.Description)
		b = appendBytes(b, experimentMetrics, info)
	}
	return pluginValue(experimentTag, dataExperiment, b)
}

// kind returns the DataType of a setting.
func (s *Setting) kind() int64 {
	switch s.Value.(type) {
	case bool:
		return 2
	case float64:
		return 3
	}
	return 1
}

func pluginValue(tag string, field int, message []byte) Value {
	return Value{Tag: tag, Plugin: &Plugin{Name: hparams, Content: appendBytes(nil, field, message)}}
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

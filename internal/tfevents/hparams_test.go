package tfevents

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/unravel-ml/unravel/internal/must"
)

// schema has the names of the fields of a message, as in the .proto files of TensorFlow, TensorBoard and Protocol
// Buffers.
type schema map[protowire.Number]struct {
	name string
	sub  schema
	kind string // for a field that is not a message: string, bytes, double, float, int
}

// The schemas of the messages written by this package.
var (
	protoValue = schema{2: {name: "number_value", kind: "double"}, 3: {name: "string_value", kind: "string"},
		4: {name: "bool_value", kind: "int"}}
	hparamsData = schema{
		2: {name: "experiment", sub: schema{
			1: {name: "description", kind: "string"},
			4: {name: "hparam_infos", sub: schema{1: {name: "name", kind: "string"}, 4: {name: "type", kind: "int"}}},
			5: {name: "metric_infos", sub: schema{
				1: {name: "name", sub: schema{1: {name: "group", kind: "string"}, 2: {name: "tag", kind: "string"}}},
				3: {name: "display_name", kind: "string"}, 4: {name: "description", kind: "string"}}},
		}},
		3: {name: "session_start_info", sub: schema{
			1: {name: "hparams", sub: schema{1: {name: "key", kind: "string"}, 2: {name: "value", sub: protoValue}}},
			5: {name: "start_time_secs", kind: "double"},
		}},
		4: {name: "session_end_info", sub: schema{1: {name: "status", kind: "int"}, 2: {name: "end_time_secs", kind: "double"}}},
	}
	eventSchema = schema{
		1: {name: "wall_time", kind: "double"}, 2: {name: "step", kind: "int"}, 3: {name: "file_version", kind: "string"},
		5: {name: "summary", sub: schema{1: {name: "value", sub: schema{
			1: {name: "tag", kind: "string"}, 2: {name: "simple_value", kind: "float"},
			4: {name: "image", sub: schema{1: {name: "height", kind: "int"}, 2: {name: "width", kind: "int"},
				3: {name: "colorspace", kind: "int"}, 4: {name: "encoded_image_string", kind: "bytes"}}},
			8: {name: "tensor", sub: schema{1: {name: "dtype", kind: "int"},
				2: {name: "tensor_shape", sub: schema{2: {name: "dim", sub: schema{1: {name: "size", kind: "int"}}}}}}},
			9: {name: "metadata", sub: schema{
				1: {name: "plugin_data", sub: schema{1: {name: "plugin_name", kind: "string"}, 2: {name: "content", sub: hparamsData}}},
				3: {name: "summary_description", kind: "string"}, 4: {name: "data_class", kind: "int"}}},
		}}}},
	}
)

// text decodes a message with a schema. It is an independent implementation of the wire format.
func (s schema) text(b []byte) (string, error) {
	var parts []string
	for len(b) > 0 {
		number, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return "", protowire.ParseError(n)
		}
		b = b[n:]
		field, ok := s[number]
		if !ok {
			return "", fmt.Errorf("no field %d", number)
		}
		var value string
		switch {
		case wire == protowire.VarintType && field.kind == "int":
			var x uint64
			x, n = protowire.ConsumeVarint(b)
			value = fmt.Sprint(int64(x))
		case wire == protowire.Fixed64Type && field.kind == "double":
			var x uint64
			x, n = protowire.ConsumeFixed64(b)
			value = fmt.Sprint(math.Float64frombits(x))
		case wire == protowire.Fixed32Type && field.kind == "float":
			var x uint32
			x, n = protowire.ConsumeFixed32(b)
			value = fmt.Sprint(math.Float32frombits(x))
		case wire == protowire.BytesType:
			var x []byte
			if x, n = protowire.ConsumeBytes(b); n < 0 {
				return "", protowire.ParseError(n)
			}
			value = fmt.Sprintf("%q", x)
			if field.sub != nil {
				inner, err := field.sub.text(x)
				if err != nil {
					return "", fmt.Errorf("%s: %w", field.name, err)
				}
				value = "{" + inner + "}"
			}
		default:
			return "", fmt.Errorf("%s: wire type %d", field.name, wire)
		}
		if n < 0 {
			return "", protowire.ParseError(n)
		}
		b = b[n:]
		parts = append(parts, field.name+":"+value)
	}
	return strings.Join(parts, " "), nil
}

func TestSchema(t *testing.T) {
	begun := time.Unix(1_700_000_000, 500_000_000)
	settings := []Setting{{"model.vae.dim", 10.0}, {"dataset.augment", false}, {"a", "x\xffy"}}
	for _, test := range []struct {
		value Value
		want  string
	}{
		{Value{Tag: "loss", Scalar: 2.5}, `tag:"loss" simple_value:2.5`},
		{Value{Tag: "loss", Scalar: 2.5, Description: "nats"}, `tag:"loss" simple_value:2.5 metadata:{summary_description:"nats"}`},
		{Value{Tag: "codes", Image: &Image{Width: 300, Height: 2, PNG: []byte("png")}, Description: "Pictures."},
			`tag:"codes" image:{height:2 width:300 colorspace:3 encoded_image_string:"png"} metadata:{summary_description:"Pictures."}`},
		{Value{Tag: "codes", Image: &Image{Width: 1, Height: 2, Gray: true}}, `tag:"codes" image:{height:2 width:1 colorspace:1 encoded_image_string:""}`},
		{SessionStart(settings, begun), `tag:"_hparams_/session_start_info" tensor:{dtype:1 tensor_shape:{dim:{}}} ` +
			`metadata:{plugin_data:{plugin_name:"hparams" content:{session_start_info:{` +
			`hparams:{key:"a" value:{string_value:"x` + "\ufffd" + `y"}} hparams:{key:"dataset.augment" value:{bool_value:0}} ` +
			`hparams:{key:"model.vae.dim" value:{number_value:10}} start_time_secs:1.7000000005e+09}}} data_class:2}`},
		{SessionEnd(Succeeded, begun), `tag:"_hparams_/session_end_info" tensor:{dtype:1 tensor_shape:{dim:{}}} ` +
			`metadata:{plugin_data:{plugin_name:"hparams" content:{session_end_info:{status:1 end_time_secs:1.7000000005e+09}}} data_class:2}`},
		{Experiment("Runs.", settings, []Metric{{"metrics/mig", "mig", "higher is better"}}),
			`tag:"_hparams_/experiment" tensor:{dtype:1 tensor_shape:{dim:{}}} metadata:{plugin_data:{plugin_name:"hparams" content:{experiment:{` +
				`description:"Runs." hparam_infos:{name:"model.vae.dim" type:3} hparam_infos:{name:"dataset.augment" type:2} hparam_infos:{name:"a" type:1} ` +
				`metric_infos:{name:{tag:"metrics/mig"} display_name:"mig" description:"higher is better"}}}} data_class:2}`},
	} {
		e := Event{WallTime: 1.5, Step: 3, Values: []Value{test.value}}
		got, err := eventSchema.text(e.marshal())
		if want := "wall_time:1.5 step:3 summary:{value:{" + test.want + "}}"; err != nil || got != want {
			t.Errorf("%v\n got %s\nwant %s", err, got, want)
		}
		again, err := unmarshal(e.marshal())
		if err != nil || !bytes.Equal(again.marshal(), e.marshal()) {
			t.Errorf("%s: read as %+v, %v", test.value.Tag, again, err)
		}
	}
	if a, b := SessionStart(settings, begun), SessionStart([]Setting{settings[1], settings[2], settings[0]},
		begun); !bytes.Equal(a.Plugin.Content, b.Plugin.Content) {
		t.Error("the order of settings changes their message")
	}
}

// Resume drops events at any position, and does not change the other events.
func TestResumeDrops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	for _, drop := range []string{"start", "mid", "end", "none"} {
		w, err := Create(path, clock())
		must.OK(t, err)
		var want []string
		for i, tag := range []string{"start", "x", "mid", "y", "end"} {
			must.OK(t, w.Write(int64(i), Value{Tag: tag, Image: &Image{Width: 1, Height: 1, PNG: []byte(tag)}}))
			if tag != drop {
				want = append(want, tag)
			}
		}
		must.OK(t, w.Close())
		w, err = Resume(path, 9, clock(), func(e *Event) bool { return e.Tag() == drop })
		must.OK(t, errors.Join(err, w.Close()))
		var got []string
		for _, e := range readAll(t, path) {
			if e.Tag() != "" {
				got = append(got, string(e.Values[0].Image.PNG))
			}
		}
		must.Equal(t, strings.Join(got, " "), strings.Join(want, " "), "without", drop)
	}
}

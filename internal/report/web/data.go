package web

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"

	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/train/weights"
)

// Curves is the data of the widget curves: a list of panels.
type Curves struct {
	Panels []Panel `json:"panels"`
}

// Panel is a set of curves over the same x axis.
type Panel struct {
	Title  string   `json:"title"`
	X      string   `json:"x"` // title of the axis
	Y      string   `json:"y"`
	Log    bool     `json:"log"`             // the y axis is initially logarithmic
	Lines  bool     `json:"lines,omitempty"` // hide the panel until one of its curves has two points
	Series []Series `json:"series"`
}

// Series is a named curve. NaN and infinite points give a gap.
type Series struct {
	Name   string `json:"name"`
	X      Array  `json:"x"`
	Y      Array  `json:"y"`
	Colour *int   `json:"colour,omitempty"` // index in the categorical palette; nil: the series' index in the panel
}

// Codes is the data of the widgets codes and neighbours: rows of codes, with data about their images.
type Codes struct {
	Columns    []string    `json:"columns"`
	Codes      Array       `json:"codes"`                // [rows, columns]
	Factors    []Factor    `json:"factors"`              // may be empty
	Spaces     []Space     `json:"spaces"`               // spaces of the latent code that are not single columns
	Rows       Array       `json:"rows"`                 // numbers of the images in the data set
	Names      []string    `json:"names,omitempty"`      // files of the images; omitted: none
	Components *Components `json:"components,omitempty"` // nil: unknown
	Thumbnails *Thumbnails `json:"thumbnails,omitempty"` // thumbnails of the first rows; nil: none
}

// Components are codes projected onto their principal components.
type Components struct {
	Names  []string `json:"names"`
	Values Array    `json:"values"` // [rows, names]
}

// Factor describes one factor of the rows.
type Factor struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`             // circular, ordinal, categorical or continuous
	Levels []string `json:"levels,omitempty"` // names by level; omitted: numbers
	Size   int      `json:"size,omitempty"`   // number of levels; 0: values are continuous
	Values Array    `json:"values"`           // by row: the level, or the value of a continuous factor; NaN: unknown
}

// Space is a part of the latent space.
type Space struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"` // circle, sphere, plane or choice
	Columns []int  `json:"columns"`
}

// Thumbnails is a sheet of pictures of equal size, row by row.
type Thumbnails struct {
	Source string `json:"src"` // URL
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Across int    `json:"across"` // pictures per row of the sheet
	Count  int    `json:"count"`
}

// Heat is the data of the widget heat: maps of numbers.
type Heat struct {
	Maps []Map `json:"maps"`
}

// Map is a matrix with names of its rows and columns.
type Map struct {
	Title   string   `json:"title"`
	Rows    []string `json:"rows"`
	Columns []string `json:"columns"`
	Across  string   `json:"across,omitempty"` // meaning of the columns
	Down    string   `json:"down,omitempty"`   // meaning of the rows
	Values  Array    `json:"values"`           // [rows, columns]
	Signed  bool     `json:"signed"`           // use a diverging colour map
	Sorted  bool     `json:"sorted"`           // rows are initially sorted by the columns of their largest numbers
	Unit    string   `json:"unit"`             // quantity; may be empty
}

// Explore is the data of the widget explore: controls, start codes, and the decoder or sheets of its pictures.
type Explore struct {
	Image    Image      `json:"image"`
	Columns  int        `json:"columns"` // number of columns of a code
	Controls []Control  `json:"controls"`
	Starts   Starts     `json:"starts"`
	Known    Array      `json:"known"`             // codes [n, columns]: when an option opens a dimension, it takes its value from the nearest of these; [0, columns] without options
	Decoder  *Decoder   `json:"decoder,omitempty"` // nil: Sheets
	Sheets   *Sheets    `json:"sheets,omitempty"`
	Note     string     `json:"note,omitempty"` // reason for the sheets
	Pictures Thumbnails `json:"pictures"`       // pictures of the start images
}

// Image is the shape of images and their display range.
type Image struct {
	Height   int    `json:"height"`
	Width    int    `json:"width"`
	Channels int    `json:"channels"`
	Low      Number `json:"low"` // black, or the bottom of curves
	High     Number `json:"high"`
	Curves   bool   `json:"curves"` // draw sequences and vectors as curves, one per channel
}

// Control moves a part of a code; see decode.Control.
type Control struct {
	Kind    string   `json:"kind"` // line, circle, sphere, turn or choice
	Name    string   `json:"name"`
	Columns []int    `json:"columns"`
	Low     Number   `json:"low,omitempty"`
	High    Number   `json:"high,omitempty"`
	Options []Option `json:"options,omitempty"`
	Factor  string   `json:"factor,omitempty"` // factor that the column follows most; empty: none
	Share   Number   `json:"share,omitempty"`  // fraction of the factor's entropy in this column, 0 to 1
}

// Option lists the controls that one value of a choice opens.
type Option struct {
	Share    Number    `json:"share"` // fraction of the images
	Controls []Control `json:"controls,omitempty"`
}

// Starts are the start images.
type Starts struct {
	Rows  Array    `json:"rows"`            // numbers of the images in the data set
	Names []string `json:"names,omitempty"` // files of the images; omitted: none
	Codes Array    `json:"codes"`           // [n, columns], from the encoder
}

// Sheets are pictures of codes with two moving controls. The other controls have the values of the first start image.
type Sheets struct {
	Steps []Steps `json:"steps"` // steps of every control that moves
	Maps  []Sheet `json:"maps"`
}

// Steps are the positions of a control in sheets.
type Steps struct {
	Name   string `json:"name"`   // name of the control
	Values Array  `json:"values"` // [steps, columns of the control]
}

// Sheet has a picture for every step of one control, by row, and of another control, by column.
type Sheet struct {
	Rows     string     `json:"rows"` // names of controls
	Columns  string     `json:"columns"`
	Every    int        `json:"every,omitempty"` // only the steps 0, Every, ... of lines and circles have pictures; 0: all steps
	Pictures Thumbnails `json:"pictures"`
}

// PNG returns a PNG file as a data URL.
func PNG(file []byte) string {
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(file)
}

// Array is an array as little-endian bytes in base64, in row-major order. In JavaScript, Unravel.array decodes it.
type Array struct {
	Shape []int  `json:"shape"`
	Type  string `json:"type"` // f32, f16 or i32
	Data  []byte `json:"data"`
}

// Floats returns numbers as an f32 array. It keeps NaN and infinite numbers.
func Floats[T float32 | float64](values []T, shape ...int) Array {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
	}
	return Array{shape, "f32", data}
}

// float16s returns numbers as an f16 array, ties to even. Numbers beyond 65504 become infinite.
func float16s(values []float32, shape ...int) Array {
	data := make([]byte, 0, 2*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint16(data, float16Bits(v))
	}
	return Array{shape, "f16", data}
}

func Integers[T int | int32](values []T, shape ...int) Array {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, uint32(int32(v)))
	}
	return Array{shape, "i32", data}
}

// float16Bits returns the bits of the IEEE 754 half-precision number nearest to v, ties to even.
func float16Bits(v float32) uint16 {
	bits := math.Float32bits(v)
	sign := uint16(bits >> 16 & 0x8000)
	size := bits & 0x7fffffff
	switch {
	case size > 0x7f800000:
		return sign | 0x7e00 // NaN
	case size >= 0x477ff000: // 65520 and more round to 65536
		return sign | 0x7c00
	case size < 0x38800000: // below 2^-14 the exponent is fixed: steps of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(size))*(1<<24)))
	}
	size += 0xfff + size>>13&1 // half a step minus one, plus one for odd numbers
	return sign | uint16((size-0x38000000)>>13)
}

// Number is a JSON number that may be NaN or infinite, as the strings "NaN", "Inf" and "-Inf".
type Number float64

func (n Number) MarshalJSON() ([]byte, error) {
	switch v := float64(n); {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 1):
		return []byte(`"Inf"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Inf"`), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads a number, or a string from MarshalJSON; null is NaN.
func (n *Number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"NaN"`, "null":
		*n = Number(math.NaN())
		return nil
	case `"Inf"`:
		*n = Number(math.Inf(1))
		return nil
	case `"-Inf"`:
		*n = Number(math.Inf(-1))
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

// Decoder is a network as a list of ONNX operations (operator set 17), for one row at a time.
type Decoder struct {
	Arguments  []int       `json:"arguments"` // shape of the input, for example [1, d] for a code
	Input      string      `json:"input"`
	Output     string      `json:"output"`
	Operations []Operation `json:"operations"`
	Constants  []Constant  `json:"constants"`
}

// Operation computes an array from other arrays.
type Operation struct {
	Name       string         `json:"op"`
	Inputs     []string       `json:"in"`
	Output     string         `json:"out"`
	Attributes map[string]any `json:"with,omitempty"`
}

// Constant is a named array.
type Constant struct {
	Name   string `json:"name"`
	Values Array  `json:"values"`
}

// NewDecoder returns a network with its large arrays in half precision.
func NewDecoder(n *weights.Operations) *Decoder {
	d := &Decoder{Input: n.Input, Output: n.Output}
	for _, size := range n.Arguments {
		d.Arguments = append(d.Arguments, max(size, 1)) // -1, the number of rows, becomes 1
	}
	for _, o := range n.List {
		d.Operations = append(d.Operations,
			Operation{Name: o.Name, Inputs: o.Inputs, Output: o.Output, Attributes: o.Attributes})
	}
	for _, c := range n.Constants {
		d.Constants = append(d.Constants, newConstant(c))
	}
	return d
}

func newConstant(c weights.Constant) Constant {
	shape := append([]int{}, c.Shape...) // a single number has shape [], not null
	switch {
	case c.Ints != nil:
		return Constant{c.Name, Integers(numeric.Convert[int](c.Ints), shape...)}
	case fitsHalf(c.Floats):
		return Constant{c.Name, float16s(c.Floats, shape...)}
	}
	return Constant{c.Name, Floats(c.Floats, shape...)}
}

// An array is in half precision if it has more than fewElements elements and its maximum absolute value is in this
// range. In this range, the largest element keeps all 11 bits.
const (
	minHalfElements = 256
	smallestHalf    = 1. / (1 << 13)
	largestHalf     = 65504
)

func fitsHalf(values []float32) bool {
	largest := 0.0
	for _, v := range values {
		largest = max(largest, math.Abs(float64(v))) // NaN if a value is NaN
	}
	return len(values) > minHalfElements && largest >= smallestHalf && largest <= largestHalf
}

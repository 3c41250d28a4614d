package web

// Explore is the data of the widget explore: controls of a decoder's codes, codes to start from, and the decoder itself
// or sheets of its answers.
type Explore struct {
	Image    Image      `json:"image"`
	Columns  int        `json:"columns"` // columns of a code
	Controls []Control  `json:"controls"`
	Starts   Starts     `json:"starts"`
	Known    Array      `json:"known"`             // codes [n, columns]; an opened dimension takes its value from the nearest; [0, columns] without options
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
	Curves   bool   `json:"curves"` // sequences and vectors are curves, one for each channel
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
	Rows  Array    `json:"rows"`            // their numbers in the data set
	Names []string `json:"names,omitempty"` // their files; none: they have no files
	Codes Array    `json:"codes"`           // [n, columns]: from the encoder
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
	Every    int        `json:"every,omitempty"` // lines and circles have pictures only of the steps 0, Every, ...; 0: of all
	Pictures Thumbnails `json:"pictures"`
}

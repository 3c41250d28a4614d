package web

// Explore is what the widget explore plays with: controls of a decoder's codes, codes to start from, and the decoder itself or sheets
// of what it answered.
type Explore struct {
	Image    Image      `json:"image"`
	Columns  int        `json:"columns"` // of a code
	Controls []Control  `json:"controls"`
	Starts   Starts     `json:"starts"`
	Known    Array      `json:"known"`             // codes [n, columns] that options borrow from what they open; [0, columns] without options
	Decoder  *Decoder   `json:"decoder,omitempty"` // nil: Sheets
	Sheets   *Sheets    `json:"sheets,omitempty"`
	Note     string     `json:"note,omitempty"` // why there are sheets
	Pictures Thumbnails `json:"pictures"`       // of the start images
}

// Image is the shape of images and how they are shown.
type Image struct {
	Height   int    `json:"height"`
	Width    int    `json:"width"`
	Channels int    `json:"channels"`
	Low      Number `json:"low"` // black, or the bottom of curves
	High     Number `json:"high"`
	Curves   bool   `json:"curves"` // sequences and vectors are curves, one for each channel
}

// Control is what moves a part of a code; see decode.Control.
type Control struct {
	Kind    string   `json:"kind"` // line, circle, sphere, turn or choice
	Name    string   `json:"name"`
	Columns []int    `json:"columns"`
	Low     Number   `json:"low,omitempty"`
	High    Number   `json:"high,omitempty"`
	Options []Option `json:"options,omitempty"`
	Factor  string   `json:"factor,omitempty"` // that a column follows most; empty: none
	Share   Number   `json:"share,omitempty"`  // of the factor's entropy that this column has, 0 to 1
}

// Option is what one value of a choice opens.
type Option struct {
	Share    Number    `json:"share"` // of the images
	Controls []Control `json:"controls,omitempty"`
}

// Starts are images whose codes one can start from.
type Starts struct {
	Rows  Array `json:"rows"`  // their numbers in the data set
	Codes Array `json:"codes"` // [n, columns]: what the encoder makes of them
}

// Sheets are pictures of codes in which two controls move and the others are those of the first start image.
type Sheets struct {
	Steps []Steps `json:"steps"` // of every control that moves
	Maps  []Sheet `json:"maps"`
}

// Steps are the places of a control in sheets.
type Steps struct {
	Name   string `json:"name"`   // of the control
	Values Array  `json:"values"` // [steps, columns of the control]
}

// Sheet has a picture for every step of one control, by row, and of another, by column.
type Sheet struct {
	Rows     string     `json:"rows"` // names of controls
	Columns  string     `json:"columns"`
	Every    int        `json:"every,omitempty"` // of the steps of lines and circles only these have pictures: 0, Every, ...; 0: all
	Pictures Thumbnails `json:"pictures"`
}

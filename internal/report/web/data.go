package web

// Curves is the data of the widget curves: panels one after another.
type Curves struct {
	Panels []Panel `json:"panels"`
}

// Panel is a set of curves over one x axis.
type Panel struct {
	Title  string   `json:"title"`
	X      string   `json:"x"` // title of the axis
	Y      string   `json:"y"`
	Log    bool     `json:"log"`             // whether the y axis begins logarithmic
	Lines  bool     `json:"lines,omitempty"` // hide the panel until one of its curves has two points
	Series []Series `json:"series"`
}

// Series is a named curve. NaN and infinite points leave a gap.
type Series struct {
	Name   string `json:"name"`
	X      Array  `json:"x"`
	Y      Array  `json:"y"`
	Colour *int   `json:"colour,omitempty"` // index in the categorical palette; nil: the series' index in the panel
}

// Codes is the data of the widgets codes and neighbours: rows of codes, with facts about their images.
type Codes struct {
	Columns    []string    `json:"columns"`
	Codes      Array       `json:"codes"`                // [rows, columns]
	Factors    []Factor    `json:"factors"`              // may be empty
	Spaces     []Space     `json:"spaces"`               // spaces of the latent code with more than single columns
	Rows       Array       `json:"rows"`                 // numbers of the images in the data set
	Names      []string    `json:"names,omitempty"`      // files of the images; none: they have no files
	Components *Components `json:"components,omitempty"` // nil: not known
	Thumbnails *Thumbnails `json:"thumbnails,omitempty"` // thumbnails of the first rows; nil: none
}

// Components are codes projected to their principal components.
type Components struct {
	Names  []string `json:"names"`
	Values Array    `json:"values"` // [rows, names]
}

// Factor describes one factor of the rows.
type Factor struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`             // circular, ordinal, categorical or continuous
	Levels []string `json:"levels,omitempty"` // names by level; none: the numbers themselves
	Size   int      `json:"size,omitempty"`   // number of levels; 0: values are continuous
	Values Array    `json:"values"`           // by row: the level, or the value of a continuous factor; NaN: not known
}

// Space is a part of the latent space.
type Space struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"` // circle, sphere, plane or choice
	Columns []int  `json:"columns"`
}

// Thumbnails is a sheet of pictures of equal size, row by row.
type Thumbnails struct {
	Source string `json:"src"` // a URL
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Across int    `json:"across"` // pictures in a row of the sheet
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
	Across  string   `json:"across,omitempty"` // the meaning of the columns
	Down    string   `json:"down,omitempty"`   // the meaning of the rows
	Values  Array    `json:"values"`           // [rows, columns]
	Signed  bool     `json:"signed"`           // whether colours diverge from 0
	Sorted  bool     `json:"sorted"`           // whether rows begin sorted by the columns of their largest numbers
	Unit    string   `json:"unit"`             // the quantity; may be empty
}

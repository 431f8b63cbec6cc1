package config

import "fmt"

// Layer is a source of settings. Later layers take precedence.
type Layer string

// The layers in order of precedence, lowest first.
const (
	FromDefault     Layer = "default"
	FromRecord      Layer = "record"
	FromFile        Layer = "file"
	FromEnvironment Layer = "environment"
	FromFlag        Layer = "flag"
)

// Origin is the source of a setting.
type Origin struct {
	Layer Layer `json:"layer"`
	// File, Line and Column are the position in the file, counted from 1.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Name is the variable or the flag.
	Name string `json:"name,omitempty"`
}

// String returns the origin for display.
func (o Origin) String() string {
	switch o.Layer {
	case FromFile, FromRecord:
		if o.Line == 0 {
			return o.File
		}
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	case FromEnvironment:
		return "$" + o.Name
	case FromFlag:
		return "--" + o.Name
	}
	return string(FromDefault)
}

// problem creates a problem at this origin.
func (o Origin) problem(key, message, hint string) Problem {
	p := Problem{Key: key, Message: message, Hint: hint}
	switch o.Layer {
	case FromFile:
		p.File, p.Line, p.Column = o.File, o.Line, o.Column
	case FromEnvironment, FromFlag:
		p.Source = o.String()
	}
	return p
}

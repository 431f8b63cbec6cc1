package wire

// Stopped reports whether there was a turn to stop.
type Stopped struct {
	Stopped bool `json:"stopped"`
	// Removed are the queued messages that were not answered, the next one first.
	Removed []Unqueued `json:"removed,omitempty"`
}

// Maintain requests maintenance according to the settings. Unless Enforce is set, it is a
// dry run.
type Maintain struct {
	Enforce bool `json:"enforce,omitempty"`
}

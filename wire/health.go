package wire

// Health is the answer to whether a gateway is alive or ready.
type Health struct {
	// Status is ok, or ready.
	Status string `json:"status"`
}

// Stopped tells whether there was a turn to stop.
type Stopped struct {
	Stopped bool `json:"stopped"`
}

// Maintain asks for maintenance: by the settings, and, unless Enforce is set,
// only to tell what it would do.
type Maintain struct {
	Enforce bool `json:"enforce,omitempty"`
}

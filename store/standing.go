package store

import (
	"time"

	"firn.dev"
)

// Standing is what a medium tells of a session without opening it. If two
// standings of a session are equal, nothing has changed in between.
type Standing struct {
	ID    firn.ID
	Agent string
	// Bytes is the size of all parts, Modified the latest time one was written.
	Bytes    int64
	Modified time.Time
	Parts    int
	Archived bool
}

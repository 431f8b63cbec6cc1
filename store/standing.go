package store

import (
	"time"

	"firn.dev"
)

// Status is the status of a session that a store can determine without opening it. If it
// is equal at two times, the session has not changed in between.
type Status struct {
	ID    firn.ID
	Agent string
	// Bytes is the total size of all parts, Modified the latest write to any of them.
	Bytes    int64
	Modified time.Time
	Parts    int
	Archived bool
}

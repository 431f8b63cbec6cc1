package main

import "time"

// processorTime is the time since some moment: what this process has used of it
// is not known here.
func processorTime() time.Duration { return time.Since(launched) }

var launched = time.Now()

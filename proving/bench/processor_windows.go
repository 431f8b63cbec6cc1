package main

import "time"

// processorTime returns the elapsed time: the CPU time is not measured on Windows.
func processorTime() time.Duration { return time.Since(launched) }

var launched = time.Now()

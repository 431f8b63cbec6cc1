//go:build !linux

package main

// keepMemoryPrivate does nothing: macOS and Windows always show the environment of a
// process to processes of the same user.
func keepMemoryPrivate() {}

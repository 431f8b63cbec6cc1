//go:build !linux

package main

// keepMemoryPrivate does nothing here: macOS and Windows show the environment of a
// process to processes of the same user whatever it does.
func keepMemoryPrivate() {}

//go:build !linux

package main

// keys needs the pseudo-terminals of Linux.
func (b *bench) keys() error {
	b.note("chat: key press to the terminal while an answer streams", "only on Linux")
	return nil
}

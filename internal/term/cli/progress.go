package cli

import (
	"os"

	"firn.dev/internal/render/progress"
)

// newBar returns a progress bar on stderr, which is shown only on a terminal.
func (p *program) newBar(what string) *progress.Bar {
	switch {
	case isTerminal(p.stderr) && !p.json:
		return progress.New(p.stderr, what, false)
	case p.progress:
		return progress.New(p.stderr, what, true)
	}
	return progress.New(nil, what, false)
}

// isTerminal reports whether a stream is a character device other than the null device.
func isTerminal(stream any) bool {
	file, ok := fileOf(stream)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

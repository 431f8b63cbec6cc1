package cli

import (
	"os"

	"firn.dev/internal/render/progress"
)

// newBar makes a progress bar on stderr, which is shown if somebody can see it.
func (p *program) newBar(what string) *progress.Bar {
	switch {
	case isTerminal(p.stderr) && !p.json:
		return progress.New(p.stderr, what, false)
	case p.progress:
		return progress.New(p.stderr, what, true)
	}
	return progress.New(nil, what, false)
}

// isTerminal reports whether a stream is somebody at a screen: a device for
// characters that is not the one that swallows everything.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
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

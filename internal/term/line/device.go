package line

import (
	"os"
	"sync"

	"golang.org/x/term"
)

// Files makes a device from the two files of a terminal. The returned function releases its
// system resources and ends its reads, so that the next device of the terminal gets all keys.
func Files(in, out *os.File) (dev Device, release func()) {
	resized, unwatch := watchSize()
	dev = Device{
		In: in, Out: out, Resized: resized, Suspend: suspender(),
		Raw: func() (func() error, error) {
			state, err := term.MakeRaw(int(in.Fd()))
			if err != nil {
				return nil, err
			}
			return func() error { return term.Restore(int(in.Fd()), state) }, nil
		},
		Size: func() (int, int) {
			width, height, err := term.GetSize(int(out.Fd()))
			if err != nil {
				return 0, 0
			}
			return width, height
		},
	}
	p := newPausable(in)
	if p == nil {
		return dev, unwatch
	}
	dev.In, dev.Pause = p, p.pause
	return dev, sync.OnceFunc(func() {
		p.end()
		unwatch()
	})
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }

// ReadSecret reads a line from a terminal without showing it.
func ReadSecret(in *os.File) (string, error) {
	text, err := term.ReadPassword(int(in.Fd()))
	return string(text), err
}

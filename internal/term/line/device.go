package line

import (
	"os"

	"golang.org/x/term"
)

// Files makes a device from the two files of a terminal. The returned function releases its
// system resources.
func Files(in, out *os.File) (dev Device, release func()) {
	resized, release := watchSize()
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
	if p := newPausable(in); p != nil { // its pipe is open as long as the read, which only ends with the process
		dev.In, dev.Pause = p, p.pause
	}
	return dev, release
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }

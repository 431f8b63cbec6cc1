package line

import "os"

// pausable is not supported: a read from a console cannot be paused.
type pausable struct{ *os.File }

func newPausable(*os.File) *pausable { return nil }

func (p *pausable) end() {}

func (p *pausable) pause() (resume func()) { return func() {} }

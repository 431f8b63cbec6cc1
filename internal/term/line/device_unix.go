//go:build unix

package line

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// watchSize returns a channel that receives a value when the terminal is resized, and a
// function that stops it.
func watchSize() (<-chan struct{}, func()) {
	signals, resized, gone := make(chan os.Signal, 1), make(chan struct{}, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGWINCH)
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-signals:
				select {
				case resized <- struct{}{}:
				default: // a notification is already pending
				}
			case <-gone:
				return
			}
		}
	})
	return resized, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(gone)
		wait.Wait()
	})
}

// resumeWait is how long the process may take to stop after signaling itself. A process
// that cannot be stopped continues after that.
const resumeWait = time.Second

// suspender returns a function that stops the process, as Ctrl-Z does.
func suspender() func() {
	return func() {
		resumed := make(chan os.Signal, 1)
		signal.Notify(resumed, syscall.SIGCONT)
		defer signal.Stop(resumed)
		if syscall.Kill(0, syscall.SIGTSTP) != nil {
			return
		}
		select {
		case <-resumed:
		case <-time.After(resumeWait):
		}
	}
}

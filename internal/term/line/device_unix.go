//go:build unix

package line

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// watchSize tells when the size of the terminal changes, until it is released.
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
				default: // it knows already
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

// resumeWait is how long it may take until a program that stopped itself has
// stopped. One that cannot be stopped goes on after that.
const resumeWait = time.Second

// suspender stops the program as Ctrl-Z does.
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

//go:build !windows

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyHangup relays SIGHUP to c.
func notifyHangup(c chan<- os.Signal) { signal.Notify(c, syscall.SIGHUP) }

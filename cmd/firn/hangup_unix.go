//go:build !windows

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyHangup tells of each SIGHUP.
func notifyHangup(c chan<- os.Signal) { signal.Notify(c, syscall.SIGHUP) }

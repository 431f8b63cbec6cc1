//go:build linux && !amd64

package main

import (
	"errors"
	"time"
)

// warp shifts the clock of a process; not supported on this architecture.
type warp struct{}

// canWarp is the reason why clocks cannot be shifted.
const canWarp = "the code that moves the clock of a process is written for amd64"

func newWarp(int) (*warp, error)      { return nil, errors.New(canWarp) }
func (*warp) set(time.Duration) error { return errors.New(canWarp) }
func (*warp) close() error            { return nil }

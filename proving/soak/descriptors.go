//go:build linux

package main

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// fewDescriptors is the open file limit of a gateway that is short of descriptors.
const fewDescriptors = 96

// lowDescriptors runs the gateway with few descriptors for a while, then with the default
// limit again.
func (s *soak) lowDescriptors() error {
	s.gateway.limitDescriptors(fewDescriptors)
	if err := s.restart(); err != nil {
		return err
	}
	s.ready()
	s.rest(context.Background(), 2*min(s.Pause, 6*time.Second))
	s.gateway.limitDescriptors(0)
	return s.restart()
}

// limitDescriptors sets the open file limit of later processes; 0 means the default.
func (g *gateway) limitDescriptors(n uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.descriptors = n
}

// limit lowers the open file limit of a process that is stopped before its first
// instruction.
func (l *life) limit(descriptors uint64) error {
	if descriptors == 0 {
		return nil
	}
	return unix.Prlimit(l.pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: descriptors, Max: descriptors}, nil)
}

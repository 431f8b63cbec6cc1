//go:build linux

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// sample is how much the process has at a time.
type sample struct {
	At float64 `json:"at"` // seconds since the beginning
	// Life is which process it is.
	Life       int     `json:"life"`
	RSS        float64 `json:"rss"` // MB
	Own        float64 `json:"own"` // MB of it that firn itself holds
	Files      float64 `json:"files"`
	Goroutines float64 `json:"goroutines"`
	Sessions   int     `json:"sessions"`
}

// samples are all of them.
type samples struct {
	mu  sync.Mutex
	all []sample
	// from is where the second half begins.
	from int
}

func (s *samples) add(one sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, one)
}

// mark says that the second half begins.
func (s *samples) mark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = len(s.all)
}

// watch measures the process until it is told to stop.
func (s *soak) watch(stop <-chan struct{}) {
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if one, ok := s.measure(); ok {
				s.samples.add(one)
			}
		case <-stop:
			return
		}
	}
}

// measure measures the process. It is false if it just ended.
func (s *soak) measure() (sample, bool) {
	l, n := s.gateway.now()
	one := sample{At: time.Since(s.began).Seconds(), Life: n}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", l.pid))
	if err != nil {
		return one, false
	}
	one.Files = float64(len(fds))
	if one.RSS, err = l.memory("VmRSS:"); err != nil {
		return one, false
	}
	ctx, done := within()
	defer done()
	ops, err := s.client.Ops(ctx)
	if err != nil {
		return one, false
	}
	one.Goroutines, one.Sessions, one.Own = float64(ops.Goroutines), ops.Status.Sessions, float64(ops.Own)/(1<<20)
	_, now := s.gateway.now()
	return one, now == n
}

// memory is how many MB the system says that a process has, by one of its measures.
func (l *life) memory(which string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == which {
			kb, err := strconv.ParseFloat(f[1], 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("the system does not tell %s", which)
}

// trend is how something went in the second half: its mean, its ends on a
// straight line through all points, and the rule that it is held to.
type trend struct {
	What  string  `json:"what"`
	Mean  float64 `json:"mean"`
	Max   float64 `json:"max"`
	Grown float64 `json:"grown"`
	Rule  string  `json:"rule"`
	OK    bool    `json:"ok"`
}

// String tells it in a line.
func (t trend) String() string {
	return fmt.Sprintf("mean %.0f, most %.0f, grew by %.1f; %s", t.Mean, t.Max, t.Grown, t.Rule)
}

// grown fits a line by least squares, and returns how much it rises from the first
// point to the last.
func grown(all []sample, of func(sample) float64) (rise, mean, most float64) {
	n := float64(len(all))
	if n < 2 {
		return 0, 0, 0
	}
	var x, y, xx, xy float64
	for _, one := range all {
		v := of(one)
		x, y, xx, xy = x+one.At, y+v, xx+one.At*one.At, xy+one.At*v
		most = max(most, v)
	}
	slope := (n*xy - x*y) / (n*xx - x*x)
	return slope * (all[len(all)-1].At - all[0].At), y / n, most
}

// elsewhere is how many MB the process may have on average besides what firn itself holds:
// the program (35), and the caches of the index, which are emptied whenever it is damaged
// and built anew, and fill again (64, and what the engine needs for them and for sorting).
const elsewhere = 160

// flat tells whether memory, descriptors and goroutines stayed as they were, and whether
// the rest of the memory stayed within its bound.
func (s *samples) flat() []trend {
	s.mu.Lock()
	defer s.mu.Unlock()
	half := s.all[min(s.from, len(s.all)):]
	half = half[len(half)/5:] // a process that has just begun fills what it is allowed to keep
	var out []trend
	for _, t := range []struct {
		what         string
		of           func(sample) float64
		share, least float64
	}{
		// Two thirds of it are not in use but not collected yet: it goes up and down by as much.
		{"memory of firn itself, MB", func(o sample) float64 { return o.Own }, 0.15, 20},
		{"open descriptors", func(o sample) float64 { return o.Files }, 0.1, 12},
		{"goroutines", func(o sample) float64 { return o.Goroutines }, 0.1, 15},
	} {
		rise, mean, most := grown(half, t.of)
		bound := max(t.share*mean, t.least)
		out = append(out, trend{t.what, mean, most, rise, fmt.Sprintf("it may grow by %.1f", bound), rise <= bound})
	}
	rise, mean, most := grown(half, func(o sample) float64 { return o.RSS - o.Own })
	return append(out, trend{"memory of the index and the program, MB", mean, most, rise, fmt.Sprintf("its mean may be %d", elsewhere), mean <= elsewhere})
}

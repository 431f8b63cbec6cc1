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

// sample is the resource usage of the process at one time.
type sample struct {
	At float64 `json:"at"` // seconds since the start
	// Life is the number of the process.
	Life       int     `json:"life"`
	RSS        float64 `json:"rss"` // MB
	Own        float64 `json:"own"` // MB of it that firn itself holds
	Files      float64 `json:"files"`
	Goroutines float64 `json:"goroutines"`
	Sessions   int     `json:"sessions"`
}

// samples holds all samples.
type samples struct {
	mu  sync.Mutex
	all []sample
	// from is the index at which the second half begins.
	from int
}

func (s *samples) add(one sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, one)
}

// mark marks the start of the second half.
func (s *samples) mark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = len(s.all)
}

// watch samples the process until stop is closed.
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

// measure samples the process. It returns false if the process has just ended.
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
	ctx, done := requestContext()
	defer done()
	ops, err := s.client.Ops(ctx)
	if err != nil {
		return one, false
	}
	one.Goroutines, one.Sessions, one.Own = float64(ops.Goroutines), ops.Status.Sessions, float64(ops.Own)/(1<<20)
	_, now := s.gateway.now()
	return one, now == n
}

// memory returns a memory figure of a process in MB, by its name in /proc.
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
	return 0, fmt.Errorf("the system does not report %s", which)
}

// trend describes a figure in the second half: its mean, the ends of its linear fit, and
// the limit.
type trend struct {
	What  string  `json:"what"`
	Mean  float64 `json:"mean"`
	Max   float64 `json:"max"`
	Grown float64 `json:"grown"`
	Rule  string  `json:"rule"`
	OK    bool    `json:"ok"`
}

// String formats the trend in one line.
func (t trend) String() string {
	return fmt.Sprintf("mean %.0f, most %.0f, grew by %.1f; %s", t.Mean, t.Max, t.Grown, t.Rule)
}

// grown returns the rise of a least-squares line from the first point to the last, the mean
// and the maximum.
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

// maxOtherMemory is the maximum mean memory in MB besides firn's own heap: the program
// (35), and the caches of the index, which are emptied whenever it is damaged and rebuilt,
// and fill again (64, plus the engine's needs for them and for sorting).
const maxOtherMemory = 160

// trends returns whether memory, descriptors and goroutines stayed constant, and whether
// the other memory stayed within its limit.
func (s *samples) trends() []trend {
	s.mu.Lock()
	defer s.mu.Unlock()
	half := s.all[min(s.from, len(s.all)):]
	half = half[len(half)/5:] // a new process first fills its caches
	var out []trend
	for _, t := range []struct {
		what         string
		of           func(sample) float64
		share, least float64
	}{
		// Two thirds of it is garbage that has not been collected yet: it fluctuates by as
		// much.
		{"memory of firn itself, MB", func(o sample) float64 { return o.Own }, 0.15, 20},
		{"open descriptors", func(o sample) float64 { return o.Files }, 0.1, 12},
		{"goroutines", func(o sample) float64 { return o.Goroutines }, 0.1, 15},
	} {
		rise, mean, most := grown(half, t.of)
		bound := max(t.share*mean, t.least)
		out = append(out, trend{t.what, mean, most, rise, fmt.Sprintf("it may grow by %.1f", bound), rise <= bound})
	}
	rise, mean, most := grown(half, func(o sample) float64 { return o.RSS - o.Own })
	return append(out, trend{"memory of the index and the program, MB", mean, most, rise, fmt.Sprintf("its mean may be %d", maxOtherMemory), mean <= maxOtherMemory})
}

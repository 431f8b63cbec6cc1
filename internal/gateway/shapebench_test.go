//go:build unix

package gateway

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the CPU time of the process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLook measures reading an uncompacted session of 100,000 entries: the first time,
// again, and after an append.
func BenchmarkLook(b *testing.B) {
	r := fileRoom(b)
	id := r.longTalk(100_000)
	for name, look := range r.looks(id) {
		b.Run(name, func(b *testing.B) {
			r.Moved(id)
			for _, when := range []string{"cold", "warm", "added"} {
				if when == "added" {
					r.write(id, says("", "more"), answers("", "yes"))
				}
				from := cpuTime()
				if err := look(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64((cpuTime()-from).Microseconds())/1000, when+"-cpu-ms")
			}
		})
	}
}

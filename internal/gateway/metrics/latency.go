package metrics

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Latency is how long something took: how often it was done, how long half of
// the times took at most and all but one in a hundred, and the longest.
type Latency struct {
	Count         int64
	P50, P99, Max time.Duration
}

// Appends is how long appends took until they were durable, since the set was
// made.
func (s *Set) Appends() Latency {
	if s == nil {
		return Latency{}
	}
	return s.appendTimes.read()
}

// Syncs is how long the disk took to make something durable: files, directories
// and whole file systems.
func (s *Set) Syncs() Latency {
	if s == nil {
		return Latency{}
	}
	return s.syncTimes.read()
}

// Times are counted by buckets that are a thirty-second of a power of two of
// microseconds wide: what is told of them is at most three in a hundred too much.
const (
	fineBits    = 5
	fine        = 1 << fineBits
	timeBuckets = (40 - fineBits) * fine
)

// times counts how long something took. The zero value is ready.
type times struct {
	counts [timeBuckets]atomic.Uint64
	max    atomic.Int64
}

// bucketOf is the bucket of a number of microseconds.
func bucketOf(micros uint64) int {
	if micros < fine {
		return int(micros)
	}
	shift := bits.Len64(micros) - 1 - fineBits
	return min((shift+1)*fine+int(micros>>shift)-fine, timeBuckets-1)
}

// upper is the longest time of a bucket, in microseconds.
func upper(bucket int) uint64 {
	if bucket < fine {
		return uint64(bucket)
	}
	shift := bucket/fine - 1
	return (uint64(bucket%fine)+fine+1)<<shift - 1
}

// observe counts a time.
func (t *times) observe(took time.Duration) {
	took = max(took, 0)
	t.counts[bucketOf(uint64(took.Microseconds()))].Add(1)
	for {
		most := t.max.Load()
		if int64(took) <= most || t.max.CompareAndSwap(most, int64(took)) {
			return
		}
	}
}

// read tells what was counted.
func (t *times) read() Latency {
	var counts [timeBuckets]uint64
	var total uint64
	for i := range t.counts {
		counts[i] = t.counts[i].Load()
		total += counts[i]
	}
	l := Latency{Count: int64(total), Max: time.Duration(t.max.Load())}
	l.P50, l.P99 = quantile(&counts, (total+1)/2, l.Max), quantile(&counts, total-total/100, l.Max)
	return l
}

// quantile is how long the nth of all times took at most, from the shortest.
func quantile(counts *[timeBuckets]uint64, nth uint64, most time.Duration) time.Duration {
	var seen uint64
	for i, n := range counts {
		if seen += n; n > 0 && seen >= nth {
			return min(time.Duration(upper(i)+1)*time.Microsecond, most)
		}
	}
	return 0
}

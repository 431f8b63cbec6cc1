package metrics

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Latency summarizes durations: their number, median, 99th percentile and maximum.
type Latency struct {
	Count         int64
	P50, P99, Max time.Duration
}

// Appends returns the latency of durable appends since the set was created.
func (s *Set) Appends() Latency {
	if s == nil {
		return Latency{}
	}
	return s.appendTimes.read()
}

// Syncs returns the latency of disk syncs: files, directories and whole file systems.
func (s *Set) Syncs() Latency {
	if s == nil {
		return Latency{}
	}
	return s.syncTimes.read()
}

// Durations are counted in buckets with a width of 1/32 of a power of two of microseconds,
// so reported values are at most 3% too large.
const (
	fineBits    = 5
	fine        = 1 << fineBits
	timeBuckets = (40 - fineBits) * fine
)

// times is a histogram of durations. The zero value is ready to use.
type times struct {
	counts [timeBuckets]atomic.Uint64
	max    atomic.Int64
}

// bucketOf returns the bucket of a number of microseconds.
func bucketOf(micros uint64) int {
	if micros < fine {
		return int(micros)
	}
	shift := bits.Len64(micros) - 1 - fineBits
	return min((shift+1)*fine+int(micros>>shift)-fine, timeBuckets-1)
}

// upper returns the upper bound of a bucket, in microseconds.
func upper(bucket int) uint64 {
	if bucket < fine {
		return uint64(bucket)
	}
	shift := bucket/fine - 1
	return (uint64(bucket%fine)+fine+1)<<shift - 1
}

// observe records a duration.
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

// read returns the summary.
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

// quantile returns an upper bound of the nth shortest duration.
func quantile(counts *[timeBuckets]uint64, nth uint64, most time.Duration) time.Duration {
	var seen uint64
	for i, n := range counts {
		if seen += n; n > 0 && seen >= nth {
			return min(time.Duration(upper(i)+1)*time.Microsecond, most)
		}
	}
	return 0
}

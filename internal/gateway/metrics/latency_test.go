package metrics

import (
	"context"
	"slices"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
)

// TestLatency checks that reported durations are never too small and at most 1/32 too
// large.
func TestLatency(t *testing.T) {
	for name, took := range map[string][]time.Duration{
		"one":     {3 * time.Millisecond},
		"equal":   slices.Repeat([]time.Duration{time.Millisecond}, 1000),
		"rising":  rising(10_000, 7*time.Microsecond),
		"extreme": {0, 1, time.Microsecond, time.Hour, 24 * time.Hour, -time.Second},
		"outlier": append(slices.Repeat([]time.Duration{100 * time.Microsecond}, 199), time.Second),
	} {
		var all times
		for _, d := range took {
			all.observe(d)
		}
		for i := range took {
			took[i] = max(took[i], 0)
		}
		slices.Sort(took)
		got, n := all.read(), len(took)
		if got.Count != int64(n) || got.Max != took[n-1] {
			t.Errorf("%s: %+v of %d, the longest %v", name, got, n, took[n-1])
		}
		for what, q := range map[string]struct{ got, want time.Duration }{
			"half": {got.P50, took[(n+1)/2-1]}, "all but one in a hundred": {got.P99, took[n-n/100-1]},
		} {
			if q.got < q.want || q.got > q.want+q.want/fine+time.Microsecond {
				t.Errorf("%s: %s took %v, reported is %v", name, what, q.want, q.got)
			}
		}
	}
	if got := new(times).read(); got != (Latency{}) {
		t.Errorf("nothing was counted, but %+v is reported", got)
	}
	if s := (*Set)(nil); s.Appends() != (Latency{}) || s.Syncs() != (Latency{}) {
		t.Error("nothing counts, but something is reported")
	}
}

func rising(n int, step time.Duration) (all []time.Duration) {
	for i := range n {
		all = append(all, time.Duration(i)*step)
	}
	return all
}

// TestBucketsAreContiguous checks that every bucket ends where the next begins.
func TestBucketsAreContiguous(t *testing.T) {
	for i := range timeBuckets - 1 {
		if bucketOf(upper(i)) != i || bucketOf(upper(i)+1) != i+1 {
			t.Fatalf("bucket %d ends at %d µs, which are in %d; the next are in %d", i, upper(i), bucketOf(upper(i)), bucketOf(upper(i)+1))
		}
	}
}

// TestAppendsAreTimed checks that appends through the store are counted.
func TestAppendsAreTimed(t *testing.T) {
	s := New(time.Now())
	st := s.Store(memstore.New(memstore.Options{}))
	defer st.Close()
	for range 3 {
		if _, err := st.Append(context.Background(), "one", store.Any, firn.UserText("x")); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Appends(); got.Count != 3 || got.Max <= 0 || got.P50 <= 0 || got.P50 > got.Max {
		t.Errorf("three appends are reported as %+v", got)
	}
}

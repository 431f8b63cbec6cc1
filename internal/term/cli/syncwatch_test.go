package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/ops/sessionsync"
)

// TestWatched checks when a watched target is synced again, and what is printed: only what is
// new, and a failure once.
func TestWatched(t *testing.T) {
	now := time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)
	w := &watched{name: "share"}
	step := func(what string, got string, pause time.Duration, want ...string) {
		t.Helper()
		if w.next != now.Add(pause) {
			t.Errorf("%s: the next sync is after %v, want %v", what, w.next.Sub(now), pause)
		}
		if len(want) == 0 && got != "" {
			t.Errorf("%s: printed %q", what, got)
		}
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: printed %q, which lacks %q", what, got, part)
			}
		}
	}
	const every = time.Minute
	nothing := &sessionsync.Report{Target: "share"}
	step("nothing new", w.succeed(nothing, now, every), every)
	w.changed(now)
	step("a change", "", watchQuiet)
	w.next = now.Add(time.Second)
	w.changed(now)
	step("a change shortly before a sync", "", time.Second)
	step("news", w.succeed(&sessionsync.Report{Target: "share", Imported: 2, Sessions: 1}, now, every), every, "share: imported 2 entries of 1 session\n")
	damaged := &sessionsync.Report{Target: "share", Problems: []string{"a piece is damaged"}}
	step("a problem", w.succeed(damaged, now, every), every, "problem: a piece is damaged")
	step("the same problem", w.succeed(damaged, now, every), every)
	gone := errors.New("no network")
	step("a failure", w.fail(gone, now, every), every, "sync with share: no network; retrying\n")
	w.changed(now)
	step("a change while it fails", "", every)
	step("again", w.fail(gone, now, every), 2*every)
	step("and again", w.fail(gone, now, every), 4*every)
	for range 10 {
		w.fail(gone, now, every)
	}
	step("much later", w.fail(gone, now, every), watchLongest)
	step("another failure", w.fail(errors.New("no bucket"), now, every), watchLongest, "no bucket")
	step("success", w.succeed(damaged, now, every), every, "share: works again\n")
	step("a long interval", w.fail(gone, now, time.Hour)+w.fail(gone, now, time.Hour), time.Hour, "no network")
}

// TestParseRate reads bandwidths.
func TestParseRate(t *testing.T) {
	for text, want := range map[string]int64{"1MB/s": 1e6, "500kB/s": 5e5, "1.5 MB": 15e5, "2000": 2000, "1MiB/s": 1 << 20, "3G": 3e9, "4000B/s": 4000} {
		if got, err := parseRate(text); err != nil || got != want {
			t.Errorf("%s is %d, %v", text, got, err)
		}
	}
	for _, bad := range []string{"fast", "0", "-1MB", "1MB/h", "999", "1TB/s", "99999999999999999999GB/s"} {
		if _, err := parseRate(bad); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if r, err := parseRate(""); r != 0 || err != nil {
		t.Errorf("no limit is %v, %v", r, err)
	}
}

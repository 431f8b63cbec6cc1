package firn

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// In a bubble the clock is stopped at a known time, so the first 48 bits of an ID are known.
func TestNewIDIsVersion7(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 1000 {
			id := string(NewID())
			if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
				t.Fatalf("%q is not 8-4-4-4-12", id)
			}
			if digits := strings.ReplaceAll(id, "-", ""); len(digits) != 32 || strings.Trim(digits, "0123456789abcdef") != "" {
				t.Fatalf("%q is not 32 lowercase hex digits", id)
			}
			if got, want := id[:8]+id[9:13], "00dc6acfac00"; got != want { // 2000-01-01T00:00:00Z in milliseconds
				t.Fatalf("%q begins with %s, want the time %s", id, got, want)
			}
			if id[14] != '7' || !strings.ContainsRune("89ab", rune(id[19])) {
				t.Fatalf("%q does not have version 7 and the RFC variant", id)
			}
			if err := ID(id).Check(); err != nil {
				t.Fatalf("a new ID is rejected: %v", err)
			}
		}
	})
}

func TestNewIDSortsByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		earlier := NewID()
		for range 1000 {
			time.Sleep(time.Millisecond) // the bubble's clock
			later := NewID()
			if later <= earlier {
				t.Fatalf("%s was created after %s but sorts before it", later, earlier)
			}
			earlier = later
		}
	})
}

func TestIDCheck(t *testing.T) {
	cases := []struct {
		id ID
		ok bool
	}{
		{"a", true},
		{"7", true},
		{"0198c5a2-5f6e-7abc-8def-0123456789ab", true},
		{"main_user-1.v2", true},
		{"Z-", true},
		{ID(strings.Repeat("x", 128)), true},
		{"a_part", true},
		{"a_partx", true},
		{"a_part2x", true},
		{"part2", true},
		{"console", true},
		{"com", true},
		{"com10", true},
		{"a.con", true},
		{"", false},
		{ID(strings.Repeat("x", 129)), false},
		{".", false},
		{"..", false},
		{".hidden", false},
		{"-rf", false},
		{"_a", false},
		{"a/b", false},
		{`a\b`, false},
		{"a:b", false},
		{"a b", false},
		{"a\x00", false},
		{"a\nb", false},
		{"ä", false},
		{"aä", false},
		{"a\xff", false},
		{"a_part2", false},
		{"a_part123", false},
		{"a_part2_part3", false},
		{"a_PART2", false},
		{"con", false},
		{"NUL", false},
		{"aux.old", false},
		{"Com1", false},
		{"lpt9.x.y", false},
	}
	for _, c := range cases {
		err := c.id.Check()
		if c.ok && err != nil {
			t.Errorf("Check(%q) fails: %v", c.id, err)
		}
		if !c.ok && !errors.Is(err, ErrInvalid) {
			t.Errorf("Check(%q) = %v, want an ErrInvalid", c.id, err)
		}
	}
}

func TestEntryIDsRise(t *testing.T) {
	last := NewEntryID()
	for range 100_000 {
		next := NewEntryID()
		if next <= last {
			t.Fatalf("%s was created after %s but is not greater", next, last)
		}
		last = next
	}
}

func TestEntryIDsAreUniqueAcrossGoroutines(t *testing.T) {
	const writers, each = 8, 10_000
	ids := make([][]EntryID, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range each {
				ids[w] = append(ids[w], NewEntryID())
			}
		})
	}
	wg.Wait()
	seen := make(map[EntryID]bool, writers*each)
	for _, mine := range ids {
		if !slices.IsSorted(mine) {
			t.Error("the IDs of one goroutine do not increase")
		}
		for _, id := range mine {
			seen[id] = true
		}
	}
	if len(seen) != writers*each {
		t.Errorf("%d goroutines created %d IDs each, but only %d are unique", writers, each, len(seen))
	}
}

// The bubble's clock is in the year 2000, before all IDs that this process has created, as if
// the clock had been set back.
func TestEntryIDsRiseWhenTheClockStepsBack(t *testing.T) {
	last := NewEntryID()
	synctest.Test(t, func(t *testing.T) {
		for range 1000 {
			next := NewEntryID()
			if next <= last {
				t.Fatalf("after the clock was set back, %s follows %s", next, last)
			}
			last = next
		}
	})
}

// entryIDAt returns an ID as created by a process whose clock is off by ahead.
func entryIDAt(ahead time.Duration) EntryID {
	return formatEntryID(uint64(time.Now().Add(ahead).UnixMilli()) << 20)
}

func TestNewEntryIDAfter(t *testing.T) {
	for _, ahead := range []time.Duration{-365 * 24 * time.Hour, -time.Second, 0, time.Minute, time.Hour, 23 * time.Hour} {
		last := entryIDAt(ahead)
		first := NewEntryIDAfter(last)
		if first <= last {
			t.Errorf("after %s (%v ahead) the next ID is %s", last, ahead, first)
		}
		if second := NewEntryIDAfter(first); second <= first {
			t.Errorf("after %s the next ID is %s", first, second)
		}
	}
}

// TestNewEntryIDAfterClockAhead checks that an ID from a clock that is ahead is skipped by a
// random step, because the process that created it continues counting from it.
func TestNewEntryIDAfterClockAhead(t *testing.T) {
	for range 100 {
		last := formatEntryID(max(uint64(time.Now().Add(2*time.Hour).UnixMilli())<<20, lastEntryID()) + 1)
		n, _ := parseEntryID(last)
		got, ok := parseEntryID(NewEntryIDAfter(last))
		if !ok || got < n+1<<20 || got > n+1<<25 {
			t.Errorf("after %d the next ID is %d", n, got)
		}
	}
}

// TestNewEntryIDAfterBrokenClock checks that an ID from a broken clock does not
// advance all later ones.
func TestNewEntryIDAfterBrokenClock(t *testing.T) {
	for _, last := range []EntryID{entryIDAt(25 * time.Hour), entryIDAt(100 * 365 * 24 * time.Hour), "fzzzzzzzzzzzz"} {
		before := NewEntryID()
		got := NewEntryIDAfter(last)
		if got >= last || got <= before {
			t.Errorf("after %s came %s, want one after %s and before it", last, got, before)
		}
	}
}

func TestNewEntryIDAfterForeignIDs(t *testing.T) {
	for _, last := range []EntryID{"", Root, "a1b2c3d4", "0198c5a2-5f6e-7abc-8def-0123456789ab", "gzzzzzzzzzzzz", "0123456789abi", "0123456789ABC"} {
		before := NewEntryID()
		if got := NewEntryIDAfter(last); got <= before || len(got) != entryIDLen {
			t.Errorf("after the foreign id %q came %q, want a usual one after %q", last, got, before)
		}
	}
}

func TestEntryIDRoundTrip(t *testing.T) {
	now := uint64(time.Now().UnixMilli()) << 20
	for _, n := range []uint64{0, 1, 31, 32, 1<<20 - 1, 1 << 20, 1<<60 - 1, now, now + 0xfffff} {
		id := formatEntryID(n)
		if len(id) != entryIDLen {
			t.Errorf("formatEntryID(%d) = %q, want %d characters", n, id, entryIDLen)
		}
		got, followed := parseEntryID(id)
		if got != n || !followed {
			t.Errorf("parseEntryID(%q) = %d, %v, want %d", id, got, followed, n)
		}
	}
	if id := formatEntryID(1<<64 - 1); id != "fzzzzzzzzzzzz" {
		t.Errorf("the greatest id is %q", id)
	}
}

func TestEntryIDsSortNumerically(t *testing.T) {
	var last EntryID
	for n := uint64(1); n != 0; n <<= 1 {
		for _, m := range []uint64{n - 1, n} {
			if id := formatEntryID(m); id < last {
				t.Fatalf("the ID %s of %d sorts before %s", id, m, last)
			} else {
				last = id
			}
		}
	}
}

func TestEntryIDTime(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	made, ok := NewEntryID().Time()
	// IDs of one process increase, so one may be ahead of the clock by as much as an ID that
	// was read before.
	if !ok || made.Before(before) || made.After(time.Now().Add(25*time.Hour)) {
		t.Errorf("created at %v, %t", made, ok)
	}
	for _, id := range []EntryID{"", "user-1", "a0e20a66", "zzzzzzzzzzzzz"} {
		if _, ok := id.Time(); ok {
			t.Errorf("%q is accepted as a native ID", id)
		}
	}
}

package timer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/gateway/timer/timertest"
)

// ticks are the moments at which a schedule is due from one time to another.
func ticks(t *testing.T, expr string, zone *time.Location, from, to time.Time) []time.Time {
	t.Helper()
	s, err := parseSchedule(expr, zone)
	if err != nil {
		t.Fatal(err)
	}
	var all []time.Time
	for at := from; ; {
		next, ok := s.next(at)
		if !ok || !next.Before(to) {
			return all
		}
		if !next.After(at) {
			t.Fatalf("%s: after %s the next is %s", expr, at, next)
		}
		all = append(all, next)
		at = next
	}
}

// TestDailyOnceADay queries every half hour of the days around a clock change: a daily job is
// due once on every calendar day.
func TestDailyOnceADay(t *testing.T) {
	for _, c := range timertest.Changes {
		t.Run(c.Zone+" "+c.Day, func(t *testing.T) {
			zone := timertest.InZone(t, c.Zone)
			middle, err := time.ParseInLocation(time.DateOnly, c.Day, zone)
			if err != nil {
				t.Fatal(err)
			}
			y, m, d := middle.Date()
			from, to := time.Date(y, m, d-2, 12, 1, 0, 0, zone), time.Date(y, m, d+3, 12, 1, 0, 0, zone)
			for minute := 0; minute < 24*60; minute += 30 {
				expr := fmt.Sprintf("%d %d * * *", minute%60, minute/60)
				seen := make(map[string]int)
				for _, at := range ticks(t, expr, zone, from, to) {
					seen[at.Format(time.DateOnly)]++
				}
				for day := d - 1; day <= d+2; day++ {
					if n := seen[time.Date(y, m, day, 12, 0, 0, 0, zone).Format(time.DateOnly)]; n != 1 {
						t.Errorf("%s is due %d times on day %d", expr, n, day)
					}
				}
			}
		})
	}
}

// TestSchedule names the moments.
func TestSchedule(t *testing.T) {
	const stamp = "2006-01-02 15:04 -0700"
	for name, c := range map[string]struct {
		expr, zone, from string
		want             []string
	}{
		"jumped over": {"30 2 * * *", "Europe/Berlin", "2026-03-28 03:00 +0100",
			[]string{"2026-03-29 03:00 +0200", "2026-03-30 02:30 +0200"}},
		"twice on the wall": {"30 2 * * *", "Europe/Berlin", "2026-10-24 03:00 +0200",
			[]string{"2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"}},
		"begun within the second": {"30 2 * * *", "Europe/Berlin", "2026-10-25 02:10 +0100",
			[]string{"2026-10-26 02:30 +0100"}},
		"begun between the two": {"30 2 * * *", "Europe/Berlin", "2026-10-25 02:40 +0200",
			[]string{"2026-10-26 02:30 +0100"}},
		"several jumped over are one": {"0,20,40 2 * * *", "America/New_York", "2026-03-08 01:00 -0500",
			[]string{"2026-03-08 03:00 -0400", "2026-03-09 02:00 -0400"}},
		"one jumped over and one at the jump": {"0 2,3 * * *", "America/New_York", "2026-03-08 01:00 -0500",
			[]string{"2026-03-08 03:00 -0400", "2026-03-09 02:00 -0400"}},
		"each hour goes by time, ahead": {"0 * * * *", "America/New_York", "2026-03-08 00:30 -0500",
			[]string{"2026-03-08 01:00 -0500", "2026-03-08 03:00 -0400", "2026-03-08 04:00 -0400"}},
		"each hour goes by time, back": {"@hourly", "America/New_York", "2026-11-01 00:30 -0400",
			[]string{"2026-11-01 01:00 -0400", "2026-11-01 01:00 -0500", "2026-11-01 02:00 -0500"}},
		"quarters, back": {"*/15 * * * *", "America/New_York", "2026-11-01 01:40 -0400",
			[]string{"2026-11-01 01:45 -0400", "2026-11-01 01:00 -0500", "2026-11-01 01:15 -0500"}},
		"half an hour": {"10 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00 +1030",
			[]string{"2026-10-04 02:30 +1100", "2026-10-05 02:10 +1100"}},
		"a day that never was": {"0 12 * * *", "Pacific/Apia", "2011-12-28 13:00 -1000",
			[]string{"2011-12-29 12:00 -1000", "2011-12-31 12:00 +1400"}},
		"midnight that never was": {"@daily", "America/Sao_Paulo", "2018-11-03 12:00 -0300",
			[]string{"2018-11-04 01:00 -0200", "2018-11-05 00:00 -0200"}},
		"weekdays": {"30 7 * * 1-5", "UTC", "2026-03-13 08:00 +0000",
			[]string{"2026-03-16 07:30 +0000", "2026-03-17 07:30 +0000"}},
		"a leap day": {"0 0 29 2 *", "Europe/Berlin", "2026-03-01 00:00 +0100",
			[]string{"2028-02-29 00:00 +0100", "2032-02-29 00:00 +0100"}},
		"the 31st": {"0 9 31 * *", "UTC", "2026-08-31 09:00 +0000",
			[]string{"2026-10-31 09:00 +0000", "2026-12-31 09:00 +0000"}},
	} {
		t.Run(name, func(t *testing.T) {
			from, err := time.Parse(stamp, c.from)
			if err != nil {
				t.Fatal(err)
			}
			s, err := parseSchedule(c.expr, timertest.InZone(t, c.zone))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				next, ok := s.next(from)
				if got := next.Format(stamp); !ok || got != want {
					t.Fatalf("number %d is %s, %v, want %s", i+1, got, ok, want)
				}
				from = next
			}
		})
	}
}

// TestHourly checks that an hourly job runs every hour of a year.
func TestHourly(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Asia/Kolkata"} {
		zone := timertest.InZone(t, name)
		from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		all := ticks(t, "15 * * * *", zone, from, from.AddDate(0, 9, 0))
		for i := 1; i < len(all); i++ {
			if d := all[i].Sub(all[i-1]); d != time.Hour {
				t.Errorf("%s: %s after %s", name, d, all[i-1])
			}
		}
	}
}

func TestScheduleRefuses(t *testing.T) {
	for _, expr := range []string{"", "daily", "* * * *", "61 * * * *", "@sometimes", "a b c d e"} {
		if _, err := parseSchedule(expr, nil); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%q: %v", expr, err)
		}
	}
	s, err := parseSchedule("0 0 30 2 *", nil)
	if err != nil {
		t.Fatal(err)
	}
	if next, ok := s.next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)); ok {
		t.Errorf("the 30th of February is %s", next)
	}
}

// TestDecide decides at several times, with clocks that run, stop, and are set.
func TestDecide(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		after, now time.Duration // from noon, when it is due daily
		catchUp    bool
		want       dueVerdict
		left       time.Duration // after
	}{
		"before":                      {-time.Hour, -time.Minute, false, dueNothing, -time.Hour},
		"on time":                     {-time.Hour, 0, false, dueRunning, 0},
		"a little late":               {-time.Hour, time.Minute, false, dueRunning, time.Minute},
		"too late":                    {-time.Hour, time.Hour, false, dueMissed, time.Hour},
		"too late and made up for":    {-time.Hour, time.Hour, true, dueRunning, time.Hour},
		"400 days later, once":        {-time.Hour, 400 * 24 * time.Hour, true, dueRunning, 400 * 24 * time.Hour},
		"400 days later, never":       {-time.Hour, 400*24*time.Hour + 3*time.Minute, false, dueMissed, 400*24*time.Hour + 3*time.Minute},
		"done":                        {time.Second, time.Minute, true, dueNothing, time.Second},
		"set back a little is no due": {time.Second, -time.Minute, true, dueNothing, time.Second},
		"set back far starts again":   {30 * 24 * time.Hour, -time.Minute, false, dueNothing, -time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			schedule, err := parseSchedule("0 12 * * *", time.UTC)
			if err != nil {
				t.Fatal(err)
			}
			s := jobState{schedule: schedule}
			s.setChecked(noon.Add(c.after))
			if _, got := s.checkDue(noon.Add(c.now), c.catchUp); got != c.want {
				t.Errorf("it is %d, want %d", got, c.want)
			}
			if got := s.after.Sub(noon); got != c.left {
				t.Errorf("it was looked up to %s, want %s", got, c.left)
			}
		})
	}
}

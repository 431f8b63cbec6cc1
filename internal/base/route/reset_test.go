package route_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"

	"pgregory.net/rapid"
)

// at reads a moment as a clock in loc shows it.
func at(t testing.TB, loc *time.Location, clock string) time.Time {
	t.Helper()
	m, err := time.ParseInLocation("2006-01-02 15:04", clock, loc)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFresh(t *testing.T) {
	daily, idle := route.Policy{Mode: route.ModeDaily}, route.Policy{Mode: route.ModeIdle}
	cases := []struct {
		name                               string
		policy                             route.Policy
		started, interaction, updated, now string // of 2026-01, in UTC
		reason                             route.Cause
		since                              string
	}{
		{"nothing known", daily, "", "", "", "15 10:00", "", ""},
		{"none", route.Policy{Mode: route.ModeNone, TTL: time.Minute, Idle: time.Minute}, "01 10:00", "01 10:00", "01 10:00", "15 10:00", "", ""},
		{"began today", daily, "15 04:00", "15 09:00", "", "15 10:00", "", ""},
		{"began a minute before four", daily, "15 03:59", "15 09:00", "", "15 10:00", "daily", "15 04:00"},
		{"before four it is still yesterday", daily, "14 04:00", "14 20:00", "", "15 03:59", "", ""},
		{"at four sharp", daily, "14 04:00", "14 20:00", "", "15 04:00", "daily", "15 04:00"},
		{"used all along, begun yesterday", daily, "14 12:00", "15 09:00", "15 09:59", "15 10:00", "daily", "15 04:00"},
		{"days later: since the first four", daily, "02 12:00", "02 12:00", "", "15 10:00", "daily", "03 04:00"},
		{"an empty mode is daily", route.Policy{}, "14 12:00", "", "", "15 10:00", "daily", "15 04:00"},
		{"another hour", route.Policy{AtHour: route.Hour(12)}, "14 13:00", "", "", "15 11:59", "", ""},
		{"midnight", route.Policy{AtHour: route.Hour(0)}, "14 23:00", "14 23:01", "", "15 00:20", "daily", "15 00:00"},
		{"an hour too big", route.Policy{AtHour: route.Hour(99)}, "14 22:00", "", "", "14 23:00", "daily", "14 23:00"},
		{"an hour too small", route.Policy{AtHour: route.Hour(-3)}, "14 22:00", "", "", "15 00:00", "daily", "15 00:00"},
		{"not in the middle of a talk", daily, "14 22:00", "15 03:55", "", "15 04:05", "", ""},
		{"after the talk", daily, "14 22:00", "15 03:55", "", "15 04:10", "daily", "15 04:00"},
		{"in the middle if that is wanted", route.Policy{Quiet: -1}, "14 22:00", "15 03:59", "", "15 04:00", "daily", "15 04:00"},
		{"a longer silence", route.Policy{Quiet: 2 * time.Hour}, "14 22:00", "15 03:00", "", "15 04:59", "", ""},
		{"only the update is known", daily, "", "", "15 03:59", "15 04:00", "daily", "15 04:00"},
		{"idle", idle, "15 01:00", "15 09:00", "15 09:00", "15 10:00", "", ""},
		{"idle a minute more", idle, "15 01:00", "15 09:00", "15 09:00", "15 10:01", "idle", "15 10:00"},
		{"machines keep nothing alive", idle, "15 01:00", "15 08:00", "15 09:59", "15 10:00", "idle", "15 09:00"},
		{"idle by the update", idle, "15 01:00", "", "15 09:30", "15 10:00", "", ""},
		{"idle by the start", idle, "15 08:00", "", "", "15 10:00", "idle", "15 09:00"},
		{"idle does not know four", idle, "15 03:00", "15 03:50", "", "15 04:40", "", ""},
		{"idle at least a minute", route.Policy{Mode: route.ModeIdle, Idle: time.Second}, "15 01:00", "15 10:00", "", "15 10:01", "", ""},
		{"both, four first", route.Policy{Mode: route.ModeBoth, Idle: 5 * time.Hour}, "15 01:00", "15 01:00", "", "15 10:00", "daily", "15 04:00"},
		{"both, silence first", route.Policy{Mode: route.ModeBoth}, "15 01:00", "15 02:00", "", "15 10:00", "idle", "15 03:00"},
		{"daily with silence is both", route.Policy{Idle: time.Hour}, "15 05:00", "15 06:00", "", "15 10:00", "idle", "15 07:00"},
		{"ttl", route.Policy{Mode: route.ModeIdle, Idle: 99 * time.Hour, TTL: 2 * time.Hour}, "15 08:00", "15 09:30", "", "15 10:00", "ttl", "15 10:00"},
		{"ttl not yet", route.Policy{Mode: route.ModeIdle, Idle: 99 * time.Hour, TTL: 2 * time.Hour}, "15 08:01", "15 09:30", "", "15 10:00", "", ""},
		{"ttl not in the middle of a talk", route.Policy{Mode: route.ModeIdle, Idle: 99 * time.Hour, TTL: 2 * time.Hour}, "15 08:00", "15 09:50", "", "15 10:00", "", ""},
		{"a clock that went back", route.Policy{Mode: route.ModeBoth, TTL: time.Hour}, "15 12:00", "15 12:00", "15 12:00", "15 10:00", "", ""},
	}
	for _, c := range cases {
		when := func(s string) time.Time {
			if s == "" {
				return time.Time{}
			}
			return at(t, time.UTC, "2026-01-"+s)
		}
		v := route.CheckExpiry(c.policy, when(c.now), nil, route.Times{Started: when(c.started), Interaction: when(c.interaction), Updated: when(c.updated)})
		if want := (route.Verdict{Stale: c.reason != "", Reason: c.reason, Since: when(c.since)}); v.Stale != want.Stale || v.Reason != want.Reason || !v.Since.Equal(want.Since) {
			t.Errorf("%s: %+v, want %+v", c.name, v, want)
		}
	}
}

// TestNextHour has the days on which clocks jump.
func TestNextHour(t *testing.T) {
	cases := []struct {
		name, zone, after string
		hour              int
		want              string // in UTC
	}{
		{"an ordinary day", "Europe/Berlin", "2026-01-15 03:59", 4, "2026-01-15 03:00"},
		{"the hour itself is past", "Europe/Berlin", "2026-01-15 04:00", 4, "2026-01-16 03:00"},
		{"summer begins before it", "Europe/Berlin", "2026-03-29 01:30", 4, "2026-03-29 02:00"},
		{"summer begins over it", "Europe/Berlin", "2026-03-28 12:00", 2, "2026-03-29 01:00"},
		{"and the day after", "Europe/Berlin", "2026-03-29 03:00", 2, "2026-03-30 00:00"},
		{"winter begins before it", "Europe/Berlin", "2026-10-24 12:00", 4, "2026-10-25 03:00"},
		{"winter begins over it: the first", "Europe/Berlin", "2026-10-24 12:00", 2, "2026-10-25 00:00"},
		{"New York in spring", "America/New_York", "2026-03-07 12:00", 2, "2026-03-08 07:00"},
		{"New York in autumn", "America/New_York", "2026-10-31 12:00", 1, "2026-11-01 05:00"},
		{"a day that begins at one", "America/Santiago", "2026-09-05 12:00", 0, "2026-09-06 04:00"},
		{"a midnight that comes twice", "America/Havana", "2026-10-31 12:00", 0, "2026-11-01 04:00"},
		{"a jump of half an hour", "Australia/Lord_Howe", "2026-10-03 12:00", 2, "2026-10-03 15:30"},
		{"a last hour that is jumped", "America/Nuuk", "2025-03-29 12:00", 23, "2025-03-30 01:00"},
		{"and the one after it", "America/Nuuk", "2025-03-30 00:00", 23, "2025-03-31 00:00"},
		{"a day that was not", "Pacific/Apia", "2011-12-29 05:00", 4, "2011-12-30 14:00"},
		{"half an hour off", "Asia/Kolkata", "2026-01-15 00:00", 4, "2026-01-14 22:30"},
		{"far ahead", "Pacific/Kiritimati", "2026-01-15 00:00", 4, "2026-01-14 14:00"},
	}
	for _, c := range cases {
		loc := location(t, c.zone)
		got := route.NextHour(at(t, loc, c.after), c.hour, loc)
		if want := at(t, time.UTC, c.want); !got.Equal(want) {
			t.Errorf("%s: %s, want %s (%s)", c.name, got.UTC(), want, want.In(loc))
		}
	}
	if got := route.NextHour(at(t, time.UTC, "2026-01-15 05:00"), 4, nil); !got.Equal(at(t, time.UTC, "2026-01-16 04:00")) {
		t.Errorf("no zone: %s", got)
	}
}

// TestOncePerDay walks through years of clock changes: between one reset and
// the next is about a day, and each is the first minute of its day at or past
// the hour.
func TestOncePerDay(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "America/Havana", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Tehran", "Pacific/Chatham", "Asia/Beirut", "America/Nuuk"}
	for _, zone := range zones {
		loc := location(t, zone)
		for _, hour := range []int{0, 1, 2, 3, 4, 12, 22, 23} {
			moment := time.Date(2022, 12, 31, 12, 0, 0, 0, loc)
			for range 800 {
				next := route.NextHour(moment, hour, loc)
				if gap := next.Sub(moment); gap <= 0 || gap > 26*time.Hour {
					t.Fatalf("%s at %d: %s is after %s", zone, hour, next, moment)
				}
				before := next.Add(-time.Minute)
				if !reached(next, next, hour) || reached(before, next, hour) {
					t.Fatalf("%s at %d: %s is not when the day gets there; %s", zone, hour, next, before)
				}
				moment = next
			}
		}
	}
}

// reached reports whether a clock at t is at or past the hour of day's date.
func reached(t, day time.Time, hour int) bool {
	y, m, d := day.Date()
	if day.Hour() < hour { // the jump passed midnight
		y, m, d = day.Add(-time.Second).Date()
	}
	clock := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
	return !clock.Before(time.Date(y, m, d, hour, 0, 0, 0, time.UTC))
}

// TestResetsOncePerDay sends a message every few minutes or hours for a month
// over a clock change. Each session lasts until the next four o'clock, and no
// day has two resets.
func TestResetsOncePerDay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loc, err := time.LoadLocation(rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "America/Santiago"}).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		p := route.Policy{AtHour: route.Hour(rapid.IntRange(0, 23).Draw(t, "hour"))}
		now := time.Date(2026, time.Month(rapid.IntRange(1, 12).Draw(t, "month")), 20, 12, 0, 0, 0, loc)
		times := route.Times{Started: now, Interaction: now}
		resets := make(map[string]int)
		for range 200 {
			now = now.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "minutes")) * time.Minute)
			v := route.CheckExpiry(p, now, loc, times)
			if v.Stale {
				day := v.Since.In(loc).Format(time.DateOnly)
				if resets[day]++; resets[day] > 1 {
					t.Fatalf("two resets on %s", day)
				}
				if !v.Since.After(times.Started) || v.Since.After(now) || now.Sub(times.Interaction) < 15*time.Minute {
					t.Fatalf("%+v at %s of %+v", v, now, times)
				}
				times.Started = now
			} else if now.Sub(times.Interaction) >= 15*time.Minute && now.Sub(times.Started) > 25*time.Hour {
				t.Fatalf("no reset at %s of %+v", now, times)
			}
			times.Interaction = now
		}
	})
}

func TestResetPrecedence(t *testing.T) {
	idle := func(n int) route.Policy {
		return route.Policy{Mode: route.ModeIdle, Idle: time.Duration(n) * time.Minute}
	}
	all := route.Resets{
		ByChannel: map[string]route.Policy{"discord": idle(1), "cli": idle(2)},
		ByType:    map[route.ResetType]route.Policy{"dm": idle(3), "group": idle(4), "thread": idle(5)},
		General:   idle(6),
		Idle:      7 * time.Minute,
	}
	some := route.Resets{ByType: map[route.ResetType]route.Policy{"thread": idle(5)}, Idle: 7 * time.Minute}
	never := route.Policy{Mode: route.ModeNone}
	cases := []struct {
		name, key, channel string
		resets             route.Resets
		want               route.Policy
	}{
		{"nothing set", "agent:a:telegram:direct:1", "", route.Resets{}, route.Policy{}},
		{"nothing set, in main", "agent:a:main", "telegram", route.Resets{}, route.Policy{}},
		{"nothing set, from here", "agent:a:main", "", route.Resets{}, never},
		{"nothing set, at a terminal", "agent:a:cli:direct:me", "", route.Resets{}, never},
		{"a job", "agent:a:cron:x", "telegram", route.Resets{General: idle(6)}, never},
		{"a channel first", "agent:a:discord:group:1:thread:2", "Discord ", all, idle(1)},
		{"a channel by the key", "agent:a:discord:group:1:thread:2", "", all, idle(1)},
		{"a terminal that is set", "agent:a:main", "cli", all, idle(2)},
		{"from here, all else is set", "agent:a:main", "", all, never},
		{"direct by its old name", "agent:a:main", "telegram", all, idle(3)},
		{"a group", "agent:a:slack:group:1", "", all, idle(4)},
		{"a channel is a group", "agent:a:slack:channel:1", "", all, idle(4)},
		{"a thread is a thread", "agent:a:slack:channel:1:thread:2", "", all, idle(5)},
		{"a topic is a thread", "agent:a:telegram:group:1:topic:2", "", all, idle(5)},
		{"no such type", "agent:a:telegram:direct:2", "", route.Resets{ByType: some.ByType, General: idle(6)}, idle(6)},
		{"the old setting alone", "agent:a:telegram:direct:2", "", route.Resets{Idle: 7 * time.Minute}, idle(7)},
		{"the old setting does not count", "agent:a:telegram:direct:2", "", some, route.Policy{}},
	}
	for _, c := range cases {
		if got := c.resets.For(parse(t, c.key), c.channel); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestPolicyString(t *testing.T) {
	for want, p := range map[string]route.Policy{
		"never":                  {Mode: route.ModeNone, TTL: time.Hour},
		"daily at 4:00":          {},
		"daily at 0:00":          {Mode: route.ModeDaily, AtHour: route.Hour(0)},
		"after 1h of inactivity": {Mode: route.ModeIdle},
		"daily at 4:00 or after 20m of inactivity":         {Mode: route.ModeBoth, Idle: 20 * time.Minute},
		"after 1h30m of inactivity or 72h after the start": {Mode: route.ModeIdle, Idle: 90 * time.Minute, TTL: 72 * time.Hour},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if err := p.Check(); err != nil {
			t.Error(err)
		}
	}
	for i, p := range []route.Policy{{Mode: "weekly"}, {AtHour: route.Hour(24)}, {AtHour: route.Hour(-1)}, {Idle: -1}, {TTL: -1}} {
		if err := p.Check(); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func ExampleCheckExpiry() {
	zone := time.FixedZone("home", 2*60*60)
	yesterday := time.Date(2026, 6, 1, 21, 0, 0, 0, zone)
	v := route.CheckExpiry(route.Policy{}, yesterday.Add(12*time.Hour), zone, route.Times{Started: yesterday, Interaction: yesterday})
	fmt.Println(v.Stale, v.Reason, v.Since)
	// Output: true daily 2026-06-02 04:00:00 +0200 home
}

package gateway

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway/timer/timertest"
	"firn.dev/wire"
)

// TestResetsOverClockChanges sends a message every half hour across daylight saving changes
// in many zones. A session with a daily reset ends once per calendar day, with the first
// message at or after the hour, even if the hour is skipped that day, occurs twice, or is
// midnight.
func TestResetsOverClockChanges(t *testing.T) {
	hours := []int{0, 2, 4, 23}
	if testing.Short() {
		hours = hours[1:2]
	}
	for _, c := range timertest.Changes {
		for _, hour := range hours {
			t.Run(fmt.Sprintf("%s %s at %d", c.Zone, c.Day, hour), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { resetsOver(t, c.Zone, c.Day, hour) })
			})
		}
	}
}

func resetsOver(t *testing.T, zoneName, dayName string, hour int) {
	zone := timertest.InZone(t, zoneName)
	day, err := time.ParseInLocation(time.DateOnly, dayName, zone)
	if err != nil {
		t.Fatal(err)
	}
	y, m, d := day.Date()
	begin := time.Date(y, m, d-1, 12, 10, 0, 0, zone)
	time.Sleep(time.Until(begin)) // of the bubble, which begins in 2000
	o := newJobGateway(t, inMemory(), begin, func(s *Setup) {
		s.Zone = zone
		s.Agents["main"].Turns = 1 // earlier messages do not matter
		s.Resets.General = route.Policy{AtHour: route.Hour(hour)}
	})
	defer o.close()
	resets := make(map[string]int)
	session := o.write(t).Session
	for o.now().Before(time.Date(y, m, d+1, 23, 59, 0, 0, zone)) {
		before := o.now().In(zone)
		o.pass(30 * time.Minute)
		now := o.now().In(zone)
		out := o.write(t)
		if (out.Reset != "") != (out.Session != session) || out.Reset != "" && out.Reset != "daily" {
			t.Fatalf("at %s the result is %+v", now, out)
		}
		session = out.Session
		if due := passes(before, now, hour); due != (out.Reset != "") {
			t.Errorf("at %s, after %s, it was reset: %t, want %t", now, before, out.Reset != "", due)
		}
		if out.Reset != "" {
			resets[now.Format(time.DateOnly)]++
		}
	}
	for i := range 2 {
		if date := time.Date(y, m, d+i, 12, 0, 0, 0, zone).Format(time.DateOnly); resets[date] != 1 {
			t.Errorf("on %s it was reset %d times: %v", date, resets[date], resets)
		}
	}
}

// passes reports whether a wall clock first reaches an hour of some day between two times.
// It checks every minute and uses nothing but the displayed time.
func passes(from, to time.Time, hour int) bool {
	for at := from.Add(time.Minute); !at.After(to); at = at.Add(time.Minute) {
		was := at.Add(-time.Minute)
		reached := at.Hour() >= hour && (was.Hour() < hour || was.YearDay() != at.YearDay())
		if was.YearDay() != at.YearDay() && was.Hour() < hour && at.Hour() < hour {
			reached = true // the hour was the last of the day and was skipped
		}
		if reached && !had(at, hour) {
			return true
		}
	}
	return false
}

// had reports whether the clock already showed the hour or a later one that day: when it is
// set back, an hour occurs twice.
func had(at time.Time, hour int) bool {
	for i := 1; i <= 4*60; i++ {
		earlier := at.Add(-time.Duration(i) * time.Minute)
		if earlier.YearDay() == at.YearDay() && earlier.Hour() >= hour {
			return true
		}
	}
	return false
}

// TestNoResetDuringUse sends a message to a session whose turn has been running since the
// day before: it stays in that session. After the turn, the next message resets it.
func TestNoResetDuringUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newJobGateway(t, inMemory(), time.Now(), nil)
		defer o.close()
		say := func(text string) wire.Routed {
			t.Helper()
			out, err := o.Inbound(t.Context(), wire.Inbound{Channel: "mail", PeerKind: "direct", PeerID: "ada", Text: text})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return out
		}
		release := o.block()
		first := say("this takes long")
		o.pass(26 * time.Hour)
		if second := say("are you still at it?"); second.Session != first.Session || second.Reset != "" {
			t.Errorf("while a turn ran it was reset: %q", second.Reset)
		}
		release()
		o.pass(26 * time.Hour)
		if third := say("good morning"); third.Session == first.Session || third.Reset != "daily" {
			t.Errorf("the next day it was reset: %q", third.Reset)
		}
	})
}

// write sends an inbound message.
func (o *jobGateway) write(t *testing.T) wire.Routed {
	t.Helper()
	out, err := o.Inbound(t.Context(), wire.Inbound{Channel: "mail", PeerKind: "direct", PeerID: "ada", Text: "hello", Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

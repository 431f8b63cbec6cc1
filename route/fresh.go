package route

import "time"

// Times are what is known of a session's life. What is not known is zero.
type Times struct {
	// Started is when the session began, or was taken up again after a reset
	// was undone.
	Started time.Time
	// Interaction is when a person last said something. What machines do does
	// not count, so that it never keeps a session alive.
	Interaction time.Time
	// Updated is when anything last happened. It stands in for the others in
	// stores that do not have them.
	Updated time.Time
}

// Cause says why a session ended and a new one began.
type Cause string

// The causes: three that come by themselves, and those that somebody asked for.
const (
	CauseDaily   Cause = "daily"
	CauseIdle    Cause = "idle"
	CauseTTL     Cause = "ttl"
	CauseNew     Cause = "new"
	CauseReset   Cause = "reset"
	CauseTrigger Cause = "trigger" // a configured word other than the two
	CauseRequest Cause = "request" // asked for by a program
)

// Asked reports whether a person or a program asked for the end.
func (c Cause) Asked() bool { return c != CauseDaily && c != CauseIdle && c != CauseTTL }

// Verdict says whether a session is over.
type Verdict struct {
	Stale bool
	// Reason is CauseDaily, CauseIdle or CauseTTL, and Since when it was over,
	// by the one that came first.
	Reason Cause
	Since  time.Time
}

// Fresh judges a session when a message arrives at now. Days begin in loc; nil
// means UTC. A session of which nothing is known is fresh.
func Fresh(p Policy, now time.Time, loc *time.Location, t Times) Verdict {
	var v Verdict
	take := func(reason Cause, since time.Time) {
		if !v.Stale || since.Before(v.Since) {
			v = Verdict{true, reason, since}
		}
	}
	if p.Mode == ModeNone {
		return v
	}
	last := first(t.Interaction, t.Updated, t.Started)
	if end := last.Add(p.idle()); p.idle() > 0 && !last.IsZero() && now.After(end) {
		take(CauseIdle, end)
	}
	if !t.Interaction.IsZero() && now.Sub(t.Interaction) < p.quiet() {
		return v
	}
	start := first(t.Started, t.Updated, t.Interaction)
	if start.IsZero() {
		return v
	}
	if end := NextHour(start, p.hour(), loc); p.daily() && !now.Before(end) {
		take(CauseDaily, end)
	}
	if end := start.Add(p.TTL); p.TTL > 0 && !now.Before(end) {
		take(CauseTTL, end)
	}
	return v
}

// first returns the first time that is known.
func first(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// NextHour is the first moment after t at which a clock in loc reaches the
// hour; nil means UTC. Every day has one such moment: if clocks jump over the
// hour it is when they jump, and if the hour comes twice it is the first.
func NextHour(t time.Time, hour int, loc *time.Location) time.Time {
	if loc == nil {
		loc = time.UTC
	}
	y, m, d := t.In(loc).Date()
	for day := d - 1; day <= d+3; day++ {
		if at, ok := hourOf(y, m, day, hour, loc); ok && at.After(t) {
			return at
		}
	}
	return t.Add(24 * time.Hour) // beyond the years that calendars can count
}

// hourOf is the moment at which a day reaches the hour, and false if a whole
// day is jumped over, as where the date line moved.
func hourOf(y int, m time.Month, d, hour int, loc *time.Location) (time.Time, bool) {
	wall := time.Date(y, m, d, hour, 0, 0, 0, time.UTC)
	before := wall.Add(-offset(wall.AddDate(0, 0, -1), loc))
	after := wall.Add(-offset(wall.AddDate(0, 0, 1), loc))
	early, late := before, after
	if late.Before(early) {
		early, late = late, early
	}
	for _, at := range []time.Time{early, late} {
		if offset(at, loc) == wall.Sub(at) {
			return at.In(loc), true
		}
	}
	jump, _ := late.In(loc).ZoneBounds()
	same := func(t time.Time) bool {
		a, b, c := t.Date()
		x, y, z := wall.Date()
		return a == x && b == y && c == z
	}
	return jump, same(jump) || same(jump.Add(-time.Second))
}

// offset is how far clocks in loc are ahead of UTC at t.
func offset(t time.Time, loc *time.Location) time.Duration {
	_, seconds := t.In(loc).Zone()
	return time.Duration(seconds) * time.Second
}

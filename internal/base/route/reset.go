package route

import (
	"fmt"
	"strings"
	"time"

	"firn.dev"
)

// Policy says when a session ends by itself, so that the next message begins a
// new one: at whichever time comes first.
type Policy struct {
	Mode Mode
	// AtHour is the hour of the day, 0 to 23, at which a daily session ends;
	// nil means 4. What is outside goes to the nearer end.
	AtHour *int
	// Idle is how long nobody must have said anything. It counts in ModeIdle and
	// ModeBoth, where nothing means an hour, and in ModeDaily if it is set. Less
	// than a minute is a minute.
	Idle time.Duration
	// TTL is how long a session lasts at most; nothing means any time. It does
	// not count in ModeNone.
	TTL time.Duration
	// Quiet is how long nobody must have said anything before the hour of the
	// day or the TTL ends a session, so that it never does in the middle of a
	// talk. Nothing means 15 minutes, less than nothing means at once.
	Quiet time.Duration
}

// Mode says what ends a session.
type Mode string

// The modes. An empty one is ModeDaily.
const (
	ModeNone  Mode = "none"
	ModeDaily Mode = "daily"
	ModeIdle  Mode = "idle"
	ModeBoth  Mode = "both"
)

const (
	defaultHour  = 4
	defaultIdle  = time.Hour
	defaultQuiet = 15 * time.Minute
)

// Hour makes an AtHour.
func Hour(h int) *int { return &h }

// Check refuses a mode that there is not, and times below nothing.
func (p Policy) Check() error {
	switch p.Mode {
	case "", ModeNone, ModeDaily, ModeIdle, ModeBoth:
	default:
		return fmt.Errorf("%w reset mode %q: want none, daily, idle or both", firn.ErrInvalid, p.Mode)
	}
	if p.AtHour != nil && (*p.AtHour < 0 || *p.AtHour > 23) {
		return fmt.Errorf("%w reset hour %d: want 0 to 23", firn.ErrInvalid, *p.AtHour)
	}
	if p.Idle < 0 || p.TTL < 0 {
		return fmt.Errorf("%w reset times: they cannot be negative", firn.ErrInvalid)
	}
	return nil
}

// String says the policy in words.
func (p Policy) String() string {
	if p.Mode == ModeNone {
		return "never"
	}
	var when []string
	if p.daily() {
		when = append(when, fmt.Sprintf("daily at %d:00", p.hour()))
	}
	if idle := p.idle(); idle > 0 {
		when = append(when, "after "+brief(idle)+" of silence")
	}
	if p.TTL > 0 {
		when = append(when, brief(p.TTL)+" after it began")
	}
	return strings.Join(when, " or ")
}

// brief writes a duration without empty minutes and seconds.
func brief(d time.Duration) string {
	s := strings.TrimSuffix(d.String(), "m0s")
	if len(s) < len(d.String()) {
		s += "m"
	}
	return strings.Replace(s, "h0m", "h", 1)
}

func (p Policy) daily() bool { return p.Mode == "" || p.Mode == ModeDaily || p.Mode == ModeBoth }

func (p Policy) hour() int {
	if p.AtHour == nil {
		return defaultHour
	}
	return min(max(*p.AtHour, 0), 23)
}

// idle is how long it must be silent; nothing if that does not count.
func (p Policy) idle() time.Duration {
	switch {
	case p.Mode == ModeNone:
		return 0
	case p.Idle > 0:
		return max(p.Idle, time.Minute)
	case p.Mode == ModeIdle || p.Mode == ModeBoth:
		return defaultIdle
	}
	return 0
}

func (p Policy) quiet() time.Duration {
	if p.Quiet == 0 {
		return defaultQuiet
	}
	return max(p.Quiet, 0)
}

// ResetType is what a policy by type can be for.
type ResetType string

// The types. Rooms and channels are groups; whatever is in a thread is a
// thread.
const (
	ResetDirect ResetType = "direct"
	ResetGroup  ResetType = "group"
	ResetThread ResetType = "thread"
)

// Resets are the policies that there are.
type Resets struct {
	// ByChannel holds instead of everything else.
	ByChannel map[string]Policy
	// ByType holds instead of General.
	ByType map[ResetType]Policy
	// General holds for all that people say over a channel. Its zero value ends
	// sessions daily.
	General Policy
	// Idle is the old setting of a time of silence alone. It counts if neither
	// ByType nor General is set.
	Idle time.Duration
}

// For finds the policy of a conversation: by channel, else by type, else the
// general one. Channel is where the message came from; empty means that of the
// key. Local chats and those with machines never end by themselves, unless
// that is set for their channel.
func (r Resets) For(k Key, channel string) Policy {
	channel = lower(strings.TrimSpace(channel))
	if channel == "" {
		channel = k.Channel()
	}
	if p, ok := r.ByChannel[channel]; ok && channel != "" {
		return p
	}
	if IsLocal(channel) || lasts(k) {
		return Policy{Mode: ModeNone}
	}
	if p, ok := r.byType(resetType(k)); ok {
		return p
	}
	if r.Idle > 0 && len(r.ByType) == 0 && r.General == (Policy{}) {
		return Policy{Mode: ModeIdle, Idle: r.Idle}
	}
	return r.General
}

// byType looks a policy up, also by the old names of types.
func (r Resets) byType(t ResetType) (Policy, bool) {
	if p, ok := r.ByType[t]; ok {
		return p, true
	}
	old := map[ResetType]ResetType{ResetDirect: "dm", ResetGroup: "channel"}[t]
	p, ok := r.ByType[old]
	return p, ok && old != ""
}

func resetType(k Key) ResetType {
	switch {
	case k.Thread() != "":
		return ResetThread
	case k.Kind() == KindGroup || k.Kind() == KindChannel:
		return ResetGroup
	}
	return ResetDirect
}

// IsLocal reports whether a channel is a chat on this machine and not a
// network: none, cli, tui, web or local.
func IsLocal(channel string) bool {
	switch channel {
	case "", "cli", "tui", "web", "local":
		return true
	}
	return false
}

// lasts reports whether a conversation is with a machine or about a directory,
// and not with somebody who comes back another day.
func lasts(k Key) bool {
	switch k.Kind() {
	case KindCron, KindHook, KindSubagent, KindACP, KindProject:
		return true
	}
	return false
}

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

// The causes: four that come by themselves, and those that somebody asked for.
const (
	CauseDaily   Cause = "daily"
	CauseIdle    Cause = "idle"
	CauseTTL     Cause = "ttl"
	CauseRemoved Cause = "removed" // the one before was put away
	CauseNew     Cause = "new"
	CauseReset   Cause = "reset"
	CauseTrigger Cause = "trigger" // a configured word other than the two
	CauseRequest Cause = "request" // asked for by a program
)

// Asked reports whether a person or a program asked for the end.
func (c Cause) Asked() bool {
	return c != CauseDaily && c != CauseIdle && c != CauseTTL && c != CauseRemoved
}

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
	if now.Sub(t.Interaction) < p.quiet() { // an unknown time is long ago
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
	for day := d; day <= d+3; day++ {
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

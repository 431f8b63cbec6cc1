package route

import (
	"fmt"
	"strings"
	"time"

	"firn.dev"
)

// Policy configures when a session expires, so that the next message starts a new one: at
// the earliest of its times.
type Policy struct {
	Mode Mode
	// AtHour is the hour of the day, 0 to 23, at which a daily session expires; nil means
	// 4. Values outside the range are clamped.
	AtHour *int
	// Idle is the time without user messages after which a session expires. It applies in
	// ModeIdle and ModeBoth, where zero means an hour, and in ModeDaily if set. The minimum
	// is a minute.
	Idle time.Duration
	// TTL is the maximum age of a session; zero means unlimited. It is ignored in ModeNone.
	TTL time.Duration
	// Quiet is the time without user messages that must pass before the hour of the day or
	// the TTL takes effect, so that a session does not expire in the middle of a
	// conversation. Zero means 15 minutes, a negative value means no delay.
	Quiet time.Duration
}

// Mode selects the conditions that end a session.
type Mode string

// The modes. An empty one means ModeDaily.
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

// Hour returns a pointer to h, for AtHour.
func Hour(h int) *int { return &h }

// Check rejects unknown modes and negative times.
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
		return fmt.Errorf("%w reset durations: they cannot be negative", firn.ErrInvalid)
	}
	return nil
}

// String describes the policy.
func (p Policy) String() string {
	if p.Mode == ModeNone {
		return "never"
	}
	var when []string
	if p.daily() {
		when = append(when, fmt.Sprintf("daily at %d:00", p.hour()))
	}
	if idle := p.idle(); idle > 0 {
		when = append(when, "after "+brief(idle)+" of inactivity")
	}
	if p.TTL > 0 {
		when = append(when, brief(p.TTL)+" after the start")
	}
	return strings.Join(when, " or ")
}

// brief formats a duration without zero minutes and seconds.
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

// idle returns the effective idle time; zero if it does not apply.
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

// ResetType is the type of conversation for policies by type.
type ResetType string

// The types. Rooms and channels are groups; everything in a thread is a thread.
const (
	ResetDirect ResetType = "direct"
	ResetGroup  ResetType = "group"
	ResetThread ResetType = "thread"
)

// Resets are the configured policies.
type Resets struct {
	// ByChannel takes precedence over everything else.
	ByChannel map[string]Policy
	// ByType takes precedence over General.
	ByType map[ResetType]Policy
	// General applies to all messages of people on a channel. The zero value expires
	// sessions daily.
	General Policy
	// Idle is the legacy setting of an idle time. It applies if neither ByType nor General
	// is set.
	Idle time.Duration
}

// For returns the policy of a conversation: by channel, else by type, else the general one.
// channel is the channel of the message; empty means that of the key. Local chats and those
// with programs never expire, unless set for their channel.
func (r Resets) For(k Key, channel string) Policy {
	channel = lower(strings.TrimSpace(channel))
	if channel == "" {
		channel = k.Channel()
	}
	if p, ok := r.ByChannel[channel]; ok && channel != "" {
		return p
	}
	if IsLocal(channel) || isPermanent(k) {
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

// byType returns the policy of a type, considering its legacy names.
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

// IsLocal reports whether a channel is a local chat and not a network: empty, cli, tui, web
// or local.
func IsLocal(channel string) bool {
	switch channel {
	case "", "cli", "tui", "web", "local":
		return true
	}
	return false
}

// isPermanent reports whether a conversation is with a program or about a directory, so
// that it does not expire.
func isPermanent(k Key) bool {
	switch k.Kind() {
	case KindCron, KindHook, KindSubagent, KindACP, KindProject, KindRepository:
		return true
	}
	return false
}

// Times are the known times of a session. Unknown ones are zero.
type Times struct {
	// Started is when the session started, or was resumed after an undone reset.
	Started time.Time
	// Interaction is the time of the last message of a person. Activity of programs does
	// not count, so that it does not keep a session alive.
	Interaction time.Time
	// Updated is the time of the last activity. It replaces the others in stores that do
	// not have them.
	Updated time.Time
}

// Cause is why a session ended and a new one started.
type Cause string

// The causes: four automatic ones and those requested by a user or a program.
const (
	CauseDaily   Cause = "daily"
	CauseIdle    Cause = "idle"
	CauseTTL     Cause = "ttl"
	CauseRemoved Cause = "removed" // the previous session was removed
	CauseNew     Cause = "new"
	CauseReset   Cause = "reset"
	CauseTrigger Cause = "trigger" // a configured trigger other than /new and /reset
	CauseRequest Cause = "request" // requested by a program
)

// Requested reports whether a person or a program requested the reset.
func (c Cause) Requested() bool {
	return c != CauseDaily && c != CauseIdle && c != CauseTTL && c != CauseRemoved
}

// Verdict reports whether a session has expired.
type Verdict struct {
	Stale bool
	// Reason is CauseDaily, CauseIdle or CauseTTL, and Since when it expired; the earliest
	// counts.
	Reason Cause
	Since  time.Time
}

// CheckExpiry evaluates a session for a message that arrives at now. Days are in loc; nil means
// UTC. A session without known times is fresh.
func CheckExpiry(p Policy, now time.Time, loc *time.Location, t Times) Verdict {
	var v Verdict
	take := func(reason Cause, since time.Time) {
		if !v.Stale || since.Before(v.Since) {
			v = Verdict{true, reason, since}
		}
	}
	if p.Mode == ModeNone {
		return v
	}
	last := firstKnown(t.Interaction, t.Updated, t.Started)
	if end := last.Add(p.idle()); p.idle() > 0 && !last.IsZero() && now.After(end) {
		take(CauseIdle, end)
	}
	if now.Sub(t.Interaction) < p.quiet() { // an unknown time counts as long ago
		return v
	}
	start := firstKnown(t.Started, t.Updated, t.Interaction)
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

// firstKnown returns the first time that is not zero.
func firstKnown(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// NextHour returns the first moment after t at which a clock in loc reaches the hour; nil
// means UTC. Every day has one such moment: if clocks skip the hour, it is the time of the
// change, and if the hour occurs twice, it is the first.
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
	return t.Add(24 * time.Hour) // beyond the supported years
}

// hourOf returns the moment at which a day reaches the hour, and false if the whole day is
// skipped, as when the date line moved.
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

// offset returns the UTC offset in loc at t.
func offset(t time.Time, loc *time.Location) time.Duration {
	_, seconds := t.In(loc).Zone()
	return time.Duration(seconds) * time.Second
}

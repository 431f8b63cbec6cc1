package route

import (
	"fmt"
	"strings"
	"time"

	"firn"
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

// Package maintenance decides which sessions are removed, archived or purged. It is pure:
// the caller supplies the state of the sessions and performs the actions. The caller may
// skip sessions that were used in the meantime.
package maintenance

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/internal/render/card"
	"firn.dev/store"
	"firn.dev/wire"
)

// Settings configures which sessions are removed. The zero value keeps everything forever.
// Removed sessions are moved to the trash bin and purged from there only if BinRetention or
// BinMaxBytes is set.
type Settings struct {
	// Enforce performs the actions; otherwise they are only reported.
	Enforce bool
	// PruneAfter is the idle time after which a session is removed; zero means never.
	PruneAfter time.Duration
	// MaxEntries is the maximum number of sessions of an agent; the least recently used
	// ones are removed. Zero means no limit.
	MaxEntries int
	// MaxDiskBytes is the disk budget for sessions. If the sessions outside the trash bin exceed
	// it, they are removed, oldest first, until they take only the fraction HighWater of
	// it; zero means 0.8. If sessions and bin together exceed it, that is only reported,
	// since moving a session to the trash bin frees no space.
	MaxDiskBytes int64
	HighWater    float64
	// ResetArchiveRetention is how long sessions ended by a reset are kept; zero means
	// forever.
	ResetArchiveRetention time.Duration
	// SubagentIdle is the idle time after which sessions that agents started for others are
	// archived; zero means never.
	SubagentIdle time.Duration
	// BinRetention is the time in the trash bin after which sessions are purged. BinMaxBytes is
	// the maximum size of the trash bin; the sessions removed earliest are purged first. Zero
	// means never.
	BinRetention time.Duration
	BinMaxBytes  int64
	// Every is the interval of automatic maintenance; zero means never.
	Every time.Duration
}

// Check returns an error if the settings are invalid.
func (m Settings) Check() error {
	if m.PruneAfter < 0 || m.MaxEntries < 0 || m.MaxDiskBytes < 0 || m.ResetArchiveRetention < 0 || m.SubagentIdle < 0 || m.BinRetention < 0 || m.BinMaxBytes < 0 {
		return fmt.Errorf("%w maintenance settings: negative value", firn.ErrInvalid)
	}
	if !(m.HighWater >= 0 && m.HighWater <= 1) {
		return fmt.Errorf("%w maintenance settings: high_water is %v, expected 0 to 1", firn.ErrInvalid, m.HighWater)
	}
	return nil
}

// Enabled reports whether any limit is set.
func (m Settings) Enabled() bool {
	return m.PruneAfter > 0 || m.MaxEntries > 0 || m.MaxDiskBytes > 0 || m.ResetArchiveRetention > 0 || m.SubagentIdle > 0 || m.BinRetention > 0 || m.BinMaxBytes > 0
}

// Mode returns the name of the mode in the settings.
func (m Settings) Mode() string {
	if m.Enforce {
		return "enforce"
	}
	return "warn"
}

// LowWater returns the number of bytes that sessions may take after a removal.
func (m Settings) LowWater() int64 {
	high := m.HighWater
	if high <= 0 {
		high = 0.8
	}
	return int64(float64(m.MaxDiskBytes) * min(high, 1))
}

// The settings that cause an action.
const (
	whyPrune    = "prune_after"
	whyReset    = "reset_archive_retention"
	whyEntries  = "max_entries"
	whyDisk     = "max_disk_bytes"
	whySubagent = "subagent_idle"
	whyBinAge   = "bin_retention"
	whyBinSize  = "bin_max_bytes"
)

// Session is the state of a session on which decisions are based.
type Session struct {
	store.Info
	Kind route.Kind
	Main bool
	// Open: a turn is running or queued, or a client is listening. Current: its key points
	// to it. Pinned: the user pinned it.
	Open, Current, Pinned bool
	// Child reports whether an agent started it for another session.
	Child bool
}

// inUse is how long after its last message a session counts as in use, since the user may
// be about to reply.
const inUse = time.Hour

// Protection returns the reason why a session must not be removed, or an empty string.
func (s *Session) Protection(now time.Time) string {
	switch {
	case s.Fault != "":
		return "cannot be read"
	case s.Open:
		return "running"
	case s.Pinned:
		return "pinned"
	case s.Main:
		return "main"
	case s.Kind == route.KindGroup || s.Kind == route.KindChannel:
		return "group"
	case s.Current && !s.oneOff():
		return "current"
	case s.Updated.IsZero():
		return "age not known"
	case now.Sub(s.Updated) < inUse:
		return "just used"
	}
	return ""
}

// oneOff reports whether the key belongs to this session alone, so that being its current
// session does not protect it.
func (s *Session) oneOff() bool { return s.Kind == route.KindHook || s.Kind == route.KindSubagent }

// ended reports whether a reset ended the session. Runs of jobs have a separate retention.
func (s *Session) ended() bool {
	return s.Key != "" && !s.Current && !s.oneOff() && s.Kind != route.KindCron
}

// before orders sessions by removal: archived ones first, then the least recently used.
func (s *Session) before(t *Session) int {
	away := func(s *Session) int {
		if s.Archived || s.Hidden || s.ended() {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(away(s), away(t)), s.Updated.Compare(t.Updated), cmp.Compare(s.ID, t.ID))
}

// Plan returns the actions to perform on sessions. It never selects a protected one. Once
// the actions are done, another call selects nothing.
func Plan(now time.Time, all []Session, m Settings) []wire.Action {
	return newPlanning(now, all, m, func(s *Session) bool { return s.Protection(now) == "" }).actions()
}

// newPlanning selects the sessions to remove among those for which inReach holds.
func newPlanning(now time.Time, all []Session, m Settings, inReach func(*Session) bool) *planning {
	p := &planning{now: now, m: m, why: make(map[firn.ID]string)}
	for i := range all {
		s := &all[i]
		p.bytes += s.Bytes
		p.count(s.Agent, 1)
		if inReach(s) {
			p.reach = append(p.reach, s)
		}
	}
	slices.SortFunc(p.reach, (*Session).before)
	p.byAge()
	p.byCount()
	p.bySize()
	return p
}

// planning is a plan in progress.
type planning struct {
	now time.Time
	m   Settings
	// reach are the sessions that may be selected, in removal order.
	reach []*Session
	// bytes is the total size of the remaining sessions, counts their number by agent.
	bytes  int64
	counts map[string]int
	// why maps the sessions to remove to the setting that requires it.
	why map[firn.ID]string
}

func (p *planning) count(agent string, n int) {
	if p.counts == nil {
		p.counts = make(map[string]int)
	}
	p.counts[agent] += n
}

// remove selects a session for removal.
func (p *planning) remove(s *Session, why string) {
	p.why[s.ID] = why
	p.bytes -= s.Bytes
	p.count(s.Agent, -1)
}

func (p *planning) gone(s *Session) bool { return p.why[s.ID] != "" }

// byAge selects the sessions that were idle for too long.
func (p *planning) byAge() {
	for _, s := range p.reach {
		age := p.now.Sub(s.Updated)
		switch {
		case p.m.PruneAfter > 0 && age > p.m.PruneAfter:
			p.remove(s, whyPrune)
		case p.m.ResetArchiveRetention > 0 && age > p.m.ResetArchiveRetention && s.ended():
			p.remove(s, whyReset)
		}
	}
}

// byCount selects sessions of agents that have too many.
func (p *planning) byCount() {
	if p.m.MaxEntries <= 0 {
		return
	}
	for _, s := range p.reach {
		if !p.gone(s) && p.counts[s.Agent] > p.m.MaxEntries {
			p.remove(s, whyEntries)
		}
	}
}

// bySize selects sessions until the disk budget is met.
func (p *planning) bySize() {
	if p.m.MaxDiskBytes <= 0 || p.bytes <= p.m.MaxDiskBytes {
		return
	}
	for _, s := range p.reach {
		if !p.gone(s) && s.Bytes > 0 && p.bytes > p.m.LowWater() {
			p.remove(s, whyDisk)
		}
	}
}

// actions returns the selected removals in order, and the child sessions to archive.
func (p *planning) actions() []wire.Action {
	var list []wire.Action
	for _, s := range p.reach {
		a := wire.Action{Do: wire.ActionRemove, Session: s.ID, Agent: s.Agent, Key: s.Key, Title: s.Title, Why: p.why[s.ID], Bytes: s.Bytes, Updated: s.Updated}
		if a.Title == "" {
			a.Title = s.Prompt
		}
		a.Title = card.Line(a.Title, len(a.Title))
		idle := p.m.SubagentIdle > 0 && p.now.Sub(s.Updated) > p.m.SubagentIdle
		switch {
		case p.gone(s):
		case idle && s.Child && !s.Archived:
			a.Do, a.Why = wire.ActionArchive, whySubagent
		default:
			continue
		}
		list = append(list, a)
	}
	return list
}

// Package maintenance decides which sessions are cleared away. It is pure: what is
// known of sessions is handed to it, and what it chose is done by others, who may
// spare what was used meanwhile.
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

// Settings says what is cleared away. The zero value keeps
// everything for ever. What is removed goes to the bin, and is erased from there only
// if BinRetention or BinMaxBytes asks for it.
type Settings struct {
	// Enforce does what the rest asks for; else it is only reported.
	Enforce bool
	// PruneAfter is how long ago a session must have been used last to be
	// removed; zero means never.
	PruneAfter time.Duration
	// MaxEntries is how many sessions an agent may have; those used longest ago
	// are removed. Zero means any number.
	MaxEntries int
	// MaxDiskBytes is how much space sessions may take. If those outside of the bin
	// take more they are removed, the oldest first, until they take only the
	// part of it that HighWater is; zero means 0.8. That the bin and they take more
	// together is reported: moving a session there frees nothing.
	MaxDiskBytes int64
	HighWater    float64
	// ResetArchiveRetention is for how long sessions are kept that a reset has
	// ended; zero means for ever.
	ResetArchiveRetention time.Duration
	// SubagentIdle is after how long without a word the sessions that agents
	// began for others are archived; zero means never.
	SubagentIdle time.Duration
	// BinRetention is after how long in the bin sessions are erased, BinMaxBytes how
	// much space they may take there before those removed longest ago are erased;
	// zero means never.
	BinRetention time.Duration
	BinMaxBytes  int64
	// Every is how often the gateway looks by itself; zero means never.
	Every time.Duration
}

// Check refuses what makes no sense.
func (m Settings) Check() error {
	if m.PruneAfter < 0 || m.MaxEntries < 0 || m.MaxDiskBytes < 0 || m.ResetArchiveRetention < 0 || m.SubagentIdle < 0 || m.BinRetention < 0 || m.BinMaxBytes < 0 {
		return fmt.Errorf("%w maintenance: nothing of it can be less than zero", firn.ErrInvalid)
	}
	if !(m.HighWater >= 0 && m.HighWater <= 1) {
		return fmt.Errorf("%w maintenance: high water is %v, want 0 to 1", firn.ErrInvalid, m.HighWater)
	}
	return nil
}

// Wanted reports whether anything is asked for at all.
func (m Settings) Wanted() bool {
	return m.PruneAfter > 0 || m.MaxEntries > 0 || m.MaxDiskBytes > 0 || m.ResetArchiveRetention > 0 || m.SubagentIdle > 0 || m.BinRetention > 0 || m.BinMaxBytes > 0
}

// Mode is its name in the settings.
func (m Settings) Mode() string {
	if m.Enforce {
		return "enforce"
	}
	return "warn"
}

// LowWater is how much may be left once there was too much.
func (m Settings) LowWater() int64 {
	high := m.HighWater
	if high <= 0 {
		high = 0.8
	}
	return int64(float64(m.MaxDiskBytes) * min(high, 1))
}

// The settings that ask for an action.
const (
	whyPrune    = "prune_after"
	whyReset    = "reset_archive_retention"
	whyEntries  = "max_entries"
	whyDisk     = "max_disk_bytes"
	whySubagent = "subagent_idle"
	whyBinAge   = "bin_retention"
	whyBinSize  = "bin_max_bytes"
)

// Standing is what is known of a session when it is decided about.
type Standing struct {
	store.Info
	Kind route.Kind
	Main bool
	// Open: a turn is running or waiting, or somebody is listening. Current:
	// its key points at it. Pinned: somebody said that it stays.
	Open, Current, Pinned bool
	// Child says that an agent began it for another session.
	Child bool
}

// inUse is for how long after its last word a session counts as used: somebody
// may be about to say something.
const inUse = time.Hour

// Protection says why a session is out of reach; empty if it is not.
func (s *Standing) Protection(now time.Time) string {
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

// oneOff reports whether the key of a session is for that session alone, so
// that pointing at it says nothing.
func (s *Standing) oneOff() bool { return s.Kind == route.KindHook || s.Kind == route.KindSubagent }

// ended reports whether a reset has ended the session. Runs of jobs have a
// retention of their own.
func (s *Standing) ended() bool {
	return s.Key != "" && !s.Current && !s.oneOff() && s.Kind != route.KindCron
}

// before orders sessions by who goes first: what was put away already, then
// what was used longest ago.
func (s *Standing) before(t *Standing) int {
	away := func(s *Standing) int {
		if s.Archived || s.Hidden || s.ended() {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(away(s), away(t)), s.Updated.Compare(t.Updated), cmp.Compare(s.ID, t.ID))
}

// Plan decides what is to be done with sessions. It never chooses one that is
// out of reach, and what it chooses, once done, leaves nothing to be chosen.
func Plan(now time.Time, all []Standing, m Settings) []wire.Action {
	return newPlanning(now, all, m, func(s *Standing) bool { return s.Protection(now) == "" }).actions()
}

// newPlanning chooses the sessions to be removed among those in reach.
func newPlanning(now time.Time, all []Standing, m Settings, inReach func(*Standing) bool) *planning {
	p := &planning{now: now, m: m, why: make(map[firn.ID]string)}
	for i := range all {
		s := &all[i]
		p.bytes += s.Bytes
		p.count(s.Agent, 1)
		if inReach(s) {
			p.reach = append(p.reach, s)
		}
	}
	slices.SortFunc(p.reach, (*Standing).before)
	p.byAge()
	p.byCount()
	p.bySize()
	return p
}

// planning is a plan that is being made.
type planning struct {
	now time.Time
	m   Settings
	// reach are the sessions that may be chosen, in the order in which they go.
	reach []*Standing
	// bytes and counts are what is left of all sessions: how large they are, and
	// how many by agent.
	bytes  int64
	counts map[string]int
	// why says of those that are to be removed which setting asks for it.
	why map[firn.ID]string
}

func (p *planning) count(agent string, n int) {
	if p.counts == nil {
		p.counts = make(map[string]int)
	}
	p.counts[agent] += n
}

// remove chooses a session to be removed.
func (p *planning) remove(s *Standing, why string) {
	p.why[s.ID] = why
	p.bytes -= s.Bytes
	p.count(s.Agent, -1)
}

func (p *planning) gone(s *Standing) bool { return p.why[s.ID] != "" }

// byAge chooses what was not used for too long.
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

// byCount chooses what an agent has too many of.
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

// bySize chooses what takes too much space.
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

// actions are what was chosen, in order, and the children that are archived.
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

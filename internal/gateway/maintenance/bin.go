package maintenance

import (
	"cmp"
	"slices"
	"time"

	"firn.dev/internal/render/card"
	"firn.dev/store"
	"firn.dev/wire"
)

// PlanBin selects the sessions in the trash bin to purge: those in it for longer than
// BinRetention, and then the ones removed earliest until the others take at most
// BinMaxBytes. A session with an unknown removal time is never too old and is selected
// last.
func PlanBin(now time.Time, bin []store.Binned, m Settings) []wire.Action {
	bin = slices.Clone(bin)
	slices.SortFunc(bin, func(a, b store.Binned) int {
		unknown := func(b store.Binned) int {
			if b.Removed.IsZero() {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(unknown(a), unknown(b)), a.Removed.Compare(b.Removed), cmp.Compare(a.ID, b.ID))
	})
	left := int64(0)
	for i := range bin {
		left += bin[i].Bytes
	}
	var list []wire.Action
	for i := range bin {
		b := &bin[i]
		why := ""
		switch {
		case m.BinRetention > 0 && !b.Removed.IsZero() && now.Sub(b.Removed) > m.BinRetention:
			why = whyBinAge
		case m.BinMaxBytes > 0 && left > m.BinMaxBytes && b.Bytes > 0:
			why = whyBinSize
		default:
			continue
		}
		left -= b.Bytes
		title := cmp.Or(b.Title, b.Prompt)
		list = append(list, wire.Action{Do: wire.ActionErase, Session: b.ID, Agent: b.Agent, Key: b.Key, Title: card.Line(title, len(title)), Why: why, Bytes: b.Bytes, Updated: b.Updated})
	}
	return list
}

// CountProtected counts the sessions that a setting would remove but that are protected, by the
// reason.
func CountProtected(now time.Time, all []Session, m Settings) map[string]int {
	kept := make(map[string]int)
	p := newPlanning(now, all, m, func(*Session) bool { return true })
	for _, s := range p.reach {
		if why := s.Protection(now); why != "" && p.gone(s) {
			kept[why]++
		}
	}
	return kept
}

// Exceeded returns the limits that are still exceeded after the actions of a report, not
// counting failed or skipped ones. The disk budget includes the trash bin.
func Exceeded(all []Session, r *wire.Maintenance, m Settings) []wire.Exceeded {
	gone := make(map[string]bool)
	bin := r.BinBytes
	for _, a := range r.Actions {
		switch {
		case a.Outcome != "" && a.Outcome != wire.OutcomeDone, r.Done && a.Outcome == "":
		case a.Do == wire.ActionRemove:
			gone[string(a.Session)] = true
			bin += a.Bytes
		case a.Do == wire.ActionErase:
			bin -= a.Bytes
		}
	}
	bytes, counts := int64(0), make(map[string]int)
	for i := range all {
		if s := &all[i]; !gone[string(s.ID)] {
			bytes += s.Bytes
			counts[s.Agent]++
		}
	}
	var list []wire.Exceeded
	for agent, n := range counts {
		if m.MaxEntries > 0 && n > m.MaxEntries {
			list = append(list, wire.Exceeded{Setting: whyEntries, Agent: agent, Limit: int64(m.MaxEntries), Is: int64(n)})
		}
	}
	slices.SortFunc(list, func(a, b wire.Exceeded) int { return cmp.Compare(a.Agent, b.Agent) })
	if m.MaxDiskBytes > 0 && bytes+bin > m.MaxDiskBytes {
		list = append(list, wire.Exceeded{Setting: whyDisk, Limit: m.MaxDiskBytes, Is: bytes + bin, Bin: bin})
	}
	if m.BinMaxBytes > 0 && bin > m.BinMaxBytes {
		list = append(list, wire.Exceeded{Setting: whyBinSize, Limit: m.BinMaxBytes, Is: bin, Bin: bin})
	}
	return list
}

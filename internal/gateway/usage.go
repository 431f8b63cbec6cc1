package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"firn"
	"firn/agent"
	"firn/compact"
	"firn/store"
	"firn/wire"
)

// What spending can be summed up by.
const (
	byDay     = "day"
	byModel   = "model"
	byAgent   = "agent"
	bySession = "session"
)

// Bounds of what is read to sum up. Beyond them the sum is marked as partial.
const (
	mostSpenders  = 10_000
	mostSpendings = 2_000_000
)

// Usage sums up what sessions have used since a time (all of it if that is
// zero) by day, model, agent or session. Archived and hidden sessions count,
// those in the bin and what was purged do not. Days are those of the time zone
// that is set up. What a fork copied was spent by the session it comes from.
//
// It reads the sessions back to that time: at most 10,000 of them, the latest
// first, and two million entries; if that does not do it says so.
func (g *Gateway) Usage(ctx context.Context, by string, since time.Time) (wire.Spending, error) {
	s := &spending{g: g, by: by, since: since, rows: make(map[string]*wire.SpendingRow)}
	out := wire.Spending{By: by, Since: since, Rows: []wire.SpendingRow{}}
	if !slices.Contains([]string{byDay, byModel, byAgent, bySession}, by) {
		return out, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("nothing can be summed up by %q", clip(by)), Hint: "by day, model, agent or session"}
	}
	for info, err := range g.every(ctx, store.Query{}) {
		if err != nil {
			return out, fmt.Errorf("list sessions: %w", err)
		}
		if info.Updated.Before(since) {
			continue
		}
		if out.Sessions >= mostSpenders || s.read >= mostSpendings {
			s.partial = true
			break
		}
		out.Sessions++
		if err := s.session(ctx, &info); err != nil {
			if ctx.Err() != nil {
				return out, err
			}
			s.partial = true // one that cannot be read does not hide the others
		}
	}
	for _, row := range s.rows {
		out.Rows = append(out.Rows, *row)
		addCounters(&out.Total, row.Counters)
	}
	slices.SortFunc(out.Rows, func(a, b wire.SpendingRow) int { return compareRows(by, &a, &b) })
	out.Partial = s.partial
	return out, nil
}

// compareRows puts days in order, the latest first, and all others by what
// they cost, the most first.
func compareRows(by string, a, b *wire.SpendingRow) int {
	if by == byDay {
		return cmp.Compare(b.Name, a.Name)
	}
	total := func(c *wire.Counters) int64 { return c.Input + c.Output + c.CacheRead + c.CacheWrite }
	return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(total(&b.Counters), total(&a.Counters)), cmp.Compare(a.Name, b.Name))
}

func addCounters(sum *wire.Counters, c wire.Counters) {
	sum.Input += c.Input
	sum.Output += c.Output
	sum.CacheRead += c.CacheRead
	sum.CacheWrite += c.CacheWrite
	sum.Cost += c.Cost
	sum.Answers += c.Answers
}

// spending adds up.
type spending struct {
	g       *Gateway
	by      string
	since   time.Time
	rows    map[string]*wire.SpendingRow
	read    int
	partial bool
}

// session adds up what one session used. By agent or session, and of all time,
// its counts tell; else its entries do, read from the end.
func (s *spending) session(ctx context.Context, info *store.Info) error {
	if s.since.IsZero() && (s.by == byAgent || s.by == bySession) {
		c, err := agent.Count(ctx, s.g.Store, info.ID)
		if err == nil {
			s.add(info, time.Time{}, "", countersOf(c))
		}
		return err
	}
	for rec, err := range s.g.Store.ReadBack(ctx, info.ID, store.End) {
		if err != nil {
			return fmt.Errorf("add up what session %s used: %w", info.ID, err)
		}
		if s.read++; s.read > mostSpendings {
			s.partial = true
			return nil
		}
		if rec.Gap != nil || !costs(rec.Glance.Kind) {
			continue
		}
		e, err := rec.Entry()
		if err != nil {
			continue // a gap in what is known
		}
		if isCopy(&e) || e.Time.Before(s.since) {
			return nil
		}
		var c agent.Counters
		if c.Add(e); c.Answers > 0 {
			s.add(info, e.Time, whoAnswered(&e), countersOf(c))
		}
	}
	return nil
}

// costs reports whether entries of that kind can tell of usage.
func costs(kind firn.Kind) bool {
	return kind == firn.KindMessage || kind == firn.KindCompaction || kind == firn.KindBranchSummary || kind == firn.KindCustom
}

// isCopy reports whether an entry says that all before it was copied.
func isCopy(e *firn.Entry) bool {
	b, ok := e.Body.(*firn.Custom)
	if !ok || b.Type != countersType {
		return false
	}
	var mark forkMark
	return json.Unmarshal(b.Data, &mark) == nil && mark.Forked != nil
}

// whoAnswered is the model that an entry tells the usage of.
func whoAnswered(e *firn.Entry) string {
	switch b := e.Body.(type) {
	case *firn.Message:
		return b.Provider + "/" + b.Model
	case *firn.Compaction:
		return compact.DetailsOf(b).Model
	case *firn.BranchSummary:
		return compact.DetailsOf(&firn.Compaction{Details: b.Details}).Model
	case *firn.Custom:
		var record struct {
			Provider string `json:"provider"`
			Model    string `json:"model"`
		}
		if json.Unmarshal(b.Data, &record) == nil {
			return record.Provider + "/" + record.Model
		}
	}
	return ""
}

// add adds what one answer cost to its row.
func (s *spending) add(info *store.Info, at time.Time, model string, c wire.Counters) {
	name, title := "", ""
	switch s.by {
	case byDay:
		name = at.In(s.g.zone()).Format(time.DateOnly)
	case byModel:
		name = model
	case byAgent:
		name = info.Agent
	case bySession:
		name, title = string(info.ID), info.Title
	}
	row, ok := s.rows[name]
	if !ok {
		if c == (wire.Counters{}) {
			return
		}
		row = &wire.SpendingRow{Name: name, Title: title}
		s.rows[name] = row
	}
	addCounters(&row.Counters, c)
}

// zone is where days begin at midnight.
func (g *Gateway) zone() *time.Location {
	if zone := g.setup.Load().Zone; zone != nil {
		return zone
	}
	return g.now().Location()
}

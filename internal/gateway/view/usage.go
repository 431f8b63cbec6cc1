package view

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/internal/find/index"
	"firn.dev/store"
	"firn.dev/wire"
)

// The dimensions of usage reports.
const (
	ByDay     = "day"
	ByModel   = "model"
	ByAgent   = "agent"
	BySession = "session"
)

// Read limits of a report. Beyond them it is marked as partial.
const (
	mostSpenders  = 10_000
	mostSpendings = 2_000_000
)

// UsageQuery selects the usage to report and its dimensions.
type UsageQuery struct {
	// By is day, model, agent or session; And is an optional second dimension.
	By, And string
	// Since is the start of the report; zero means no limit.
	Since time.Time
}

// Usage sums up the usage of sessions by one or two dimensions. Archived and hidden
// sessions are included, those in the trash bin and purged entries are not. Days are in the
// configured time zone. Entries copied by a fork count only for the original session.
//
// It reads at most 10,000 sessions, newest first, and two million entries; beyond that the
// report is marked as partial. Results are cached until a session changes.
func (v *View) Usage(ctx context.Context, q UsageQuery) (wire.Spending, error) {
	out := wire.Spending{By: q.By, And: q.And, Since: q.Since, Rows: []wire.SpendingRow{}}
	if err := q.check(); err != nil {
		return out, err
	}
	s := &spending{v: v, q: q, rows: make(map[rowName]*wire.SpendingRow)}
	for info, err := range recordedSessions(ctx, v, store.Query{Since: q.Since}) {
		if err != nil {
			return out, fmt.Errorf("list sessions: %w", err)
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
			s.partial = true // an unreadable session does not hide the others
		}
	}
	for _, row := range s.rows {
		out.Rows = append(out.Rows, *row)
		addCounters(&out.Total, row.Counters)
	}
	slices.SortFunc(out.Rows, func(a, b wire.SpendingRow) int { return compareRows(&q, &a, &b) })
	out.Partial = s.partial
	return out, nil
}

// recordedSessions lists the matching sessions as Every does. If the store has a catalog, they are
// those of the catalog, no session is examined, and of each group only as many are listed as
// a report reads, and one more.
func recordedSessions(ctx context.Context, v *View, q store.Query) iter.Seq2[store.Info, error] {
	catalog, ok := store.As[orderer](v.Store)
	if !ok {
		return v.Every(ctx, q)
	}
	q.Limit = mostSpenders + 1
	return func(yield func(store.Info, error) bool) {
		for kind := range 4 {
			q.Archived, q.Hidden = kind&1 != 0, kind&2 != 0
			page, err := catalog.Ordered(ctx, q, index.Order{}, "")
			if err != nil {
				yield(store.Info{}, err)
				return
			}
			for i := range page.Infos {
				if !yield(page.Infos[i], nil) {
					return
				}
			}
		}
	}
}

// orderer is a store that lists sessions from a catalog.
type orderer interface {
	Ordered(ctx context.Context, q store.Query, order index.Order, cursor string) (index.Ordered, error)
}

// check rejects invalid dimensions.
func (q *UsageQuery) check() error {
	dimensions := []string{ByDay, ByModel, ByAgent, BySession}
	for _, by := range []string{q.By, q.And} {
		if !slices.Contains(dimensions, by) && (by != "" || by == q.By) {
			return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("unknown usage grouping %q", Clip(by)), Hint: "group by day, model, agent or session"}
		}
	}
	if q.By == q.And {
		return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("both groupings are %s", q.By), Hint: "choose another second grouping, or omit it"}
	}
	return nil
}

// compareRows orders days newest first, and other rows by cost, highest first.
func compareRows(q *UsageQuery, a, b *wire.SpendingRow) int {
	if q.By == ByDay && a.Name != b.Name {
		return cmp.Compare(b.Name, a.Name)
	}
	if q.And == ByDay && a.And != b.And {
		return cmp.Compare(b.And, a.And)
	}
	total := func(c *wire.Counters) int64 { return c.Input + c.Output + c.CacheRead + c.CacheWrite }
	return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(total(&b.Counters), total(&a.Counters)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.And, b.And))
}

func addCounters(sum *wire.Counters, c wire.Counters) {
	sum.Input += c.Input
	sum.Output += c.Output
	sum.CacheRead += c.CacheRead
	sum.CacheWrite += c.CacheWrite
	sum.Cost += c.Cost
	sum.Answers += c.Answers
}

// spending sums up usage.
type spending struct {
	v       *View
	q       UsageQuery
	rows    map[rowName]*wire.SpendingRow
	read    int
	partial bool
}

// rowName identifies a row.
type rowName struct{ by, and string }

// session adds the usage of a session: from its counters if they suffice, else from the
// ledger or its entries.
func (s *spending) session(ctx context.Context, info *store.Info) error {
	if s.q.Since.IsZero() && s.q.whole() {
		c, known := s.v.ledger.total(info)
		if !known {
			counted, err := agent.Count(ctx, s.v.Store, info.ID)
			if err != nil {
				return err
			}
			c = countersOf(counted)
			s.v.ledger.keepTotal(info, c)
		}
		s.add(info, time.Time{}, "", c)
		return nil
	}
	if !inSlots(s.q.Since) {
		return s.entries(ctx, info, s.q.Since, func(at time.Time, model string, c wire.Counters) { s.add(info, at, model, c) })
	}
	all, known := s.v.ledger.lookup(info, s.q.Since)
	if !known {
		var t tally
		before := s.partial
		s.partial = false
		err := s.entries(ctx, info, s.q.Since, t.add)
		if all = t.all; err == nil && !s.partial {
			s.v.ledger.keep(info, s.q.Since, all)
		}
		if s.partial = s.partial || before; err != nil {
			return err
		}
	}
	for i := range all {
		if at := all[i].startTime(); !at.Before(s.q.Since) {
			s.add(info, at, all[i].model, all[i].Counters)
		}
	}
	return nil
}

// whole reports whether all usage of a session goes into one row.
func (q *UsageQuery) whole() bool {
	plain := func(by string) bool { return by == "" || by == ByAgent || by == BySession }
	return plain(q.By) && plain(q.And)
}

// entries calls report for the usage of each entry since a time, newest first.
func (s *spending) entries(ctx context.Context, info *store.Info, since time.Time, report func(at time.Time, model string, c wire.Counters)) error {
	for rec, err := range s.v.Store.ReadBack(ctx, info.ID, store.End) {
		if err != nil {
			return fmt.Errorf("sum usage of session %s: %w", info.ID, err)
		}
		if s.read++; s.read > mostSpendings {
			s.partial = true
			return nil
		}
		if rec.Gap != nil || !hasUsage(rec.Glance.Kind) {
			continue
		}
		e, err := rec.Entry()
		if err != nil {
			continue // unreadable
		}
		if IsCopy(&e) || e.Time.Before(since) {
			return nil
		}
		var c agent.Counters
		if c.Add(e); c.Answers > 0 {
			report(e.Time, modelOf(&e), countersOf(c))
		}
	}
	return nil
}

// hasUsage reports whether entries of a kind can contain usage.
func hasUsage(kind firn.Kind) bool {
	return kind == firn.KindMessage || kind == firn.KindCompaction || kind == firn.KindBranchSummary || kind == firn.KindCustom
}

// IsCopy reports whether an entry marks everything before it as copied.
func IsCopy(e *firn.Entry) bool {
	b, ok := e.Body.(*firn.Custom)
	if !ok || b.Type != firn.CountersType {
		return false
	}
	var mark struct {
		Forked *struct{} `json:"forked"`
	}
	return json.Unmarshal(b.Data, &mark) == nil && mark.Forked != nil
}

// modelOf returns the model whose usage an entry contains.
func modelOf(e *firn.Entry) string {
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

// add adds usage to its row.
func (s *spending) add(info *store.Info, at time.Time, model string, c wire.Counters) {
	name := rowName{s.value(s.q.By, info, at, model), s.value(s.q.And, info, at, model)}
	row, ok := s.rows[name]
	if !ok {
		if c == (wire.Counters{}) {
			return
		}
		row = &wire.SpendingRow{Name: name.by, And: name.and}
		if s.q.By == BySession || s.q.And == BySession {
			row.Title = OneLine(cmp.Or(info.Title, info.Prompt))
		}
		s.rows[name] = row
	}
	addCounters(&row.Counters, c)
}

// value returns the row's name in one dimension.
func (s *spending) value(by string, info *store.Info, at time.Time, model string) string {
	switch by {
	case ByDay:
		return at.In(s.v.Zone()).Format(time.DateOnly)
	case ByModel:
		return model
	case ByAgent:
		return info.Agent
	case BySession:
		return string(info.ID)
	}
	return ""
}

// Zone returns the time zone for days.
func (v *View) Zone() *time.Location {
	if zone := v.setup.Load().Zone; zone != nil {
		return zone
	}
	return v.Clock().Location()
}

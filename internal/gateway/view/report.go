package view

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/find/index"
	"firn.dev/store"
	"firn.dev/wire"
)

// reports keeps the statistics of all sessions for UsageReport: sums by day, and for
// each session what it contributed. A report adds the entries that were appended since the
// last one. The statistics are derived from the transcripts and can be discarded.
type reports struct {
	view *View
	// turn is held by the report in progress. It is a channel, so that waiting for it ends
	// with the request.
	turn chan struct{}

	feed     index.Feed
	zone     string
	sessions map[firn.ID]*contribution
	sums     map[sumKey]sum
	// behind are sessions that still have entries to be read.
	behind map[firn.ID]store.Info
	faults map[firn.ID]bool

	mu     sync.Mutex
	forget []firn.ID // erased since the last report
}

// sumKey identifies a sum: a day, a dimension and a value of it.
type sumKey struct{ day, kind, name string }

// The dimension of sums of tools; the others are those of usage reports.
const (
	byProject = "project"
	byTool    = "tool"
)

// sum is the usage of a day in one dimension. The cost is in units of 1e-9 dollars, so that
// subtracting is exact.
type sum struct {
	input, output, cacheRead, cacheWrite, cost int64
	answers, calls, failures                   int
}

const costUnit = 1e9

func (s sum) add(other sum, sign int) sum {
	n := int64(sign)
	return sum{
		s.input + n*other.input, s.output + n*other.output, s.cacheRead + n*other.cacheRead, s.cacheWrite + n*other.cacheWrite, s.cost + n*other.cost,
		s.answers + sign*other.answers, s.calls + sign*other.calls, s.failures + sign*other.failures,
	}
}

func (s sum) counters() wire.Counters {
	return wire.Counters{Input: s.input, Output: s.output, CacheRead: s.cacheRead, CacheWrite: s.cacheWrite, Cost: float64(s.cost) / costUnit, Answers: s.answers}
}

// contribution is what a session added to the sums, up to a position.
type contribution struct {
	end            firn.Pos
	bytes          int64
	agent, project string
	sums           map[sumKey]sum
	// calls maps the IDs of calls without a result to tools.
	calls map[string]string
}

// changeFeed is a store that knows which sessions changed.
type changeFeed interface {
	Since(ctx context.Context, from index.Feed) (infos []store.Info, whole bool, now index.Feed, err error)
}

// UsageReport sums up the usage of all sessions since the day of a time; the zero time means
// no limit. It includes the sessions of Usage. It reads only the entries that were appended
// since the last report, at most two million; a session that it could not read, or not
// completely, makes the report partial.
func (r *reports) UsageReport(ctx context.Context, since time.Time) (wire.UsageReport, error) {
	v := r.view
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return wire.UsageReport{}, ctx.Err()
	}
	defer func() { <-r.turn }()
	if err := r.update(ctx); err != nil {
		return wire.UsageReport{}, err
	}
	first := ""
	if !since.IsZero() {
		first = since.In(v.Zone()).Format(time.DateOnly)
	}
	return r.report(first, v.Clock().In(v.Zone()).AddDate(-1, 0, -6).Format(time.DateOnly)), nil
}

// erased makes the next report read a session from its start.
func (r *reports) erased(id firn.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget = append(r.forget, id)
}

// reset discards the statistics.
func (r *reports) reset(zone string) {
	r.feed, r.zone = index.Feed{}, zone
	r.sessions, r.sums = make(map[firn.ID]*contribution), make(map[sumKey]sum)
	r.behind, r.faults = make(map[firn.ID]store.Info), make(map[firn.ID]bool)
}

// update adds what was appended to sessions since the last report.
func (r *reports) update(ctx context.Context) error {
	if zone := r.view.Zone().String(); r.sessions == nil || r.zone != zone {
		r.reset(zone)
	}
	r.mu.Lock()
	for _, id := range r.forget {
		r.drop(id)
		r.feed = index.Feed{} // its row may be unchanged
	}
	r.forget = nil
	r.mu.Unlock()
	infos, whole, now, err := r.changedSessions(ctx)
	if err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	there := make(map[firn.ID]bool, len(infos))
	for i := range infos {
		there[infos[i].ID] = true
		if c := r.sessions[infos[i].ID]; c == nil || c.end != infos[i].End || c.bytes != infos[i].Bytes || c.project != infos[i].Directory() {
			r.behind[infos[i].ID] = infos[i]
		}
	}
	if whole {
		for id := range r.sessions {
			if !there[id] {
				r.drop(id)
			}
		}
	}
	r.feed = now
	budget := mostSpendings
	for id, info := range r.behind {
		if budget <= 0 {
			break
		}
		err := r.readContribution(ctx, &info, &budget)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if r.faults[id] = err != nil; err == nil {
			delete(r.faults, id)
		}
		if budget > 0 {
			delete(r.behind, id)
		}
	}
	return nil
}

// changedSessions returns the sessions that changed since the last report, or all.
func (r *reports) changedSessions(ctx context.Context) (infos []store.Info, whole bool, now index.Feed, err error) {
	if feed, ok := store.As[changeFeed](r.view.Store); ok {
		return feed.Since(ctx, r.feed)
	}
	for info, err := range r.view.Every(ctx, store.Query{}) {
		if err != nil {
			return nil, false, now, err
		}
		infos = append(infos, info)
	}
	return infos, true, now, nil
}

// drop removes the contribution of a session.
func (r *reports) drop(id firn.ID) {
	c := r.sessions[id]
	if c == nil {
		return
	}
	for key, s := range c.sums {
		r.add(key, s, -1)
	}
	delete(r.sessions, id)
	delete(r.faults, id)
}

// add adds to a sum, or subtracts from it.
func (r *reports) add(key sumKey, s sum, sign int) {
	if now := r.sums[key].add(s, sign); now == (sum{}) {
		delete(r.sums, key)
	} else {
		r.sums[key] = now
	}
}

// readContribution reads the new entries of a session.
func (r *reports) readContribution(ctx context.Context, info *store.Info, budget *int) error {
	c := r.sessions[info.ID]
	if c != nil && (c.bytes > info.Bytes || c.end > info.End || c.agent != info.Agent || c.project != info.Directory()) {
		r.drop(info.ID)
		c = nil
	}
	if c == nil {
		c = &contribution{agent: info.Agent, project: info.Directory(), sums: make(map[sumKey]sum), calls: make(map[string]string)}
		r.sessions[info.ID] = c
	}
	for rec, err := range r.view.Store.Read(ctx, info.ID, c.end) {
		if err != nil {
			return fmt.Errorf("sum usage of session %s: %w", info.ID, err)
		}
		if *budget--; *budget <= 0 {
			return nil
		}
		if rec.Gap != nil && rec.Gap.Unfinished() {
			break
		}
		c.end = rec.Next
		if rec.Gap != nil || !hasUsage(rec.Glance.Kind) {
			continue
		}
		if e, err := rec.Entry(); err == nil {
			r.entry(c, &e, r.view.Zone())
		}
	}
	c.bytes = info.Bytes
	return nil
}

// entry adds an entry to the contribution of its session and to the sums.
func (r *reports) entry(c *contribution, e *firn.Entry, zone *time.Location) {
	if IsCopy(e) { // everything so far was copied
		for key, s := range c.sums {
			r.add(key, s, -1)
		}
		clear(c.sums)
		return
	}
	day := e.Time.In(zone).Format(time.DateOnly)
	put := func(kind, name string, s sum) {
		key := sumKey{day, kind, name}
		c.sums[key] = c.sums[key].add(s, 1)
		r.add(key, s, 1)
	}
	var n agent.Counters
	if n.Add(*e); n.Answers > 0 {
		s := sum{n.Input, n.Output, n.CacheRead, n.CacheWrite, int64(math.Round(n.Cost * costUnit)), n.Answers, 0, 0}
		put(ByModel, modelOf(e), s)
		put(ByAgent, c.agent, s)
		put(byProject, c.project, s)
	}
	m, ok := e.Body.(*firn.Message)
	if !ok {
		return
	}
	for _, part := range m.Parts {
		switch p := part.(type) {
		case firn.ToolCall:
			c.calls[p.ID] = p.Name
			put(byTool, p.Name, sum{calls: 1})
		case firn.ToolResult:
			name := cmp.Or(c.calls[p.CallID], p.Name)
			delete(c.calls, p.CallID)
			if p.IsError {
				put(byTool, name, sum{failures: 1})
			}
		}
	}
}

// report returns the report since a day. The calendar begins at another one.
func (r *reports) report(since, calendar string) wire.UsageReport {
	out := wire.UsageReport{Since: since, Sessions: len(r.sessions), Partial: len(r.behind) > 0 || len(r.faults) > 0, Calendar: []wire.UsageDay{}, Days: []wire.SpendingRow{},
		Agents: []wire.SpendingRow{}, Models: []wire.SpendingRow{}, Projects: []wire.SpendingRow{}, Tools: []wire.ToolUse{}}
	models, projects, tools, days := make(map[string]sum), make(map[string]sum), make(map[string]sum), make(map[string]sum)
	total := sum{}
	for key, s := range r.sums {
		if key.kind == ByModel && key.day >= calendar {
			days[key.day] = days[key.day].add(s, 1)
		}
		if key.day < since {
			continue
		}
		switch key.kind {
		case ByModel:
			total = total.add(s, 1)
			models[key.name] = models[key.name].add(s, 1)
			out.Days = append(out.Days, wire.SpendingRow{Name: key.day, And: key.name, Counters: s.counters()})
		case ByAgent:
			out.Agents = append(out.Agents, wire.SpendingRow{Name: key.day, And: key.name, Counters: s.counters()})
		case byProject:
			projects[key.name] = projects[key.name].add(s, 1)
		case byTool:
			tools[key.name] = tools[key.name].add(s, 1)
		}
	}
	out.Total = total.counters()
	out.Models, out.Projects = rowsBySum(models), rowsBySum(projects)
	for day, s := range days {
		out.Calendar = append(out.Calendar, wire.UsageDay{Day: day, Answers: s.answers, Tokens: s.input + s.output + s.cacheRead + s.cacheWrite, Cost: float64(s.cost) / costUnit})
	}
	for name, s := range tools {
		out.Tools = append(out.Tools, wire.ToolUse{Name: name, Calls: max(s.calls, s.failures), Failures: s.failures})
	}
	byDay := func(a, b wire.SpendingRow) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.And, b.And)) }
	slices.SortFunc(out.Days, byDay)
	slices.SortFunc(out.Agents, byDay)
	slices.SortFunc(out.Calendar, func(a, b wire.UsageDay) int { return cmp.Compare(a.Day, b.Day) })
	slices.SortFunc(out.Tools, func(a, b wire.ToolUse) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// rowsBySum returns sums as rows, the most expensive first.
func rowsBySum(sums map[string]sum) []wire.SpendingRow {
	rows := make([]wire.SpendingRow, 0, len(sums))
	for name, s := range sums {
		rows = append(rows, wire.SpendingRow{Name: name, Counters: s.counters()})
	}
	slices.SortFunc(rows, func(a, b wire.SpendingRow) int { return compareRows(&UsageQuery{}, &a, &b) })
	return rows
}

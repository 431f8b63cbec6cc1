package api

import (
	"cmp"
	"encoding/csv"
	"net/http"
	"reflect"
	"strconv"

	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// typeCSV is the media type of a table.
const typeCSV = "text/csv"

// batchPath is the address for changing many sessions in one request. It is also the
// address of a session with this name.
const batchPath = "/v1/sessions/batch"

// dataRoutes returns the routes of the data that pages show besides the conversations.
func dataRoutes() []operation {
	return []operation{
		{method: "POST", path: batchPath, name: "patchSessions", scope: wire.ScopeWrite, what: "Applies the same change to many sessions. Returns each result and the patch that undoes it.", action: take(sessionCalls.batch)},
		{method: "GET", path: "/v1/sessions/{id}/course", name: "getCourse", scope: wire.ScopeRead, what: "Returns the history of a branch by turn, with usage and window size.", query: []param{text("head", "Last entry of the branch; default: the head."), count("from", "Number of the first turn; default: 1."), count("to", "Number of the last turn; default: the last one.")}, action: give(branchCalls.course)},
		{method: "GET", path: "/v1/sessions/{id}/compactions/{cid}", name: "getCompaction", scope: wire.ScopeRead, what: "Returns a compaction: its summary, the entries it replaces, and the window before and after.", action: give(compactionCalls.compacted)},
		{method: "GET", path: "/v1/sources", name: "listSources", scope: wire.ScopeRead, what: "Lists the sources of sessions: the home, and mirrored directories of other tools.", action: give(sessionCalls.listSources)},
		{method: "GET", path: "/v1/tags", name: "listTags", scope: wire.ScopeRead, what: "Lists tags with the number of sessions. Changes may take ten seconds to appear.", action: give(sessionCalls.listTags)},
		{method: "GET", path: "/v1/ops", name: "ops", scope: wire.ScopeRead, what: "Returns operational statistics: latency, storage, index, memory, and the latest verification.", action: give(statusCalls.ops)},
		{method: "POST", path: "/v1/verify", name: "verify", scope: wire.ScopeAdmin, what: "Starts a verification of all sessions, unless one is running. /v1/ops returns its progress.", action: takeOptional(entryCalls.verify)},
	}
}

// maxTurn is the largest number of a turn in a request.
const maxTurn = 1<<31 - 1

func (c branchCalls) course() (wire.Course, error) {
	id, err := c.session()
	if err != nil {
		return wire.Course{}, err
	}
	part := wire.TurnRange{From: int(c.query.number("from", maxTurn)), To: int(c.query.number("to", maxTurn))}
	if c.query.err != nil {
		return wire.Course{}, c.query.err
	}
	return c.gateway.Course(c.r.Context(), id, c.query.text("head"), part)
}

func (c compactionCalls) compacted() (wire.CompactionDetail, error) {
	id, err := c.session()
	if err != nil {
		return wire.CompactionDetail{}, err
	}
	return c.gateway.Compacted(c.r.Context(), id, c.r.PathValue("cid"))
}

// batch changes sessions. For a bound caller, sessions outside its bounds do not exist.
func (c sessionCalls) batch(b wire.Batch) (wire.Page[wire.BatchResult], error) {
	if !c.who.bound() || len(b.IDs) > gateway.MaxBatch {
		results, err := c.gateway.Batch(c.r.Context(), b)
		return pageOf(results), err
	}
	places, theirs := make([]int, 0, len(b.IDs)), b
	theirs.IDs = nil
	all := make([]wire.BatchResult, len(b.IDs))
	for i, id := range b.IDs {
		all[i].ID = id
		s, err := c.gateway.Session(c.r.Context(), string(id))
		if err != nil || s.ID != id || !c.canSee(s) {
			all[i].Error = "there is no session " + strconv.Quote(view.Clip(string(id)))
			continue
		}
		places, theirs.IDs = append(places, i), append(theirs.IDs, id)
	}
	if len(theirs.IDs) == 0 && len(b.IDs) > 0 {
		return pageOf(all), nil
	}
	results, err := c.gateway.Batch(c.r.Context(), theirs)
	for i, result := range results {
		all[places[i]] = result
	}
	return pageOf(all), err
}

func (c sessionCalls) listSources() (wire.Page[wire.Source], error) {
	if c.who.bound() {
		return wire.Page[wire.Source]{}, boundTo("listing the sources of all sessions")
	}
	all, err := c.gateway.Sources(c.r.Context())
	return pageOf(all), err
}

func (c sessionCalls) listTags() (wire.Page[wire.Tag], error) {
	if c.who.bound() {
		return wire.Page[wire.Tag]{}, boundTo("listing the tags of all sessions")
	}
	all, err := c.gateway.Tags(c.r.Context())
	return pageOf(all), err
}

func (c entryCalls) verify(none) (wire.Verified, error) {
	if c.who.bound() {
		return wire.Verified{}, boundTo("verifying all sessions")
	}
	return c.gateway.Verify(c.r.Context())
}

// usageAction responds with JSON or CSV.
func usageAction() action {
	return action{out: reflect.TypeFor[wire.Spending](), content: typeCSV, run: on(usageCalls.usage)}
}

func (c usageCalls) usage() error {
	q := view.UsageQuery{By: cmp.Or(c.query.text("by"), "day"), And: c.query.text("and"), Since: c.query.moment("since")}
	asTable, err := c.asTable()
	if err != nil {
		return err
	}
	s, err := c.gateway.Usage(c.r.Context(), q)
	if err != nil {
		return err
	}
	if !asTable {
		return c.reply(http.StatusOK, s)
	}
	return c.table(&s)
}

// asTable reports whether usage is requested as CSV. It fails if the request is invalid or
// the caller may not read the usage of all sessions.
func (c usageCalls) asTable() (bool, error) {
	format := c.query.text("format")
	switch {
	case c.query.err != nil:
		return false, c.query.err
	case c.who.bound():
		return false, boundTo("reading the usage of all sessions")
	case format != "" && format != "json" && format != "csv":
		return false, gateway.Invalid("unknown usage format %q: expected json or csv", view.Clip(format))
	}
	return format == "csv", nil
}

// startTable starts a response with a CSV file.
func (c usageCalls) startTable() *csv.Writer {
	head := c.w.Header()
	head.Set("Content-Type", typeCSV+"; charset=utf-8")
	head.Set("Content-Disposition", `attachment; filename="usage.csv"`)
	c.deadline()
	return csv.NewWriter(c.w)
}

// table writes the usage as CSV.
func (c usageCalls) table(s *wire.Spending) error {
	w := c.startTable()
	names := []string{s.By}
	if s.And != "" {
		names = append(names, s.And)
	}
	// Write errors mean the client disconnected.
	_ = w.Write(append(names, "title", "answers", "input", "output", "cacheRead", "cacheWrite", "cost"))
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, r := range s.Rows {
		cells := []string{escapeFormula(r.Name)}
		if s.And != "" {
			cells = append(cells, escapeFormula(r.And))
		}
		_ = w.Write(append(cells, escapeFormula(r.Title), strconv.Itoa(r.Answers), number(r.Input), number(r.Output), number(r.CacheRead), number(r.CacheWrite),
			strconv.FormatFloat(r.Cost, 'f', -1, 64)))
	}
	w.Flush()
	return nil
}

// escapeFormula quotes text that a spreadsheet would take for a formula. Titles contain
// untrusted text.
func escapeFormula(text string) string {
	if text != "" && (text[0] == '=' || text[0] == '+' || text[0] == '-' || text[0] == '@' || text[0] == '\t' || text[0] == '\r') {
		return "'" + text
	}
	return text
}

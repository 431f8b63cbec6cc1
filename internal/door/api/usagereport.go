package api

import (
	"net/http"
	"strconv"

	"firn.dev/wire"
)

// report responds with the usage report as JSON or CSV.
func (c usageCalls) report() error {
	since := c.query.moment("since")
	asTable, err := c.asTable()
	if err != nil {
		return err
	}
	r, err := c.gateway.UsageReport(c.r.Context(), since)
	if err != nil {
		return err
	}
	if !asTable {
		return c.reply(http.StatusOK, r)
	}
	return c.reportTable(&r)
}

// reportTable writes a report as CSV: a row for each day and model, day and agent, model,
// project and tool.
func (c usageCalls) reportTable(r *wire.UsageReport) error {
	w := c.startTable()
	// Write errors mean the client disconnected.
	_ = w.Write([]string{"kind", "name", "and", "answers", "input", "output", "cacheRead", "cacheWrite", "cost", "calls", "failures"})
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, part := range []struct {
		kind string
		rows []wire.SpendingRow
	}{{"day-model", r.Days}, {"day-agent", r.Agents}, {"model", r.Models}, {"project", r.Projects}} {
		for _, row := range part.rows {
			_ = w.Write([]string{part.kind, escapeFormula(row.Name), escapeFormula(row.And), strconv.Itoa(row.Answers), number(row.Input), number(row.Output),
				number(row.CacheRead), number(row.CacheWrite), strconv.FormatFloat(row.Cost, 'f', -1, 64), "", ""})
		}
	}
	for _, tool := range r.Tools {
		_ = w.Write([]string{"tool", escapeFormula(tool.Name), "", "", "", "", "", "", "", strconv.Itoa(tool.Calls), strconv.Itoa(tool.Failures)})
	}
	w.Flush()
	return nil
}

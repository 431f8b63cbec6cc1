package gateway

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/gateway/view"
)

// TestUsageReport checks that the sums of a report are those of the entries, also after more
// entries were appended.
func TestUsageReport(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		r.inZone(time.UTC)
		call := func(id, name string) firn.Entry {
			return firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, Provider: "scripted", Model: "scripted", Parts: []firn.Part{firn.ToolCall{ID: id, Name: name, Arguments: json.RawMessage("{}")}}, Usage: &firn.Usage{Input: 10, CacheRead: 90, Cost: firn.Cost{Total: 0.1}}})
		}
		result := func(id, name string, failed bool) firn.Entry {
			return firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: id, Name: name, IsError: failed}}})
		}
		r.start(firn.Header{Session: "first", CWD: "/w/one"}, at(day(1), says("", "x")), at(day(1), call("a", "bash")), at(day(1), result("a", "bash", true)), at(day(2), call("b", "read")))
		r.start(firn.Header{Session: "second", Agent: "work", CWD: "/w/two"}, at(day(2), answers("", "y")))
		report := func(since time.Time) string {
			u := got(r.UsageReport(r.ctx, since))(t)
			text := fmt.Sprintf("%d×$%.2f;", u.Total.Answers, u.Total.Cost)
			for _, d := range u.Days {
				text += " " + d.Name + " " + d.And
			}
			for _, p := range u.Projects {
				text += fmt.Sprintf("; %s $%.2f", p.Name, p.Cost)
			}
			for _, tool := range u.Tools {
				text += fmt.Sprintf("; %s %d/%d", tool.Name, tool.Failures, tool.Calls)
			}
			if u.Partial {
				text += " partial"
			}
			return text
		}
		same(t, "all", report(time.Time{}), "3×$2.20; 2026-03-01 scripted/scripted 2026-03-02 scripted/scripted; /w/two $2.00; /w/one $0.20; bash 1/1; read 0/1")
		same(t, "from the second day", report(day(2)), "2×$2.10; 2026-03-02 scripted/scripted; /w/two $2.00; /w/one $0.10; read 0/1")
		// A failed result whose call was in an earlier report, without a name.
		r.write("first", at(day(3), result("b", "", true)), at(day(3), answers("", "z")))
		same(t, "after more", report(day(2)), "3×$4.10; 2026-03-02 scripted/scripted 2026-03-03 scripted/scripted; /w/one $2.10; /w/two $2.00; read 1/1")
		u := got(r.UsageReport(r.ctx, time.Time{}))(t)
		if len(u.Calendar) != 3 || u.Calendar[0].Day != "2026-03-01" || u.Calendar[0].Tokens != 100 {
			t.Errorf("the calendar is %+v", u.Calendar)
		}
		if s := got(r.Usage(r.ctx, view.UsageQuery{By: view.ByDay}))(t); s.Total.Answers != u.Total.Answers || s.Total.Input != u.Total.Input {
			t.Errorf("the report has %+v, the table %+v", u.Total, s.Total)
		}
	})
}

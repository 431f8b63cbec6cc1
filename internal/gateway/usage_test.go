package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/gateway/view"
	"firn.dev/provider"
	"firn.dev/wire"
)

// bill formats rows on one line.
func bill(rows []wire.SpendingRow) string {
	var out []string
	for _, r := range rows {
		out = append(out, fmt.Sprintf("%s $%g ×%d", r.Name, r.Cost, r.Answers))
	}
	return strings.Join(out, ", ")
}

func TestUsage(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		other := answers("", "by another")
		other.Body.(*firn.Message).Model = "other"
		r.start(firn.Header{Session: "first"}, at(day(1), says("", "x")), at(day(1), answers("", "y")), at(day(2), other), firn.NewEntry(&firn.Title{Name: "one"}))
		r.start(firn.Header{Session: "second", Agent: "work"}, at(day(2), answers("", "y")), at(day(2).Add(11*time.Hour+59*time.Minute), answers("", "y")), at(day(3), answers("", "z")))
		r.start(firn.Header{Session: "third"}, at(day(3), says("", "nothing")))
		r.start(firn.Header{Session: "hidden"}, at(day(3), answers("", "y")), firn.Hide("hidden"))
		asked := &firn.Custom{Type: usageType, Data: []byte(`{"purpose":"title","provider":"scripted","model":"tiny","usage":{"input":5,"cost":{"total":0.5}}}`)}
		summed := &firn.Compaction{Summary: "s", FirstKept: "", Details: []byte(`{"model":"scripted/tiny","usage":{"input":5,"cost":{"total":0.25}}}`)}
		r.start(firn.Header{Session: "beside"}, at(day(4), firn.NewEntry(asked)), at(day(4), firn.NewEntry(summed)))
		tests := []struct {
			by    string
			since time.Time
			want  string
		}{
			{view.ByDay, time.Time{}, "2026-03-04 $0.75 ×2, 2026-03-03 $4 ×2, 2026-03-02 $6 ×3, 2026-03-01 $2 ×1"},
			{view.ByDay, day(3), "2026-03-04 $0.75 ×2, 2026-03-03 $4 ×2"},
			{view.ByModel, time.Time{}, "scripted/scripted $10 ×5, scripted/other $2 ×1, scripted/tiny $0.75 ×2"},
			{view.ByModel, day(4), "scripted/tiny $0.75 ×2"},
			{view.ByAgent, time.Time{}, "main $6.75 ×5, work $6 ×3"},
			{view.ByAgent, day(3), "main $2.75 ×3, work $2 ×1"},
			{view.BySession, time.Time{}, "second $6 ×3, first $4 ×2, hidden $2 ×1, beside $0.75 ×2"},
			{view.BySession, day(2), "second $6 ×3, first $2 ×1, hidden $2 ×1, beside $0.75 ×2"},
			{view.ByDay, day(20), ""},
		}
		r.inZone(time.UTC)
		for _, test := range tests {
			s := got(r.Usage(r.ctx, view.UsageQuery{By: test.by, Since: test.since}))(t)
			same(t, fmt.Sprintf("by %s since %v", test.by, test.since), bill(s.Rows), test.want)
			sum := 0.0
			for _, row := range s.Rows {
				sum += row.Cost
			}
			if s.Total.Cost != sum || s.Partial || s.Rows == nil || s.By != test.by {
				t.Errorf("by %s: the total is %+v of %g", test.by, s.Total, sum)
			}
			if test.by == view.BySession && test.since.IsZero() && s.Rows[1].Title != "one" {
				t.Errorf("the rows are %+v", s.Rows)
			}
		}
		r.inZone(time.FixedZone("east", 3600))
		same(t, "a day begins earlier in the east", bill(got(r.Usage(r.ctx, view.UsageQuery{By: view.ByDay, Since: day(1)}))(t).Rows),
			"2026-03-04 $0.75 ×2, 2026-03-03 $6 ×3, 2026-03-02 $4 ×2, 2026-03-01 $2 ×1")
		for _, by := range []string{"", "week", "Day"} {
			_, err := r.Usage(r.ctx, view.UsageQuery{By: by, Since: time.Time{}})
			isKind(t, by, err, wire.Invalid)
		}
	})
}

// TestForksAreNotBilledTwice checks that a tree of forks, each with its own turn, costs as
// much as the model charged.
func TestForksAreNotBilledTwice(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := got(r.NewSession(r.ctx, wire.NewSession{}))(t).ID
		spent := 0.0
		for level := range 5 {
			for range level + 1 {
				if _, err := r.Turn(r.ctx, id, wire.Turn{Text: "go"}); err != nil {
					t.Fatal(err)
				}
				spent += 2
			}
			if want := float64(2 * (level + 1)); got(r.Session(r.ctx, string(id)))(t).State.Counters.Cost != want {
				t.Errorf("the fork at level %d has spent %+v, want %g", level, got(r.Session(r.ctx, string(id)))(t).State.Counters, want)
			}
			id = got(r.Fork(r.ctx, id, wire.Fork{}))(t).ID
		}
		if asked := len(r.model.Requests()); float64(asked)*2 != spent {
			t.Fatalf("the model was called %d times", asked)
		}
		for _, by := range []string{view.ByDay, view.ByModel, view.ByAgent, view.BySession} {
			if s := got(r.Usage(r.ctx, view.UsageQuery{By: by, Since: time.Time{}}))(t); s.Total.Cost != spent || s.Sessions != 6 {
				t.Errorf("by %s it cost %g, by the ledger %g: %s", by, s.Total.Cost, spent, bill(s.Rows))
			}
		}
	})
}

func TestStatus(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		for range 7 {
			r.talk(1)
		}
		defer r.busy(r.talk(1))()
		s := got(r.Status(r.ctx))(t)
		if s.Version != "test" || s.Gateway != "in-process" || s.PID == 0 || s.Sessions != 8 || len(s.Recent) != 5 || s.Running != 1 || s.Queued != 0 || s.Started.IsZero() || len(s.Agents) != 2 {
			t.Errorf("the status is %+v", s)
		}
		agents := r.Agents(r.ctx)
		if agents[0] != (wire.Agent{ID: "main", Provider: "scripted", Model: "scripted", Window: provider.AssumedWindow}) || agents[1].ID != "work" {
			t.Errorf("the agents are %+v", agents)
		}
		models := r.Models(r.ctx, false)
		if len(models) != 2 || models[0].ID != "scripted/scripted" || models[0].Window == 0 || models[1].ID != "scripted/other" {
			t.Errorf("the models are %+v", models)
		}
	})
}

// TestUsageByTwoDimensions checks reports by two dimensions, and that cached results equal
// new ones after an append, for a shorter period, and in another time zone.
func TestUsageByTwoDimensions(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		other := answers("", "by another")
		other.Body.(*firn.Message).Model = "other"
		r.start(firn.Header{Session: "first"}, at(day(1), says("", "x")), at(day(1), answers("", "y")), at(day(1), answers("", "z")), at(day(2), other))
		r.start(firn.Header{Session: "second", Agent: "work"}, at(day(2), answers("", "y")))
		r.inZone(time.UTC)
		check := func(what string, q view.UsageQuery, want string) {
			t.Helper()
			for _, how := range []string{"", ", again", ", read again"} {
				if how == ", read again" {
					r.Erased("first")
					r.Erased("second")
				}
				var rows []string
				for _, row := range got(r.Usage(r.ctx, q))(t).Rows {
					rows = append(rows, fmt.Sprintf("%s %s $%g", row.Name, row.And, row.Cost))
				}
				same(t, what+how, strings.Join(rows, ", "), want)
			}
		}
		check("days and models", view.UsageQuery{By: view.ByDay, And: view.ByModel}, "2026-03-02 scripted/other $2, 2026-03-02 scripted/scripted $2, 2026-03-01 scripted/scripted $4")
		check("since the second", view.UsageQuery{By: view.ByDay, And: view.ByModel, Since: day(2)}, "2026-03-02 scripted/other $2, 2026-03-02 scripted/scripted $2")
		check("all again", view.UsageQuery{By: view.ByDay, And: view.ByAgent}, "2026-03-02 main $2, 2026-03-02 work $2, 2026-03-01 main $4")
		check("since an odd time", view.UsageQuery{By: view.ByAgent, And: view.ByDay, Since: day(1).Add(time.Second)}, "main 2026-03-02 $2, work 2026-03-02 $2")
		check("agents and sessions", view.UsageQuery{By: view.ByAgent, And: view.BySession}, "main first $6, work second $2")
		r.write("second", at(day(3), answers("", "more")))
		check("more was said", view.UsageQuery{By: view.ByModel, And: view.ByDay}, "scripted/scripted 2026-03-03 $2, scripted/other 2026-03-02 $2, scripted/scripted 2026-03-02 $2, scripted/scripted 2026-03-01 $4")
		r.inZone(time.FixedZone("far", 13*3600+45*60))
		check("elsewhere it is later", view.UsageQuery{By: view.ByDay, And: view.ByAgent, Since: day(3)}, "2026-03-04 work $2")
		for _, q := range []view.UsageQuery{{By: view.ByDay, And: view.ByDay}, {By: view.ByDay, And: "week"}, {And: view.ByDay}} {
			_, err := r.Usage(r.ctx, q)
			isKind(t, fmt.Sprintf("%+v", q), err, wire.Invalid)
		}
	})
}

// inZone sets the time zone for days.
func (r *room) inZone(zone *time.Location) {
	r.t.Helper()
	setup := *r.setup.Load()
	setup.Zone = zone
	if err := r.Reload(setup); err != nil {
		r.t.Fatal(err)
	}
}

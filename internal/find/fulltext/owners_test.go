package fulltext

import (
	"context"
	"fmt"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/find/search"
)

// TestOtherOwnersDoNotUseUpTheLimit searches for one owner's sessions where others have more,
// and newer, matches than a search examines.
func TestOtherOwnersDoNotUseUpTheLimit(t *testing.T) {
	b := newTestIndex(t)
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	session := func(id firn.ID, agent, key string, messages int) {
		head := firn.Entry{ID: firn.EntryID(id) + "-head", Time: begin, Body: &firn.Header{Version: 3, Session: id, Agent: agent, Key: key}}
		all := []firn.Entry{head}
		for i := range messages {
			begin = begin.Add(time.Minute)
			e := firn.NewEntry(firn.UserText(fmt.Sprintf("about the flaky lock, the flaky test and whatever else number %d of %s", i, id)).Body)
			e.ID, e.Time = firn.EntryID(fmt.Sprintf("%s-%d", id, i)), begin
			e.Body.(*firn.Message).Time = begin
			all = append(all, e)
		}
		b.append(id, all...)
	}
	session("mine", "main", "agent:main:me", 1)
	session("plain", "main", "", 1)
	session("helper", "other", "agent:other:me", 1)
	session("theirs", "main", "agent:main:you", 1200)
	session("theirs2", "other", "agent:other:you", 20)
	for _, query := range []string{"flaky", "flaky lock", `"flaky lock"`, "fla*", "role:user", "flaky AND lock"} {
		for want, may := range map[string]func(agent, key string) bool{
			"mine-0":           func(_, key string) bool { return key == "agent:main:me" },
			"plain-0":          func(agent, key string) bool { return agent == "main" && key == "" },
			"mine-0 plain-0":   func(agent, key string) bool { return agent == "main" && key != "agent:main:you" },
			"helper-0 mine-0":  func(_, key string) bool { return key == "agent:main:me" || key == "agent:other:me" },
			"":                 func(string, string) bool { return false },
			"helper-0 plain-0": func(_, key string) bool { return key == "" || key == "agent:other:me" },
		} {
			q, err := search.Parse(query, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			q.Owners = may
			answer, err := b.index.Search(context.Background(), q)
			if got := entries(answer.Hits); err != nil || got != want {
				t.Errorf("%s finds %q, want %q: %v", query, got, want, err)
			}
		}
	}
	q, err := search.Parse("flaky", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	q.Owners = func(string, string) bool { return true }
	if answer, err := b.index.Search(context.Background(), q); err != nil || len(answer.Hits) != search.DefaultLimit {
		t.Errorf("an unrestricted search finds %d: %v", len(answer.Hits), err)
	}
}

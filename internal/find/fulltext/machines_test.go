package fulltext

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/find/search"
)

// machineIndex has one session of a person, a sub-agent's message in it, and, newer than both,
// more messages of programs about the same than a search looks at.
func machineIndex(t *testing.T) *testIndex {
	b := newTestIndex(t)
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	content := func(id, text string, at time.Time) firn.Entry {
		m := &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}, Time: at}
		return firn.Entry{ID: firn.EntryID(id), Time: at, Body: m}
	}
	side := firn.Entry{ID: "side", Time: begin, Body: &firn.Custom{Type: "claudecode:sidechain", Data: []byte(`{"isSidechain":true,"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"The sidechain says that the backup of the printer failed."}]}}`)}}
	b.append("person", firn.Entry{ID: "head", Time: begin, Body: &firn.Header{Version: 3, Session: "person", Agent: "main", Key: "agent:main:main"}},
		content("person-1", "The backup failed since the disk of the printer is full, and dinner with my sister is at eight", begin), side)
	for k, key := range []string{"agent:main:cron:nightly", "agent:main:hook:6f", "agent:main:subagent:7a"} {
		id := firn.ID(fmt.Sprintf("machine-%d", k))
		all := []firn.Entry{{ID: id2(id, "head"), Time: begin, Body: &firn.Header{Version: 3, Session: id, Agent: "main", Key: key}}}
		for i := range mostFound {
			all = append(all, content(fmt.Sprintf("%s-%d", id, i), fmt.Sprintf("run%d of %s: backup failed, disk printer full", i, id), begin.AddDate(0, 1, 0).Add(time.Duration(i)*time.Minute)))
		}
		b.append(id, all...)
	}
	return b
}

func id2(id firn.ID, name string) firn.EntryID { return firn.EntryID(string(id) + "-" + name) }

// TestMachineMessagesRankLower searches for what a person and many newer runs of programs
// say: the person's message is first, and the others follow with what was subtracted.
func TestMachineMessagesRankLower(t *testing.T) {
	b := machineIndex(t)
	for _, query := range []string{
		"backup", "backup failed disk", "why did the backup of the printer fail because its disk is full", "backup AND printer", `"backup failed"`, "print*",
	} {
		hits := b.search(query)
		if len(hits) < 2 || hits[0].Entry != "person-1" {
			t.Errorf("%q finds %s first", query, entries(hits[:min(len(hits), 3)]))
			continue
		}
		for _, h := range hits {
			lowered := h.Parts[search.PartMachine]
			if isPerson := h.Entry == "person-1"; isPerson != (lowered == 0) || lowered > 0 {
				t.Errorf("%q: %s has the parts %v", query, h.Entry, h.Parts)
			}
		}
	}
}

// TestMachineMessageSwitch tries each value of the switch on words, a question and filters
// alone.
func TestMachineMessageSwitch(t *testing.T) {
	b := machineIndex(t)
	isPerson := func(h search.Hit) bool { return h.Entry == "person-1" }
	for _, query := range []string{"backup", "why did the backup of the printer fail because its disk is full", "", "role:user", `"backup failed"`} {
		if query != "" {
			if hits := b.search(query + " machines:equal"); len(hits) == 0 || isPerson(hits[0]) && query != "" && !strings.Contains(query, "why") {
				t.Errorf("%q: %s is first although all are equal", query, entries(hits[:min(len(hits), 1)]))
			}
		}
		hidden := b.search(query + " machines:hide")
		if len(hidden) != 1 || !isPerson(hidden[0]) {
			t.Errorf("%q without machines finds %s", query, entries(hidden))
		}
		only := b.search(query + " machines:only")
		if len(only) == 0 || slices.ContainsFunc(only, isPerson) {
			t.Errorf("%q of machines only finds %s", query, entries(only))
		}
	}
	if hits := b.search("sidechain machines:only"); len(hits) != 1 || hits[0].Entry != "side" {
		t.Errorf("the message of a sub-agent in a person's session is not found as one of a program: %s", entries(hits))
	}
	if _, err := search.Parse("backup machines:no", time.Now()); err == nil {
		t.Error("an unknown value is accepted")
	}
}

// TestSubAgentsOfOtherToolsAreMachines checks that the sub-agents of other tools are programs.
func TestSubAgentsOfOtherToolsAreMachines(t *testing.T) {
	b := newTestIndex(t)
	b.index.opts.SourceOf = func(_ context.Context, id firn.ID) Origin { return Origin{Tool: "codex", Sub: id == "sub"} }
	for _, id := range []firn.ID{"sub", "main"} {
		b.append(id, firn.Entry{ID: id2(id, "head"), Body: &firn.Header{Version: 3, Session: id}}, firn.UserText("gherkins of "+string(id)))
	}
	hits := b.search("gherkins machines:only")
	if len(hits) != 1 || hits[0].Session != "sub" {
		t.Errorf("found %s", entries(hits))
	}
	differences, err := b.index.Check(t.Context())
	if err != nil || len(differences) > 0 {
		t.Errorf("the index differs: %v %v", differences, err)
	}
}

package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/store"
)

func purgeTests() []test {
	return []test{
		{"erases a session", purgeSession},
		{"erases a session in the trash bin", purgeBin},
		{"erases entries", purgeEntries},
		{"erases all or none", purgeNone},
		{"shows the first remaining prompt", purgeFirstPrompt},
	}
}

// secret is the text that must not be found after a purge.
const secret = "hunter2"

func purgeSession(s *suite) {
	if s.remover() == nil {
		return
	}
	end := s.appendTexts("s1", secret)
	s.appendTexts("s2", "stays")
	receipt, err := s.remover().Purge(s.ctx, "s1", "asked to")
	s.must("Purge", err)
	if receipt.Session != "s1" || receipt.Reason != "asked to" || receipt.Begun.IsZero() || receipt.Done.Before(receipt.Begun) || len(receipt.Entries) > 0 {
		s.Errorf("the receipt is %+v", receipt)
	}
	for range 2 {
		s.wantGone("s1", end)
		if got := s.ids(store.Query{}); !slices.Equal(got, []firn.ID{"s2"}) {
			s.Errorf("listed %q", got)
		}
		s.wantErr("Restore of what was purged", s.remover().Restore(s.ctx, "s1"), firn.ErrNotFound)
		s.restart()
	}
}

func purgeBin(s *suite) {
	if s.remover() == nil {
		return
	}
	end := s.appendTexts("s1", secret)
	s.must("Remove", s.remover().Remove(s.ctx, "s1", ""))
	_, err := s.remover().Purge(s.ctx, "s1", "")
	s.must("Purge", err)
	s.wantErr("Restore of what was purged", s.remover().Restore(s.ctx, "s1"), firn.ErrNotFound)
	s.wantGone("s1", end)
}

// purgeFirstPrompt erases the first prompt of a session with two checkpoints, and checks
// that the list shows the first remaining prompt.
func purgeFirstPrompt(s *suite) {
	if s.remover() == nil {
		return
	}
	checkpoint := func() firn.Body {
		return &firn.Custom{Type: firn.CountersType, Data: json.RawMessage(`{"names":{"prompted":true,"complete":true}}`)}
	}
	entries := []firn.Entry{entry("a", "", userEntry(secret).Body), entry("b", "", checkpoint()), entry("c", "", userEntry("second").Body), entry("d", "", userEntry("third").Body)}
	for i := range 200 { // more than the part of the beginning that is always read
		entries = append(entries, entry(firn.EntryID(fmt.Sprintf("x%03d", i)), "", userEntry(strings.Repeat("long ", 20)).Body))
	}
	s.append("s1", append(entries, entry("y", "", checkpoint()), entry("z", "", userEntry("last").Body))...)
	_, err := s.remover().Purge(s.ctx, "s1", "asked to", "a")
	s.must("Purge", err)
	for range 2 {
		infos := s.list(store.Query{})
		if len(infos) != 1 || infos[0].Prompt != "second" {
			s.Errorf("listed %+v, want the prompt %q", infos, "second")
		}
		s.restart()
	}
}

func purgeEntries(s *suite) {
	if s.remover() == nil {
		return
	}
	s.append("s1",
		entry("a", "", userEntry(secret+" in the first prompt").Body), entry("b", "", userEntry("fine").Body),
		entry("c", "a", &firn.Title{Name: secret + " in the title"}), entry("d", "b", userEntry(strings.Repeat(secret, 10000)).Body),
		entry("e", "", &firn.Custom{Type: "x", Data: json.RawMessage(fmt.Sprintf("{%q:1}", secret))}), entry("f", "", userEntry("last").Body))
	before := s.read("s1")
	erased := []firn.EntryID{"a", "c", "d", "e"}
	receipt, err := s.remover().Purge(s.ctx, "s1", "asked to", erased...)
	s.must("Purge", err)
	if receipt.Session != "s1" || !slices.Equal(receipt.Entries, erased) || receipt.Done.IsZero() {
		s.Errorf("the receipt is %+v", receipt)
	}
	for range 2 {
		after := s.read("s1")
		s.sameRecords("after the purge", after, withGaps(before, erased))
		s.sameRecords("backwards after the purge", s.collect(s.store.ReadBack(s.ctx, "s1", store.End)), backwards(after))
		s.noSecret(after)
		s.restart()
	}
	_, err = s.store.Append(s.ctx, "s1", before[len(before)-1].Next, entry("g", "a", userEntry("after an erased entry").Body))
	s.must("Append at the end, after an erased entry", err)
	if receipt, err = s.remover().Purge(s.ctx, "s1", "again", "a", "g"); err != nil {
		s.Errorf("Purge, in part again: %v", err)
	}
	if last := s.readN("s1", 8)[7]; last.Body.Kind() != firn.KindErased || last.Parent != "a" {
		s.Errorf("the last record is %+v", last.Entry)
	}
}

// withGaps returns the expected records after some were erased.
func withGaps(all []stored, erased []firn.EntryID) []stored {
	all = slices.Clone(all)
	for i, r := range all {
		if slices.Contains(erased, r.ID) {
			all[i].Body, all[i].Extra = &firn.Opaque{Type: firn.KindErased}, nil
		}
	}
	return all
}

// noSecret checks that the store returns the secret nowhere.
func (s *suite) noSecret(all []stored) {
	s.Helper()
	for _, r := range all {
		body, err := json.Marshal(r.Body)
		s.must("Marshal", err)
		if bytes.Contains(body, []byte(secret)) || bytes.Contains(r.Line, []byte(secret)) {
			s.Errorf("entry %s still contains the secret", r.ID)
		}
	}
	for _, info := range s.list(store.Query{}) {
		if strings.Contains(fmt.Sprint(info), secret) {
			s.Errorf("the list still contains the secret: %+v", info)
		}
	}
}

func purgeNone(s *suite) {
	if s.remover() == nil {
		return
	}
	s.append("s1", entry("a", "", userEntry("stays").Body))
	_, err := s.remover().Purge(s.ctx, "s1", "", "a", "nothing")
	s.wantErr("Purge of an entry and of nothing", err, firn.ErrNotFound)
	if got := texts(s.read("s1")); !slices.Equal(got, []string{"(session)", "stays"}) {
		s.Errorf("the session became %q", got)
	}
}

package interop

import (
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/internal/ops/doctor"
	"firn.dev/store/filestore"
	"firn.dev/window"

	"github.com/google/go-cmp/cmp"
)

// TestUnanswered lets pi answer in a session without an assistant message. The old line
// then writes all entries a second time, which firn tolerates.
func TestUnanswered(t *testing.T) {
	eachRelease(t, func(t *testing.T, p *pi) {
		s := newSession(t, filestore.Options{})
		s.add(t, userMessage("ask one"))
		got := p.open(t, s.file(), call{"appendMessage", piUser("ask two")}, call{"appendMessage", piAssistant("answer two")})
		wantTexts := []string{"ask one", "ask two", "answer two"}
		if string(s.path(t).Head) != got.Leaf {
			t.Errorf("pi's leaf is %s, firn's head %s", got.Leaf, s.path(t).Head)
		}
		s.mustSend(t, p, wantTexts...)
		report := s.verify(t)
		twice := slices.ContainsFunc(report.Findings, func(f doctor.Finding) bool { return f.Kind == doctor.Duplicate })
		header := slices.ContainsFunc(report.Findings, func(f doctor.Finding) bool { return f.Kind == doctor.MoreHeaders })
		if twice != p.old() || header != p.old() || report.OK() != !p.old() {
			t.Errorf("verify finds %+v", report.Findings)
		}
		s.talk(t, "three")
		s.mustSend(t, p, append(wantTexts, "ask three", "answer three")...)
	})
}

// mustSend checks that firn and a new pi process would both send these texts.
func (s *session) mustSend(t *testing.T, p *pi, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, texts(windowMessages(t, s.path(t)))); diff != "" {
		t.Errorf("firn would send something else (-want +firn):\n%s", diff)
	}
	if diff := cmp.Diff(want, texts(sentMessages(t, p.openUnchanged(t, s.file())))); diff != "" {
		t.Errorf("pi would send something else (-want +pi):\n%s", diff)
	}
}

// TestPiAppendsToOldLeaf lets firn append while pi has the session open. pi continues from
// its old leaf; firn's messages are then on another branch and not lost.
func TestPiAppendsToOldLeaf(t *testing.T) {
	eachRelease(t, func(t *testing.T, p *pi) {
		s := newSession(t, filestore.Options{})
		s.talk(t, "one")
		p.open(t, s.file())
		ids := s.talk(t, "two")
		got := p.ask(t, request{Calls: []call{{"appendMessage", piUser("ask pi")}, {"appendMessage", piAssistant("answer pi")}}}).State
		path := s.path(t)
		if string(path.Head) != got.Leaf {
			t.Errorf("pi's leaf is %s, firn's head %s", got.Leaf, path.Head)
		}
		want := []window.Omission{{Why: window.OtherBranch, First: ids[0], Last: ids[1], Count: 2, Before: path.Out[0].Before}}
		if diff := cmp.Diff(want, path.Out); diff != "" {
			t.Errorf("firn leaves out something else (-want +got):\n%s", diff)
		}
		s.mustSend(t, p, "ask one", "answer one", "ask pi", "answer pi")
		s.mustBeWhole(t)

		s.addAfter(t, ids[1], &firn.Head{Reason: "back to what firn said"})
		s.mustSend(t, p, "ask one", "answer one", "ask two", "answer two")
	})
}

// TestPiAppendsToATornLine lets pi append after a partial line. The old line appends to the
// fragment and cannot read the result; firn can. The new one ends the fragment first.
func TestPiAppendsToATornLine(t *testing.T) {
	eachRelease(t, func(t *testing.T, p *pi) {
		s := newSession(t, filestore.Options{})
		s.talk(t, "one")
		s.tear(t, `{"type":"message","id":"torn","parentId":null,"timestamp":"2026-11-15T02:4`)
		p.open(t, s.file(), call{"appendMessage", piUser("ask two")}, call{"appendMessage", piAssistant("answer two")})
		s.talk(t, "three")
		want := []string{"ask one", "answer one", "ask two", "answer two", "ask three", "answer three"}
		if diff := cmp.Diff(want, texts(windowMessages(t, s.path(t)))); diff != "" {
			t.Errorf("firn would send something else (-want +firn):\n%s", diff)
		}
		if p.old() {
			want = want[3:]
		}
		if diff := cmp.Diff(want, texts(sentMessages(t, p.openUnchanged(t, s.file())))); diff != "" {
			t.Errorf("pi would send something else (-want +pi):\n%s", diff)
		}
		report := s.verify(t)
		if !slices.ContainsFunc(report.Findings, func(f doctor.Finding) bool { return f.Kind == doctor.Torn }) {
			t.Errorf("verify finds %+v, want the torn line", report.Findings)
		}
	})
}

// TestPiEdits checks that an edit by pi 0.87.1, which firn does not know, is preserved
// without effect.
func TestPiEdits(t *testing.T) {
	t.Parallel()
	p := startPi(t, "pi-new")
	s := newSession(t, filestore.Options{})
	ids := s.talk(t, "one", "two")
	got := p.open(t, s.file(),
		call{"appendContextEdit", ids[0], map[string]any{"content": "edited"}},
		call{"appendUsage", "compaction", "anthropic", "claude-test", map[string]any{"input": 1, "output": 2}})
	s.mustAgree(t, got)
	s.mustBeWhole(t)
	if sent := texts(sentMessages(t, got)); sent[0] != "edited" {
		t.Errorf("pi would send %q", sent)
	}
	if sent := texts(windowMessages(t, s.path(t))); sent[0] != "ask one" {
		t.Errorf("firn applies edits: remove this difference from the package comment; it sends %q", sent)
	}
	s.talk(t, "three")
	s.mustAgree(t, p.openUnchanged(t, s.file()))
}

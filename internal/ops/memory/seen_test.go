package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
)

// library is conversations with marks, as a store lists them: latest first.
type library struct {
	sessions []Session
	read     []firn.ID
}

// add puts a conversation in; path nil is one that cannot be read.
func (l *library) add(id firn.ID, mark string, path []firn.Entry) {
	l.sessions = slices.DeleteFunc(l.sessions, func(s Session) bool { return s.ID == id })
	l.sessions = slices.Insert(l.sessions, 0, Session{ID: id, Mark: mark, Path: func(context.Context) ([]firn.Entry, bool, error) {
		l.read = append(l.read, id)
		if path == nil {
			return nil, false, errors.New("the disk is away")
		}
		return path, false, nil
	}})
}

func (l *library) list(_ context.Context, is ChangeFilter) ([]Session, error) {
	var all []Session
	for _, s := range l.sessions {
		if is(s.ID, s.Mark) {
			all = append(all, s)
		}
	}
	return all, nil
}

// dream consolidates on the next night and returns the conversations read.
func (l *library) dream(t *testing.T, d *Dir, c *clock) (Dream, []firn.ID) {
	t.Helper()
	l.read = nil
	c.pass(25 * time.Hour)
	dream, err := (&Dreamer{Dir: d, Sessions: l.list}).Dream(t.Context(), DreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return dream, l.read
}

// TestDreamsReadAllConversations has more conversations than one consolidation reads: the
// next ones read the rest, each once.
func TestDreamsReadAllConversations(t *testing.T) {
	d, c := folderOf(t, nil)
	var l library
	for i := range 2*maxSessions + 5 {
		l.add(firn.ID(fmt.Sprintf("s%d", i)), "1", talk(someDay, "Bye for now, thanks.", "Bye."))
	}
	times := make(map[firn.ID]int)
	for _, want := range []int{maxSessions, maxSessions, 5} {
		dream, read := l.dream(t, d, c)
		if dream.Shut != "" || len(read) != want {
			t.Errorf("%d were read, want %d; %+v", len(read), want, dream)
		}
		for _, id := range read {
			times[id]++
		}
	}
	if len(times) != 2*maxSessions+5 {
		t.Errorf("%d of %d were read", len(times), 2*maxSessions+5)
	}
	if dream, _ := l.dream(t, d, c); dream.Shut != GateSessions {
		t.Errorf("with nothing new it dreams: %+v", dream)
	}
}

// TestUnreadableConversationsAreReadAgain checks that conversations that were unreadable or
// unfinished are read again although they did not change, but that they alone do not trigger
// a consolidation.
func TestUnreadableConversationsAreReadAgain(t *testing.T) {
	d, c := folderOf(t, nil)
	var l library
	for i := range 3 {
		l.add(firn.ID(fmt.Sprintf("s%d", i)), "1", talk(someDay, "Bye for now, thanks.", "Bye."))
	}
	open := talk(someDay, "The release day must be Friday.", "I look.")
	open[1].Body.(*firn.Message).Parts = []firn.Part{firn.ToolCall{ID: "c1", Name: "ls", Arguments: []byte("{}")}}
	l.add("open", "1", open)
	l.add("broken", "1", nil)
	if dream, read := l.dream(t, d, c); dream.Shut != "" || len(read) != 5 || dream.Found != 0 {
		t.Fatalf("%v were read, %+v", read, dream)
	}
	if dream, _ := l.dream(t, d, c); dream.Shut != GateSessions || !strings.HasPrefix(dream.Why, "0 of") {
		t.Errorf("skipped conversations trigger a consolidation: %+v", dream)
	}
	for i := range 5 {
		l.add(firn.ID(fmt.Sprintf("t%d", i)), "1", talk(someDay, "Bye for now, thanks.", "Bye."))
	}
	l.sessions[len(l.sessions)-1].Mark = "2" // s0 went on
	path := talk(someDay, "The office must be in Oslo.", "Fine.")
	for i := range l.sessions {
		if l.sessions[i].ID == "broken" { // it is readable now, with the same status
			l.sessions[i].Path = func(context.Context) ([]firn.Entry, bool, error) { return path, false, nil }
		}
	}
	dream, read := l.dream(t, d, c)
	if dream.Shut != "" || dream.Found != 1 || !slices.Contains(read, "open") || !slices.Contains(read, "s0") || slices.Contains(read, "s1") {
		t.Errorf("%v were read, %+v", read, dream)
	}
}

// TestErasedConversationsAreForgotten forgets a conversation that is erased, and those that
// are not listed any more.
func TestErasedConversationsAreForgotten(t *testing.T) {
	d, c := folderOf(t, nil)
	var l library
	for i := range 5 {
		l.add(firn.ID(fmt.Sprintf("s%d", i)), "1", talk(someDay, "Bye for now, thanks.", "Bye."))
	}
	l.dream(t, d, c)
	if _, err := d.Erase(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	if text := fileText(t, d, "memory/"+seenFile); strings.Contains(text, "s1") || !strings.Contains(text, "s2") {
		t.Errorf("it remembers %s", text)
	}
	l.sessions = nil
	for i := range 5 {
		l.add(firn.ID(fmt.Sprintf("t%d", i)), "1", talk(someDay, "Bye for now, thanks.", "Bye."))
	}
	l.dream(t, d, c)
	if text := fileText(t, d, "memory/"+seenFile); strings.Contains(text, "s2") || !strings.Contains(text, "t2") {
		t.Errorf("it remembers %s", text)
	}
}

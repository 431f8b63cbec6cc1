package gateway

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev/internal/base/route"
	"firn.dev/wire"
)

// groupChat returns a gateway whose threads start with the history of their group.
func groupChat(t *testing.T) *gatedGateway {
	t.Helper()
	d := chat(t)
	setup := *d.setup.Load()
	setup.ThreadHistory = 1000
	setup.Resets = route.Resets{General: route.Policy{Mode: route.ModeIdle, Idle: 10 * time.Minute}}
	if err := d.Reload(setup); err != nil {
		t.Fatal(err)
	}
	return d
}

func inGroup(thread, text string) wire.Inbound {
	return wire.Inbound{Channel: "slack", PeerKind: "group", PeerID: "g", ThreadID: thread, Sender: "ada", Text: text, Wait: true}
}

// TestThreadOfAnOldConversation checks that the age of the copied messages does not count
// for resets of the thread.
func TestThreadOfAnOldConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := groupChat(t)
		defer d.shut()
		room := d.receive(inGroup("", "hello"))
		time.Sleep(time.Hour)
		thread := d.receive(inGroup("t1", "about that"))
		if thread.Reset != "" || thread.Session == room.Session {
			t.Errorf("the thread gave %+v", thread)
		}
		if text := d.userTexts(thread.Session); !strings.Contains(text, "hello") || !strings.Contains(text, "about that") {
			t.Errorf("the thread has\n%s", text)
		}
		time.Sleep(time.Hour)
		if later := d.receive(inGroup("t1", "later")); later.Reset != "idle" || strings.Contains(d.userTexts(later.Session), "hello") {
			t.Errorf("after the reset the thread gave %+v", later)
		}
	})
}

// TestThreadDuringATurn checks that a thread that starts during a turn of its conversation
// has its question and nothing of its unfinished answer.
func TestThreadDuringATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := groupChat(t)
		defer d.shut()
		d.receive(inboundFrom("ada", "hello"))
		hanging := inboundFrom("ada", "hang")
		hanging.Wait = false
		room := d.receive(hanging)
		synctest.Wait()
		if !d.running(room.Session) {
			t.Fatal("the conversation is idle")
		}
		in := inboundFrom("ada", "about that")
		in.ThreadID = "t1"
		thread := d.receive(in)
		if _, err := d.Stop(t.Context(), room.Session); err != nil {
			t.Fatal(err)
		}
		if text := d.userTexts(thread.Session); thread.Reply != "re: hang\nabout that" || !strings.Contains(text, "hello") || !strings.Contains(text, "hang") {
			t.Errorf("the thread answered %q and has\n%s", thread.Reply, text)
		}
	})
}

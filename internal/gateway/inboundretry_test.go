package gateway

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/wire"
)

// TestRetryAfterReset checks that a retry of a message goes to the session that holds
// it, even if that has expired; the next message starts a new session.
func TestRetryAfterReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newJobGateway(t, inMemory(), time.Now(), func(s *Setup) { s.Resets.General = route.Policy{Mode: route.ModeIdle, Idle: time.Hour} })
		defer o.close()
		write := func(id string) wire.Routed {
			t.Helper()
			out, err := o.Inbound(t.Context(), wire.Inbound{Channel: "mail", PeerKind: "direct", PeerID: "ada", Text: "hello", ID: id, Wait: true})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		for _, id := range []string{"mail-1", string(firn.NewEntryID())} {
			first := write(id)
			o.pass(5 * time.Hour)
			if again := write(id); again.Session != first.Session || !again.Repeated || again.Reset != "" {
				t.Errorf("sent again, %s gave %+v, at first %+v", id, again, first)
			}
			synctest.Wait() // until idle: a session in use is not reset
			if next := write(id + "-next"); next.Session == first.Session || next.Reset != "idle" {
				t.Errorf("a new message gave %+v", next)
			}
		}
	})
}

// TestRetryAfterSeveralResets checks that a retry is accepted once, however often and in
// whatever way the session of its key was replaced.
func TestRetryAfterSeveralResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newJobGateway(t, inMemory(), time.Now(), func(s *Setup) { s.Resets.General = route.Policy{Mode: route.ModeIdle, Idle: time.Hour} })
		defer o.close()
		write := func(text, id string) wire.Routed {
			t.Helper()
			out, err := o.Inbound(t.Context(), wire.Inbound{Channel: "mail", PeerKind: "direct", PeerID: "ada", Text: text, ID: id, Wait: true})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return out
		}
		ways := map[string]func(){
			"/new":       func() { write("/new", "") },
			"/new named": func() { write("/new", string(firn.NewEntryID())) },
			"keys reset": func() {
				if _, err := o.ResetKey(t.Context(), "agent:main:mail:direct:ada"); err != nil {
					t.Fatal(err)
				}
			},
			"idle": func() { o.pass(5 * time.Hour); write("something else", "") },
		}
		for _, way := range slices.Sorted(maps.Keys(ways)) {
			for _, id := range []string{"y1 " + way, string(firn.NewEntryID())} {
				first := write("hello", id)
				for n := range 3 {
					ways[way]()
					asked := len(o.asked)
					if again := write("hello", id); again.Session != first.Session || !again.Repeated || again.Reply != first.Reply || len(o.asked) != asked {
						t.Errorf("%s, %d times: sent again, %s gave %+v, at first %+v", way, n+1, id, again, first)
					}
				}
				began := write("/new and tell", "began "+id)
				ways[way]()
				if again := write("/new and tell", "began "+id); again.Session != began.Session || !again.Repeated {
					t.Errorf("%s: the message that started a session gave %+v, at first %+v", way, again, began)
				}
			}
		}
	})
}

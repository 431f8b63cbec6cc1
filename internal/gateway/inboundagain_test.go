package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	"firn/route"
	"firn/wire"
)

// TestSentAgainAfterAReset: who got no answer sends a message again under its id. If
// its session has become too old meanwhile, it is still the same message; the next
// one begins a new session.
func TestSentAgainAfterAReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := staff(t, inMemory(), time.Now(), func(s *Setup) { s.Resets.General = route.Policy{Mode: route.ModeIdle, Idle: time.Hour} })
		defer o.close()
		write := func(id string) wire.Routed {
			t.Helper()
			out, err := o.Inbound(t.Context(), wire.Inbound{Channel: "mail", PeerKind: "direct", PeerID: "ada", Text: "hello", ID: id, Wait: true})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		for _, id := range []string{"mail-1", "1m7hrv1bjk3g7"} {
			first := write(id)
			o.pass(5 * time.Hour)
			if again := write(id); again.Session != first.Session || !again.Repeated || again.Reset != "" {
				t.Errorf("sent again, %s came to %+v, at first to %+v", id, again, first)
			}
			synctest.Wait() // until nothing runs there: no session ends in the middle of use
			if next := write(id + "-next"); next.Session == first.Session || next.Reset != "idle" {
				t.Errorf("what is new came to %+v", next)
			}
		}
	})
}

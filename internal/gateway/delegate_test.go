package gateway

import (
	"context"
	"errors"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// TestRepliesStayWithinBounds checks that a reply is delivered only within the asker's
// bounds, because its destination is read from the log, which may have been imported.
func TestRepliesStayWithinBounds(t *testing.T) {
	o := newJobGateway(t, memstore.New(memstore.Options{}), time.Now(), func(*Setup) {})
	defer o.close()
	o.Options.Holder = func(context.Context, string) (route.Bounds, bool, error) {
		return route.BoundTo([]string{"other"}, nil), true, nil
	}
	victim, err := o.NewSession(t.Context(), wire.NewSession{Key: "agent:main:private"})
	if err != nil {
		t.Fatal(err)
	}
	child, err := o.NewSession(t.Context(), wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]struct {
		asker     Asker
		delivered bool
	}{
		"no caller":      {Asker{}, false},
		"a bound token":  {Asker{Token: "t", Bound: true}, false},
		"an outsider":    {Asker{Owner: true, Outside: true, Place: "agent:main:telegram:direct:eve"}, false},
		"the owner":      {Asker{Owner: true}, true},
		"a person there": {Asker{Owner: true, Outside: true, Place: "agent:main:private"}, true},
	} {
		ticket := newTicket(waiting{ID: firn.NewEntryID(), Asker: one.asker, From: &origin{Session: victim.ID, Depth: 1}})
		ticket.answer.Text = "from " + name
		err := o.replyTo(t.Context(), child.ID, ticket)
		text, heldErr := o.hasMessage(t.Context(), victim.ID, "reply-"+ticket.ID)
		if heldErr != nil {
			t.Fatal(heldErr)
		}
		if text != one.delivered || (err == nil) != one.delivered || err != nil && !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("the answer to %s was delivered: %v, %v", name, text, err)
		}
	}
}

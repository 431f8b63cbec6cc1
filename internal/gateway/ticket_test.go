package gateway

import (
	"errors"
	"slices"
	"testing"

	"firn.dev"
)

var allTicketEvents = []ticketEvent{eventResume, eventQueue, eventRecover, eventDeliver, eventAccept, eventStart, eventAnswer, eventFail}

// TestTicketStates visits every state that events can lead to, and checks what holds in
// each: outcomes are final, a stage is never left backward, and a message that is in the
// log stays there.
func TestTicketStates(t *testing.T) {
	seen := map[ticketState]bool{{}: true}
	for todo := []ticketState{{}}; len(todo) > 0; {
		s := todo[0]
		todo = todo[1:]
		for _, e := range allTicketEvents {
			next := s.after(e)
			switch {
			case s.finished() && next != s:
				t.Errorf("%+v is final, and event %d leads to %+v", s, e, next)
			case next.stage < s.stage && !s.finished():
				t.Errorf("event %d leads back from %+v to %+v", e, s, next)
			case s.inLog() && !next.inLog() && !next.finished():
				t.Errorf("event %d removes a message from the log: %+v, %+v", e, s, next)
			case next.resumes() && next.inQueue():
				t.Errorf("%+v is delivered and queued", next)
			}
			if !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	if want := 5 * 5; len(seen) != want { // every place in every stage
		t.Errorf("%d states are reached, want %d", len(seen), want)
	}
}

// TestTicketPlaces checks which events change the place of a message that is not finished.
func TestTicketPlaces(t *testing.T) {
	want := map[ticketPlace][4]ticketPlace{ // after resume, queue, recover, deliver
		placeNone:      {placeResume, placeQueued, placeRecovered, placeDelivered},
		placeResume:    {placeResume, placeResume, placeResume, placeDelivered},
		placeQueued:    {placeQueued, placeQueued, placeRecovered, placeDelivered},
		placeRecovered: {placeRecovered, placeRecovered, placeRecovered, placeDelivered},
		placeDelivered: {placeDelivered, placeDelivered, placeDelivered, placeDelivered},
	}
	for from, after := range want {
		for i, e := range []ticketEvent{eventResume, eventQueue, eventRecover, eventDeliver} {
			for _, stage := range []ticketStage{stageWaiting, stageAccepted, stageStarted} {
				if got := (ticketState{from, stage}).after(e); got != (ticketState{after[i], stage}) {
					t.Errorf("event %d leads from %d in stage %d to %+v, want %d", e, from, stage, got, after[i])
				}
			}
		}
	}
}

// TestTicketSignals checks when the channels of a ticket are closed, and that the first
// outcome counts.
func TestTicketSignals(t *testing.T) {
	closed := func(c chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	failure := errors.New("no")
	for name, c := range map[string]struct {
		do             []ticketEvent
		accepted, done bool
	}{
		"new":      {nil, false, false},
		"queued":   {[]ticketEvent{eventQueue}, false, false},
		"accepted": {[]ticketEvent{eventQueue, eventAccept, eventAccept}, true, false},
		"started":  {[]ticketEvent{eventStart, eventAccept}, true, false},
		"answered": {[]ticketEvent{eventAnswer, eventFail, eventStart}, true, true},
		"failed":   {[]ticketEvent{eventFail}, true, true},
	} {
		ticket := newTicket(waiting{ID: "m"})
		ticket.apply(c.do...)
		if closed(ticket.accepted) != c.accepted || closed(ticket.done) != c.done {
			t.Errorf("%s: accepted is %t, done is %t", name, closed(ticket.accepted), closed(ticket.done))
		}
		if slices.Contains(c.do, eventFail) != (ticket.state().stage == stageFailed) && name != "answered" {
			t.Errorf("%s: the state is %+v", name, ticket.state())
		}
	}
	ticket := newTicket(waiting{ID: "m"})
	ticket.finish(failure)
	ticket.finish(firn.ErrConflict)
	if ticket.err != failure {
		t.Errorf("the outcome is %v, want the first", ticket.err)
	}
}

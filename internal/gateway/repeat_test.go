package gateway

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"firn.dev"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// repeat sends a message again with its ID.
func (d *gatedGateway) repeat(id firn.EntryID, text, queue string) *ticket {
	d.t.Helper()
	t, err := d.accept(d.t.Context(), "s", wire.Turn{Text: text, ID: id, Queue: queue})
	if err != nil {
		d.t.Fatal(err)
	}
	return t
}

// TestRepeatedMessages checks that a message sent again while it is running, queued or
// answered is one message, in all queue modes.
func TestRepeatedMessages(t *testing.T) {
	for _, mode := range []string{"followup", "collect", "steer", "interrupt"} {
		synctest.Test(t, func(t *testing.T) {
			d := open(t, memstore.New(memstore.Options{}))
			defer d.shut()
			one, two := firn.NewEntryID(), firn.NewEntryID()
			first := d.repeat(one, "one", mode)
			<-d.asked
			if again := d.repeat(one, "one", mode); again != first {
				t.Errorf("%s: the running message got another ticket", mode)
			}
			d.gate <- struct{}{}
			<-first.done
			second := d.repeat(two, "two", mode)
			<-d.asked
			third := d.repeat(firn.NewEntryID(), "three", "followup")
			if again := d.repeat(third.ID, "three", mode); again != third {
				t.Errorf("%s: the queued message got another ticket", mode)
			}
			// Answered, while another turn runs.
			again := d.repeat(one, "one", mode)
			<-again.done
			if again.err != nil || again.answer.Text != "re: one" || again.answer.Entry != first.answer.Entry || again.answer.Message != one || again.answer.Usage != first.answer.Usage {
				t.Errorf("%s: the answer is %+v, %v, want %+v", mode, again.answer, again.err, first.answer)
			}
			d.gate <- struct{}{}
			d.gate <- struct{}{}
			<-second.done
			<-third.done
			d.want("user: one", "assistant: re: one", "user: two", "assistant: re: two", "user: three", "assistant: re: three")
		})
	}
}

// TestRepeatedWithForeignID checks that a retry of an answered message whose ID
// contains no time gets that answer.
func TestRepeatedWithForeignID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		defer d.shut()
		first := d.repeat("slack-1", "one", "followup")
		<-d.asked
		d.gate <- struct{}{}
		<-first.done
		again := d.repeat("slack-1", "one", "followup")
		<-again.done
		if again.err != nil || again.answer.Entry != first.answer.Entry || again.answer.Text != "re: one" {
			t.Errorf("the answer is %+v, %v, want %+v", again.answer, again.err, first.answer)
		}
		d.want("user: one", "assistant: re: one")
	})
}

// TestRepeatedAfterItWasCollected checks that messages answered together have the same
// answer.
func TestRepeatedAfterItWasCollected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		defer d.shut()
		first := d.repeat(firn.NewEntryID(), "one", "collect")
		<-d.asked
		second, third := d.repeat(firn.NewEntryID(), "two", "collect"), d.repeat(firn.NewEntryID(), "three", "collect")
		d.gate <- struct{}{}
		d.gate <- struct{}{}
		<-first.done
		<-second.done
		<-third.done
		before := d.log()
		for _, id := range []firn.EntryID{second.ID, third.ID} {
			again := d.repeat(id, "again", "collect")
			<-again.done
			if again.err != nil || again.answer.Text != third.answer.Text || again.answer.Message != id {
				t.Errorf("the answer is %+v, %v, want %+v", again.answer, again.err, third.answer)
			}
		}
		if after := d.log(); after != before {
			t.Errorf("the log was\n%s\nand is\n%s", before, after)
		}
	})
}

// TestRepeatedAfterItFailed checks that a retry of a failed or stopped message is answered.
func TestRepeatedAfterItFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		defer d.shut()
		id := firn.NewEntryID()
		first := d.repeat(id, "one", "")
		<-d.asked
		if _, err := d.Stop(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		<-first.done
		synctest.Wait()
		again := d.repeat(id, "one", "")
		d.gate <- struct{}{}
		<-again.done
		if again.err != nil || again.answer.Text != "re: one" {
			t.Errorf("the answer is %+v, %v", again.answer, again.err)
		}
		d.want("user: one", "assistant:  [aborted]", "assistant: re: one")
	})
}

// TestRepeatedAtOnce checks that concurrent retries are one message.
func TestRepeatedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		defer d.shut()
		id, answers := firn.NewEntryID(), make(chan string)
		for range 20 {
			go func() {
				a, err := d.Turn(t.Context(), "s", wire.Turn{Text: "one", ID: id})
				answers <- errorOr(a.Text, err)
			}()
		}
		<-d.asked
		d.gate <- struct{}{}
		for range 20 {
			if text := <-answers; text != "re: one" {
				t.Errorf("the answer is %q", text)
			}
		}
		d.want("user: one", "assistant: re: one")
	})
}

func errorOr(text string, err error) string {
	if err != nil {
		return err.Error()
	}
	return text
}

// TestRepeatedStream checks that a second listener of a turn receives its end, even if it
// was earlier.
func TestRepeatedStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		defer d.shut()
		turn := wire.Turn{Text: "one", ID: firn.NewEntryID()}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-d.asked; cancel() }()
		for _, err := range d.StreamTurn(ctx, "s", turn) {
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		d.gate <- struct{}{}
		for range 2 {
			var names []string
			for e, err := range d.StreamTurn(t.Context(), "s", turn) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, e.Name)
			}
			if len(names) == 0 || names[len(names)-1] != wire.TurnCompleted || slices.Contains(names, wire.TurnFailed) {
				t.Errorf("received %q", names)
			}
			synctest.Wait()
		}
		d.want("user: one", "assistant: re: one")
	})
}

package api

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/basetest"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// TestModelThatHangs blocks a model with queued messages, over HTTP and on files. Other
// sessions are served, and the session itself can be read and appended to; only its turns
// wait. After a stop it continues.
func TestModelThatHangs(t *testing.T) {
	st, err := filestore.Open(t.TempDir(), filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	d := open(t, st)
	local := client.InProcess(Owner(Handler(d.Gateway, Config{})))
	defer local.Close()
	c, err := client.New(client.Options{Transport: local})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	say := func(id firn.ID, text string, wait bool) (wire.Answer, error) {
		return c.Turn(ctx, id, wire.Turn{Text: text, Wait: &wait, Queue: "followup"})
	}
	_, err = say("s", "hang", false)
	must(err)
	<-d.asked
	for i := range 3 {
		answer, err := say("s", fmt.Sprint("behind ", i), false)
		must(err)
		if !answer.Queued {
			t.Errorf("message %d does not wait: %+v", i, answer)
		}
	}

	var others sync.WaitGroup
	for i := range 20 {
		id := firn.ID(fmt.Sprint("other", i))
		d.startSession(id)
		others.Go(func() {
			for k := range 5 {
				d.gate <- struct{}{}
				if answer, err := say(id, fmt.Sprint(k), true); err != nil || !strings.HasSuffix(answer.Text, fmt.Sprint(k)) {
					t.Errorf("session %s answered %q, %v", id, answer.Text, err)
				}
				if _, err := c.Append(ctx, id, store.Any, wire.NewEntries{User: "noted"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	others.Wait()

	s, err := c.Session(ctx, "s")
	must(err)
	if !s.Live || s.Queued != 3 {
		t.Errorf("the session that hangs is %+v", s)
	}
	_, err = c.Append(ctx, "s", store.Any, wire.NewEntries{User: "by the way"})
	must(err)
	_, err = c.Window(ctx, "s", "")
	must(err)
	// An answered session may be live for a moment longer.
	basetest.Eventually(t, "only the session that hangs is live", func() bool {
		page, err := c.SessionsPage(ctx, client.Query{Live: true})
		must(err)
		return len(page.Items) == 1 && page.Items[0].ID == "s"
	})
	if stopped, err := c.Stop(ctx, "s"); !stopped || err != nil {
		t.Errorf("stopping returned %t, %v", stopped, err)
	}
	d.gate <- struct{}{}
	if answer, err := say("s", "are you there?", true); err != nil || !strings.Contains(answer.Text, "are you there?") {
		t.Errorf("afterwards it answers %q, %v", answer.Text, err)
	}
	d.shut()
}

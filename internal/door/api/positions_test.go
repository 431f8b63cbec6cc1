package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// TestStoppedIsNotAFault stops a turn, and interrupts another with a newer message. Waiting
// clients receive a 409 with the kind "stopped", not an internal error.
func TestStoppedIsNotAFault(t *testing.T) {
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
	for _, by := range []struct {
		message string
		end     func()
	}{
		{"stopped", func() { c.Stop(t.Context(), "s") }},
		{"stopped by a newer message", func() {
			no := false
			d.gate <- struct{}{}
			c.Turn(t.Context(), "s", wire.Turn{Text: "newer", Queue: "interrupt", Wait: &no})
		}},
	} {
		failed := make(chan error, 1)
		go func() {
			_, err := c.Turn(t.Context(), "s", wire.Turn{Text: "hang"})
			failed <- err
		}()
		<-d.asked
		by.end()
		var p *wire.Problem
		if err := <-failed; !errors.As(err, &p) || p.Kind != wire.TurnStopped || p.Status() != http.StatusConflict || p.Message != by.message || p.Hint == "" {
			t.Errorf("it failed with %+v", err)
		}
	}
	<-d.asked // of the newer one
}

// TestPositionsAreChecked requests events after every position up to beyond the end of a
// session in several parts. Positions after an entry are accepted; all others are rejected
// with an error before a stream begins.
func TestPositionsAreChecked(t *testing.T) {
	st, err := filestore.Open(t.TempDir(), filestore.Options{Sync: filestore.SyncNever, PartSize: 400})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	d := open(t, st)
	// A position that was the end remains valid.
	good := map[firn.Pos]bool{store.Start: true}
	var last firn.Pos
	for i := range 8 {
		end, err := st.Append(t.Context(), "s", store.Any, firn.UserText(fmt.Sprint("message ", i)))
		if err != nil {
			t.Fatal(err)
		}
		good[end], last = true, end
	}
	for rec, err := range st.Read(t.Context(), "s", store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		good[rec.Next] = true
	}
	parts := 0
	for pos := range good {
		if err := d.CheckPosition(t.Context(), "s", pos); err != nil {
			t.Error(err)
		}
		if pos > 1<<20 {
			parts++
		}
		for _, near := range []firn.Pos{pos + 1, pos + 7, max(pos, 1) - 1} {
			if err := d.CheckPosition(t.Context(), "s", near); (err == nil) != good[near] {
				t.Errorf("position %d: %v", near, err)
			}
		}
	}
	if parts == 0 {
		t.Error("the session has only one part")
	}
	handler := Owner(Handler(d.Gateway, Config{}))
	for id, want := range map[string]string{"99999999999999": fmt.Sprintf("after the end, %d", last), "7": "in the middle of an entry", "x": "not a position"} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/sessions/s/events", nil)
		r.Header.Set("Last-Event-ID", id)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if body := w.Body.String(); w.Code != http.StatusBadRequest || !strings.Contains(body, want) || strings.Contains(body, "damaged") || strings.Contains(body, "changed underneath") {
			t.Errorf("Last-Event-ID %s: %d %s", id, w.Code, body)
		}
	}
}

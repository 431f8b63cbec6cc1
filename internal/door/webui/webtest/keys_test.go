package webtest

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"firn.dev/wire"
)

// TestKeysAreNotRequestedPerEvent renames a session many times: the pages of keys show the last
// title, and do not ask for each event.
func TestKeysAreNotRequestedPerEvent(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	key := "agent:main:telegram:direct:" + unlike("asked")[6:]
	id := s.newSession(t, unlike("Before"))
	s.run(t, "keys", "set", key, string(id))
	b := s.login(t)
	for _, path := range []string{"/keys?q=" + url.QueryEscape(key), "/keys/" + url.PathEscape(key)} {
		b.open(path)
		b.wait(`webtest.find("main a[href*='` + string(id) + `']")`)
		b.settled()
		const requests = `performance.getEntriesByType("resource").filter((r) => new URL(r.name).pathname.startsWith("/v1/keys")).length`
		before, start := get[int](b, requests), time.Now()
		last := ""
		for i := range 20 {
			last = unlike(fmt.Sprint("Name ", i))
			if _, err := s.client.Patch(t.Context(), id, wire.Patch{Title: &last}); err != nil {
				t.Fatal(err)
			}
		}
		b.see(last)
		n := get[int](b, requests) - before
		// A page asks again at most once in ten seconds, for no more than it has asked at first.
		if took := time.Since(start); n > before*(2+int(took/(10*time.Second))) {
			t.Errorf("%s asks for keys %d times for 20 events in %s, %d times at first", path, n, took, before)
		}
		b.withoutViolation()
	}
}

package webtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/wire"
)

// TestGroupedHits groups the hits of a search by session, and leaves out those of jobs.
func TestGroupedHits(t *testing.T) {
	t.Parallel()
	about := strings.Fields("apples bicycles candles dragons engines forests glaciers harbors islands")
	s, err := serveWith(func(home string) error {
		for k, key := range []string{"agent:main:main", "agent:main:direct:ann", "agent:main:cron:nightly"} {
			w := newScribe(firn.ID(fmt.Sprintf("grouped-%d", k)), longAgo, firn.Header{Agent: "main", Key: key})
			for n := range 3 {
				w.user(fmt.Sprintf("A persimmon and %s.%s", about[3*k+n], strings.Repeat(" "+about[3*k+n]+" again.", n*5+k)))
				w.says("Noted.")
			}
			w.title(fmt.Sprintf("Basket %d", k))
			if err := w.keep(home); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	basetest.Eventually(t, "the sessions can be searched", func() bool {
		found, err := s.client.Search(t.Context(), wire.SearchQuery{Query: "persimmon"})
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Items) == 9
	})
	b := s.login(t)
	b.open("/search?q=persimmon")
	b.see("9 hits")
	sessions := func() []string {
		return get[[]string](b, `[...document.querySelectorAll(".hit")].map((e) => e.dataset.row.split("/")[0])`)
	}
	if all := sessions(); len(slices.Compact(slices.Clone(all))) == 3 {
		t.Fatalf("the hits are grouped without a switch: %s", all)
	}
	b.click("button", "Group")
	b.click("menuitem", "by session")
	b.wait(`document.querySelectorAll(".hit.follows").length === 6 && document.querySelectorAll(".hit-title").length === 3`)
	if all := sessions(); len(slices.Compact(slices.Clone(all))) != 3 || all[8] != "grouped-2" {
		t.Errorf("the hits are not grouped by session with the job last: %s", all)
	}
	b.wait(`location.search.includes("group=session")`)
	b.settled()
	b.inBothLights()
	b.click("button", "Jobs and sub-agents")
	b.click("menuitem", "hidden")
	b.see("6 hits")
	b.click("button", "Jobs and sub-agents: hidden")
	b.click("menuitem", "only these")
	b.see("3 hits")
	b.withoutViolation()
}

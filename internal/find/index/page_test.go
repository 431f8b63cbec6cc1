package index_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/find/index"
	"firn.dev/store"
)

// TestPagesEqualList checks that all pages together are the list, for any order of lines
// in the file.
func TestPagesEqualList(t *testing.T) {
	f := newFixture(t)
	f.fill(40)
	f.refresh()
	for _, n := range []int{30, 7, 7, 12, 0, 39} { // lines out of order, and obsolete ones
		id := firn.ID(fmt.Sprintf("s%03d", n))
		f.append(f.store, id, message("more", 100+n))
		f.refresh()
	}
	f.createSession("old", -50) // newly found, but the oldest
	f.append(f.store, "twin-b", headed("twin-b", "main", "", 20))
	f.append(f.store, "twin-a", headed("twin-a", "main", "", 20)) // the same time
	f.refresh()
	for i := 1; i < 40; i += 9 {
		f.ok(f.store.Archive(f.ctx, firn.ID(fmt.Sprintf("s%03d", i))))
	}
	f.refresh()
	want := f.list(f.store, store.Query{})
	for i, limit := range []int{1, 2, 7, 50, 1, 2, 7, 50} {
		if i >= 4 { // again, from memory
			_, err := f.cat.Count(f.ctx, store.Query{})
			f.ok(err)
		}
		var got []store.Info
		after := index.Cursor{}
		for more := true; more; {
			page := f.page(store.Query{Limit: limit}, after)
			got = append(got, page.Infos...)
			more, after = page.More, reparsed(t, page.Next)
			if len(got) > len(want) {
				break
			}
		}
		if ids(got) != ids(want) {
			t.Errorf("pages of %d sessions:\n%s\nwant\n%s", limit, ids(got), ids(want))
		}
	}
}

func reparsed(t *testing.T, c index.Cursor) index.Cursor {
	t.Helper()
	parsed, err := index.ParseCursor(c.String())
	if err != nil || parsed != c {
		t.Errorf("%v is encoded %q and read as %v, %v", c, c.String(), parsed, err)
	}
	return parsed
}

func TestParseCursorRejects(t *testing.T) {
	for _, s := range []string{"x", "1", "1.2", "1.2.", "1.-2.a", "1.1000000000.a", "1.2.../x", "1.2.a b", "9223372036854775808.0.a", strings.Repeat("1", 400)} {
		if c, err := index.ParseCursor(s); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%.30q is parsed as %v, %v", s, c, err)
		}
	}
}

// TestPageVerifiesWhatItShows checks that pages match the files after changes that were not
// recorded.
func TestPageVerifiesWhatItShows(t *testing.T) {
	t.Run("from the file", func(t *testing.T) { verifiesWhatItShows(t, false) })
	t.Run("from memory", func(t *testing.T) { verifiesWhatItShows(t, true) })
}

func verifiesWhatItShows(t *testing.T, counted bool) {
	f := newFixture(t)
	f.fill(10)
	f.refresh()
	if counted {
		_, err := f.cat.Count(f.ctx, store.Query{})
		f.ok(err)
	}
	f.append(f.store, "s008", titled("changed", 50))
	f.ok(f.store.Remove(f.ctx, "s009", "test"))
	f.ok(f.store.Archive(f.ctx, "s006"))
	page := f.page(store.Query{Limit: 4}, index.Cursor{})
	f.wantIDs(page.Infos, "s008 s007 s005 s004")
	if page.Infos[0].Title != "changed" {
		t.Errorf("its title is %q", page.Infos[0].Title)
	}
	if !f.refresh().Empty() {
		t.Error("the changes that the page found were not written")
	}
	// A session that turns out to be older than the page is not on it.
	whole := f.read(f.transcript("s008"))
	early := strings.ReplaceAll(whole[:strings.Index(whole, "\n")+1], "T12:00:08", "T11:00:00")
	f.write(f.transcript("s008"), early)
	f.wantIDs(f.page(store.Query{Limit: 4}, index.Cursor{}).Infos, "s007 s005 s004 s003")
	f.sameLists()
}

// TestPageIsCheap checks that a page reads little of the catalog and no session.
func TestPageIsCheap(t *testing.T) {
	mem := faultfs.New()
	f := &fixture{T: t, ctx: t.Context(), home: "/home", fs: mem}
	f.open()
	const all = 1500
	for i := range all {
		f.createSession(firn.ID(fmt.Sprintf("s%04d", i)), i)
	}
	f.refresh()
	size := 0
	if b, err := mem.Get(f.path()); err == nil {
		size = len(b)
	}
	mem.ClearLog()
	f.wantIDs(f.page(store.Query{Limit: 2}, index.Cursor{}).Infos, "s1499 s1498")
	for _, line := range mem.Log(faultfs.Open, faultfs.Read) {
		if strings.Contains(line, ".jsonl") && !strings.Contains(line, "catalogue.jsonl") {
			t.Errorf("a page opens a session: %s", line)
		}
	}
	if changed := mem.Log(faultfs.Changing); len(changed) > 0 {
		t.Errorf("a page of unchanged sessions writes: %q", changed)
	}
	if reads := mem.Log(faultfs.Read); len(reads) != 2 {
		t.Errorf("a page takes %d reads of a catalog of %d bytes, want 2: %q", len(reads), size, reads)
	}
	if n := mem.Count(faultfs.Stat); n > 50 {
		t.Errorf("a page of 2 takes %d stats", n)
	}
}

// TestFind finds sessions by ID, title, key and ID prefix.
func TestFind(t *testing.T) {
	f := newFixture(t)
	f.append(f.store, "abcd-1111", headed("abcd-1111", "main", "agent:main:work", 1), titled("deploy", 1))
	f.append(f.store, "abcd-2222", headed("abcd-2222", "main", "agent:main:work", 2), titled("deploy", 2))
	f.append(f.store, "abce-3333", headed("abce-3333", "main", "", 3), titled("other", 3))
	f.append(f.store, "abce-3333-x", headed("abce-3333-x", "main", "", 4))
	f.append(f.store, "title-with", headed("title-with", "main", "", 5), titled("abcd-11", 5))
	f.ok(f.store.Archive(f.ctx, "abcd-1111"))
	cases := map[string]string{
		"abcd-1111":       "abcd-1111",
		"abcd-2":          "abcd-2222",
		"abcd":            "abcd-2222 abcd-1111",
		"abce-3333":       "abce-3333", // a whole ID that is a prefix of another
		"abce-33":         "abce-3333-x abce-3333",
		"abc":             "", // too short
		"ABCD-2":          "",
		"deploy":          "abcd-2222 abcd-1111",
		"other":           "abce-3333",
		"agent:main:work": "abcd-2222 abcd-1111",
		"abcd-11":         "title-with", // a whole title takes precedence over an ID prefix
		"":                "",
		"no such thing":   "",
		"../../etc":       "",
	}
	for name, want := range cases {
		infos, err := f.cat.Find(f.ctx, name)
		if want == "" {
			if !errors.Is(err, firn.ErrNotFound) {
				t.Errorf("%q finds %q, %v", name, ids(infos), err)
			}
			continue
		}
		if err != nil || ids(infos) != want {
			t.Errorf("%q finds %q, %v, want %q", name, ids(infos), err, want)
		}
	}
	f.write(f.transcript("just-came"), f.read(f.transcript("abce-3333")))
	if infos, err := f.cat.Find(f.ctx, "just-"); err != nil || ids(infos) != "just-came" {
		t.Errorf("a new session is found as %q, %v", ids(infos), err)
	}
}

func TestCheck(t *testing.T) {
	f := newFixture(t)
	f.fill(5)
	check := func() map[firn.ID]index.DisagreementKind {
		t.Helper()
		found, err := f.cat.Check(f.ctx)
		f.ok(err)
		kinds := make(map[firn.ID]index.DisagreementKind)
		for _, d := range found {
			kinds[d.ID] = d.Kind
		}
		return kinds
	}
	if found := check(); len(found) > 0 {
		t.Errorf("a missing catalog disagrees: %v", found)
	}
	f.refresh()
	if found := check(); len(found) > 0 {
		t.Errorf("a fresh catalog disagrees: %v", found)
	}
	before := f.read(f.path())
	f.createSession("new", 50)
	f.ok(f.store.Remove(f.ctx, "s000", "test"))
	f.append(f.store, "s001", message("more", 51))
	changeUnnoticed(f, "s002")
	want := map[firn.ID]index.DisagreementKind{"new": index.Missing, "s000": index.Gone, "s001": index.Stale, "s002": index.Wrong}
	if got := check(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("it finds %v, want %v", got, want)
	}
	if f.read(f.path()) != before {
		t.Error("a check wrote to the catalog")
	}
	f.ok(f.cat.Rebuild(f.ctx, nil))
	if found := check(); len(found) > 0 {
		t.Errorf("a rebuilt catalog disagrees: %v", found)
	}
	f.write(f.path(), before[:300])
	if got := check(); got[""] != index.Damaged || len(got) != 1 {
		t.Errorf("a damaged catalog: found %v", got)
	}
}

// changeUnnoticed changes a session without changing the size and modification time of
// its file.
func changeUnnoticed(f *fixture, id firn.ID) {
	f.Helper()
	info, err := os.Stat(f.transcript(id))
	f.ok(err)
	whole := f.read(f.transcript(id))
	f.write(f.transcript(id), strings.Replace(whole, "prompt of", "PROMPT OF", 1))
	f.ok(os.Chtimes(f.transcript(id), time.Time{}, info.ModTime()))
}

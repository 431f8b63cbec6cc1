package gateway

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

func TestResolve(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		title := func(name string) firn.Entry { return firn.NewEntry(&firn.Title{Name: name, Source: firn.SourceUser}) }
		for id, name := range map[firn.ID]string{
			"abcd-1": "weekly report", "abcd-2": "plan", "abce-3": "plan", "wxyz-4": "abcd-1",
			"hidden-5": "put away", "archived-6": "old", "long-7": "../../etc/passwd",
			"at-12": "@home repairs", "harb-13": "Harbor", "harb-14": "harbor lights at night",
		} {
			r.start(firn.Header{Session: id}, title(name))
		}
		r.start(firn.Header{Session: "keyed-8", Key: "agent:main:main"})
		r.start(firn.Header{Session: "keyed-9", Key: "agent:work:cli:direct:zoe", Agent: "work"})
		keyed, _ := store.As[store.Keyed](r.st)
		for key, id := range map[string]firn.ID{"agent:main:main": "keyed-8", "agent:work:cli:direct:zoe": "keyed-9"} {
			if err := keyed.Bind(r.ctx, key, id); err != nil {
				t.Fatal(err)
			}
		}
		r.write("hidden-5", firn.Hide("hidden-5"))
		remover, _ := store.As[store.Remover](r.st)
		if err := remover.Archive(r.ctx, "archived-6"); err != nil {
			t.Fatal(err)
		}
		r.start(firn.Header{Session: "spoken-11"}, firn.UserText("Implement spotter-gqc"))
		r.start(firn.Header{Session: "titled-15"}, firn.UserText("The release is on Friday."), title("Release on Friday"))
		r.start(firn.Header{Session: "binned-10"})
		if err := remover.Remove(r.ctx, "binned-10", ""); err != nil {
			t.Fatal(err)
		}

		good := map[string]firn.ID{
			"abcd-2":                     "abcd-2",
			"abcd-1":                     "abcd-1", // an ID before a title
			"weekly report":              "abcd-1",
			"↳ weekly report":            "abcd-1",  // as a sub-agent in a list
			"@home repairs":              "at-12",   // a title that begins like a key
			"harbor":                     "harb-13", // the whole title before the start of another
			"Harbor lights…":             "harb-14",
			"WEEKLY REPORT":              "abcd-1", // ignoring case
			"weekly rep…":                "abcd-1", // as truncated in a list
			"report":                     "abcd-1", // one of its words
			"report weekly":              "abcd-1",
			"ed-8":                       "keyed-8", // an ID suffix
			"Implement spotter-gqc":      "spoken-11",
			"spotter-gqc":                "spoken-11",
			"the release is on":          "titled-15", // the start of the first message, though it has a title
			"release is Friday":          "titled-15", // words of the first message, though the title lacks one
			"abce":                       "abce-3",
			"wxyz":                       "wxyz-4",
			"hidd":                       "hidden-5",
			"put away":                   "hidden-5",
			"archi":                      "archived-6",
			"../../etc/passwd":           "long-7", // only a title
			"@agent:main:main":           "keyed-8",
			"@main":                      "keyed-8",
			"@work:cli:direct:zoe":       "keyed-9",
			"@agent:work:cli:direct:zoe": "keyed-9",
		}
		for ref, want := range good {
			if got, err := r.Resolve(r.ctx, ref); err != nil || got != want {
				t.Errorf("%q means %q (%v), want %q", ref, got, err, want)
			}
		}
		bad := map[string]wire.Kind{
			"": wire.Invalid, "-": wire.Invalid, strings.Repeat("x", 5000): wire.Invalid, "@" + strings.Repeat("x", 1020): wire.NotFound,
			"@": wire.Invalid, "@a\x00b": wire.Invalid,
			"abc": wire.NotFound, "nobody": wire.NotFound, "../x": wire.NotFound, "..": wire.NotFound, "/etc/passwd": wire.NotFound,
			"abcd-1/../abcd-2": wire.NotFound, "@agent:main:nobody": wire.NotFound, "@../x": wire.NotFound, "weekly repor ts": wire.NotFound, "repor": wire.NotFound,
			"binned-10": wire.NotFound, "binn": wire.NotFound, "con": wire.NotFound, "x_part2": wire.NotFound,
			"abcd": wire.Ambiguous, "plan": wire.Ambiguous, "keyed-": wire.Ambiguous,
		}
		for ref, kind := range bad {
			_, err := r.Resolve(r.ctx, ref)
			isKind(t, fmt.Sprintf("%.40q", ref), err, kind)
		}
		_, err := r.Resolve(r.ctx, "plan")
		var p *wire.Problem
		if !errors.As(err, &p) || !strings.Contains(p.Hint, "abcd-2") || !strings.Contains(p.Hint, "abce-3") {
			t.Errorf("the hint names no candidates: %+v", p)
		}
	})
}

func TestHintIsLimited(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		for i := range 9 {
			r.start(firn.Header{Session: firn.ID(fmt.Sprint("same-", i))}, firn.NewEntry(&firn.Title{Name: "twin"}))
		}
		_, err := r.Resolve(r.ctx, "twin")
		var p *wire.Problem
		if !errors.As(err, &p) || !strings.HasSuffix(p.Hint, " and 4 more") {
			t.Errorf("the hint is %+v", p)
		}
	})
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"", "-", "abcd", "abcd-1", "@main", "@", "../x", "a title", "\x00", "x_part2", "CON", strings.Repeat("é", 600)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		r := fileRoom(t)
		r.start(firn.Header{Session: "abcd-1"}, firn.NewEntry(&firn.Title{Name: "a title"}))
		r.start(firn.Header{Session: "abcd-2", Key: "agent:main:main"})
		id, err := r.Resolve(r.ctx, ref)
		if err == nil {
			if id != "abcd-1" && id != "abcd-2" {
				t.Errorf("%q means %q", ref, id)
			}
			return
		}
		switch kind := wire.KindOf(err); kind {
		case wire.Invalid, wire.NotFound, wire.Ambiguous:
		default:
			t.Errorf("%q: kind %s: %v", ref, kind, err)
		}
		if len(err.Error()) > 2000 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
	})
}

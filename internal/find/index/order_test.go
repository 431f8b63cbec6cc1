package index

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestOrdered walks through lists in every order and group by pages: each has every session
// once, in order, and a page after the first sorts nothing again.
func TestOrdered(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var infos []store.Info
	for i := range 57 {
		info := store.Info{
			ID: firn.ID(fmt.Sprintf("session-%03d", i)), Title: fmt.Sprint("Title ", i*31%17), CWD: []string{"/w/b", "/w/a", ""}[i%3],
			Source: []string{"", "codex"}[i%2], Created: start.Add(time.Duration(i*7%57) * time.Hour), Updated: start.Add(time.Duration(i) * 5 * time.Hour),
			Bytes: int64(i * 13 % 29), Counts: store.Counts{Turns: i * 5 % 11, Cost: float64(i*3%7) / 100},
		}
		infos = append(infos, info)
	}
	for _, by := range []string{"", ByUpdated, ByCreated, ByTitle, ByTurns, BySize, ByCost} {
		for _, group := range []string{"", GroupProject, GroupSource, GroupDay} {
			for _, ascending := range []bool{false, true} {
				order := Order{By: by, Group: group, Ascending: ascending, Zone: time.UTC}
				if err := order.Check(); err != nil {
					t.Fatal(err)
				}
				var got []store.Info
				for cursor := ""; ; {
					page, err := PageInOrder(infos, order, cursor, 10)
					if err != nil || page.Total != len(infos) {
						t.Fatalf("%+v: %d, %v", order, page.Total, err)
					}
					got = append(got, page.Infos...)
					if cursor = page.Next; cursor == "" {
						break
					}
				}
				seen, groups := map[firn.ID]bool{}, []string{}
				for i := range got {
					seen[got[i].ID] = true
					if g := order.GroupOf(&got[i]); len(groups) == 0 || groups[len(groups)-1] != g {
						groups = append(groups, g)
					}
				}
				if len(got) != len(infos) || len(seen) != len(infos) {
					t.Errorf("%+v: %d rows of %d sessions", order, len(got), len(seen))
				}
				if distinct := slices.Clone(groups); len(slices.Compact(slices.Sorted(slices.Values(distinct)))) != len(groups) {
					t.Errorf("%+v: the groups are %q", order, groups)
				}
			}
		}
	}
	if _, err := PageInOrder(infos, Order{}, "nonsense", 10); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("a bad cursor: %v", err)
	}
	if err := (&Order{By: "color"}).Check(); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("a bad field: %v", err)
	}
}

// TestOrderedFollowsTheCatalog checks that a list in an order has new and changed sessions,
// and that the pages of an unchanged home read no row again.
func TestOrderedFollowsTheCatalog(t *testing.T) {
	home := t.TempDir()
	files, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(vfs.OS{}, filepath.Join(home, "index"), files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := Wrap(files, c)
	defer s.Close()
	add := func(text string) {
		if _, err := s.Append(t.Context(), firn.NewID(), store.Start, firn.UserText(text)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 {
		add(fmt.Sprintf("name %02d", 11-i))
	}
	titles := func() (all []string) {
		for cursor := ""; ; {
			page, err := c.Ordered(t.Context(), store.Query{Limit: 5}, Order{By: ByTitle, Ascending: true}, cursor)
			if err != nil {
				t.Fatal(err)
			}
			for _, info := range page.Infos {
				all = append(all, info.Prompt)
			}
			if cursor = page.Next; cursor == "" {
				return all
			}
		}
	}
	if got := titles(); len(got) != 12 || !slices.IsSorted(got) {
		t.Errorf("%q", got)
	}
	list := c.table.lists[0]
	if titles(); c.table.lists[0] != list {
		t.Error("an unchanged list was sorted again")
	}
	add("a first name")
	if got := titles(); len(got) != 13 || got[0] != "a first name" || c.table.lists[0] != list {
		t.Errorf("%q, the list was recomputed: %t", got, c.table.lists[0] != list)
	}
}

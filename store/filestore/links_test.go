package filestore_test

import (
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestHashLinksOfTwoWriters has two stores append in turn, and check the position between.
func TestHashLinksOfTwoWriters(t *testing.T) {
	home := t.TempDir()
	one, two := openHome(t, home, filestore.Options{}), openHome(t, home, filestore.Options{})
	for range 3 {
		for _, st := range []*filestore.Store{one, two} {
			if _, err := st.Append(t.Context(), "s1", store.Any, firn.UserText("a"), firn.UserText("b")); err != nil {
				t.Fatal(err)
			}
		}
		for _, st := range []*filestore.Store{one, two} { // a check of the position
			if _, err := st.Append(t.Context(), "s1", store.Any); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := readSession(one, "s1")
	must(t, err)
	must(t, r.checkChain())
	if r.links.Linked != 13 {
		t.Errorf("%d lines are linked, not 13", r.links.Linked)
	}
}

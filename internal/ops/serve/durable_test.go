package serve

import (
	"errors"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/store"
)

// TestAcknowledgedIsDurable simulates a power failure right after an append to a store
// opened with the settings. With the default settings, acknowledged data survives. With
// sync disabled it does not, which shows that the test can fail.
func TestAcknowledgedIsDurable(t *testing.T) {
	for text, durable := range map[string]bool{
		"": true, "[store]\nsync = \"turn\"": true, "[store]\nsync = \"always\"": true, "[store]\nsync = \"never\"": false,
	} {
		settings, disk := load(t, text).Store, faultfs.New()
		st, err := OpenStore(settings, "/home", StoreOptions{FS: disk})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Append(t.Context(), "s", store.Start, firn.UserText("My name is Ada.")); err != nil {
			t.Fatal(err)
		}
		after, err := OpenStore(settings, "/home", StoreOptions{FS: disk.Crash()})
		if err != nil {
			t.Fatal(err)
		}
		there := false
		for rec, err := range after.Read(t.Context(), "s", store.Start) {
			if err != nil && !errors.Is(err, firn.ErrNotFound) {
				t.Fatal(err)
			}
			there = there || rec.Glance.Kind == firn.KindMessage
		}
		if there != durable {
			t.Errorf("with %q, it exists after a power failure: %t", text, there)
		}
		if err := errors.Join(st.Close(), after.Close()); err != nil {
			t.Error(err)
		}
	}
}

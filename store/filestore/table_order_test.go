package filestore

import (
	"fmt"
	"testing"
)

// TestOrderOfChangedRows changes members of rows that do not concern their order: each key
// is still listed once.
func TestOrderOfChangedRows(t *testing.T) {
	t.Parallel()
	row := func(session string, used, count int) string {
		return fmt.Sprintf(`{"sessionId":%q,"updatedAt":%d,"count":%d}`, session, used, count)
	}
	var o tableOrder
	for count := range 4 {
		rows, err := parseObject([]byte(fmt.Sprintf(`{"agent:main:a":%s,"agent:main:b":%s}`, row("s1", 1000, count), row("s2", 2000, 7))))
		if err != nil {
			t.Fatal(err)
		}
		o.update(&document{object: rows})
		if len(o.sorted) != 2 || o.sorted[0].Key != "agent:main:b" || len(o.bySession["s1"]) != 1 {
			t.Fatalf("after %d changes the keys are %v", count, o.sorted)
		}
	}
}

// Package timertest lists days with clock changes, for tests of code that depends on local
// time.
package timertest

import (
	"testing"
	"time"
)

// Changes are days with clock changes in both directions, by an hour or half an hour, at
// night and at midnight.
var Changes = []struct{ Zone, Day string }{
	{"Europe/Berlin", "2026-03-29"}, {"Europe/Berlin", "2026-10-25"},
	{"America/New_York", "2026-03-08"}, {"America/New_York", "2026-11-01"},
	{"Australia/Lord_Howe", "2026-04-05"}, {"Australia/Lord_Howe", "2026-10-04"},
	{"America/Sao_Paulo", "2018-11-04"}, {"America/Sao_Paulo", "2018-02-18"}, // at midnight
	{"Asia/Beirut", "2026-03-29"}, {"Asia/Beirut", "2026-10-25"}, // at midnight too
	{"America/Scoresbysund", "2024-03-31"},                                 // two changes at once
	{"Antarctica/Troll", "2026-03-29"}, {"Antarctica/Troll", "2026-10-25"}, // two hours
	{"Asia/Kolkata", "2026-03-29"}, // never
}

// InZone loads a zone.
func InZone(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

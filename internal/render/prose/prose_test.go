package prose

import (
	"strings"
	"testing"
	"time"

	"firn.dev"
)

func TestWords(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	cases := []struct{ got, want string }{
		{Plural(0, "turn"), "0 turns"}, {Plural(1, "turn"), "1 turn"}, {Plural(1200, "turn"), "1,200 turns"},
		{Grouped(-1234567), "-1,234,567"}, {Grouped(999), "999"}, {Grouped(-999), "-999"},
		{Thousands(999), "999"}, {Thousands(1000), "1k"}, {Thousands(1940), "1.9k"}, {Thousands(2_500_000), "2.5M"},
		{Size(999), "999 B"}, {Size(1500), "1.5 kB"}, {Size(50_000_000), "50 MB"}, {Size(3_200_000_000), "3.2 GB"},
		{Share(350, 1000), "35% of 1k"}, {Share(350, 0), "350 tokens"}, {Percent(1, 0), "–"},
		{Ago(time.Time{}, now), "?"}, {Ago(now, now), "now"}, {Ago(now.Add(-5*time.Minute), now), "5m ago"},
		{Ago(now.Add(-3*time.Hour), now), "3h ago"}, {Ago(now.Add(-90*time.Hour), now), now.Add(-90 * time.Hour).Local().Format("2006-01-02")},
		{Clean("a\x1b[31mb\nc\u202e"), "a [31mb c "}, {CleanLines("a\tb\n\x07c"), "a\tb\n c"},
		{OneLine("  a \n b  ", 10), "a b"}, {OneLine("abcdef", 4), "abc…"},
		{Short("0123456789abcdef"), "0123456789abc"},
		{Shortest("0123456789abcdef", []firn.ID{"0123456789abcdef", "0123456789abcxyz"}), "0123456789abcd"},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestColumns(t *testing.T) {
	got := strings.Join(Columns([][]string{{"A", "BB", "C"}, {"aaa", "1", ""}, {"ä", "123"}}, "lr"), "\n")
	if want := "A     BB  C\naaa    1\nä    123"; got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}

// TestMachineIsShown checks that messages of hooks and timers are shown with their source.
func TestMachineIsShown(t *testing.T) {
	l, ok := ReadLine([]byte(`{"type":"custom_message","customType":"firn.machine","content":[{"type":"text","text":"Deployed 1.2."}],"display":true,"id":"a","by":"hook:deploy"}`))
	if got := strings.Join(l.body(false), "|"); !ok || got != "hook:deploy|Deployed 1.2." {
		t.Errorf("it is shown as %q", got)
	}
}

// TestSize is never off by a unit.
func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 1949: "1.9 kB", 9999: "10 kB", 12_345: "12 kB",
		999_499: "999 kB", 999_500: "1.0 MB", 52_400_000: "52 MB", 1 << 40: "1.1 TB",
	} {
		if got := Size(n); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
}

package mcpclient

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// provided is the form of names that all providers accept.
var provided = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func TestNames(t *testing.T) {
	used := make(names)
	seen := make(map[string]bool)
	for _, pair := range [][2]string{
		{"fs", "read_file"}, {"a__b", "c"}, {"a", "b__c"}, {"fs", "read file"}, {"fs", "read.file"}, {"ü", "ö"}, {"", ""},
		{"s", strings.Repeat("x", 100)}, {"s", strings.Repeat("x", 101)}, {strings.Repeat("s", 100), "x"},
	} {
		name, ok := used.assign(pair[0], pair[1])
		if !ok || !provided.MatchString(name) || seen[name] || !strings.HasPrefix(name, "mcp__") {
			t.Errorf("%q is %q", pair, name)
		}
		seen[name] = true
	}
	if !seen["mcp__fs__read_file"] {
		t.Error("a plain name is changed")
	}
	if name, ok := used.assign("fs", "read_file"); !ok || name == "mcp__fs__read_file" {
		t.Errorf("a second tool of the same name is %q", name)
	}
	if _, ok := used.assign("fs", "read_file"); ok {
		t.Error("a third tool of the same name is used")
	}
}

// TestNamesDoNotDependOnOtherServers checks that the name of a tool does not depend on the
// other servers.
func TestNamesDoNotDependOnOtherServers(t *testing.T) {
	for _, group := range [][][2]string{{{"a", "b__c"}, {"a__b", "c"}}, {{"a", "_b"}, {"a_", "b"}}} {
		if toolName(group[0][0], group[0][1]) == toolName(group[1][0], group[1][1]) {
			t.Errorf("%q and %q have the same name", group[0], group[1])
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("fs", "read_file")
	f.Add("a/b", "c d")
	f.Fuzz(func(t *testing.T, server, tool string) {
		if name := toolName(server, tool); !provided.MatchString(name) {
			t.Fatalf("%q %q is %q", server, tool, name)
		}
	})
}

func TestDelay(t *testing.T) {
	for failures, want := range []time.Duration{0, 0, time.Second, 2 * time.Second, 4 * time.Second} {
		if got := delay(failures); got != want {
			t.Errorf("after %d failures: %s", failures, got)
		}
	}
	if got := delay(1000); got != maxDelay {
		t.Errorf("after 1000 failures: %s", got)
	}
}

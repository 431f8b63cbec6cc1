package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"firn.dev/wire"
)

// binTalk makes a session and returns its id.
func binTalk(t *testing.T, p *pair, home, title string) string {
	t.Helper()
	var s wire.Session
	if err := json.Unmarshal([]byte(p.must(home, "", "new", "--title", title, "--json")), &s); err != nil {
		t.Fatal(err)
	}
	p.must(home, "", "append", string(s.ID), "--user", "hello from "+title)
	return string(s.ID)
}

// TestBin lists the trash bin, restores from it by title and ID, and empties it: on a home
// without a gateway, with one, and with sessions in an embedded server.
func TestBin(t *testing.T) {
	for name, start := range map[string]func(t *testing.T, home string) []string{
		"alone":  func(*testing.T, string) []string { return nil },
		"served": func(t *testing.T, home string) []string { startServe(t, home); return nil },
		"server": func(t *testing.T, _ string) []string { return []string{"--store", "nats-embedded:" + t.TempDir()} },
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			p := &pair{t: t}
			flags := start(t, home)
			do := func(args ...string) string { t.Helper(); return p.must(home, "", append(flags, args...)...) }
			refuse := func(want string, args ...string) {
				t.Helper()
				if r := p.run(home, "", append(flags, args...)...); r.code == 0 || !strings.Contains(r.errs, want) {
					t.Errorf("firn %v ended with %d: %s%s", args, r.code, r.out, r.errs)
				}
			}
			says := func(out string, want ...string) {
				t.Helper()
				for _, w := range want {
					if !strings.Contains(out, w) {
						t.Errorf("%q is missing:\n%s", w, out)
					}
				}
			}
			says(do("bin", "ls"), "the trash bin is empty")
			var a, b wire.Session
			for title, s := range map[string]*wire.Session{"alpha": &a, "beta": &b} {
				if err := json.Unmarshal([]byte(do("new", "--title", title, "--json")), s); err != nil {
					t.Fatal(err)
				}
				do("append", string(s.ID), "--user", "hello")
			}
			says(do("rm", "alpha", "--bin", "--reason", "too old"), "moved to the trash bin", "undo: "+strings.Join(append([]string{"firn"}, flags...), " ")+" restore ")
			says(do("bin", "ls"), string(a.ID), "alpha", "too old", "1 session in the trash bin")
			says(do("ls", "--hidden"), "in the trash bin: 1 session")
			says(do("purge", "alpha", "--plan"), "would erase session "+string(a.ID), "no changes made")
			refuse("is not in the trash bin", "bin", "restore", "beta")
			says(do("restore", "alpha"), "restored", "alpha")
			says(do("cat", "alpha"), "hello")
			do("rm", "alpha", "--bin")
			says(do("bin", "restore", string(a.ID)[:13]), "restored", "alpha")
			do("rm", "alpha", "--bin")
			do("rm", "beta", "--bin")
			refuse("--yes", "bin", "empty")
			says(do("bin", "empty", "--plan"), "would permanently erase 2 sessions", "no changes made")
			says(do("bin", "empty", "--older-than", "1d", "--yes"), "nothing to erase", "2 sessions kept")
			says(do("bin", "empty", "beta", "--yes"), "erased 1 session", "1 left in the trash bin")
			says(do("bin", "ls"), "alpha", "1 session in the trash bin")
			says(do("bin", "empty", "--yes"), "erased 1 session", "0 left in the trash bin")
			refuse("there is no session", "restore", string(a.ID))
			says(do("purge", string(a.ID), "--sure", string(a.ID)), "was already erased", "no changes made")
		})
	}
}

// TestMaintenanceReport checks the limits of a user with mostly protected sessions: the
// report lists the protected ones with reasons and the limits that stay exceeded.
func TestMaintenanceReport(t *testing.T) {
	home := t.TempDir()
	p := &pair{t: t}
	for _, key := range []string{"a", "b", "c", "d"} {
		id := binTalk(t, p, home, "talk "+key)
		p.must(home, "", "keys", "set", "agent:main:whatsapp:direct:"+key, id)
	}
	free := binTalk(t, p, home, "free")
	for setting, value := range map[string]string{"max_entries": "1", "max_disk_bytes": "100"} {
		p.must(home, "", "config", "set", "maintenance."+setting, value)
	}
	out := p.must(home, "", "maintenance")
	for _, want := range []string{`kept despite a limit: \d sessions?, (current|just used) \(`, `max_entries is still exceeded: 5 sessions of agent main, limit 1`, `max_disk_bytes is still exceeded: .* limit 100 B`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%s is missing:\n%s", want, out)
		}
	}
	p.must(home, "", "rm", free, "--bin")
	p.must(home, "", "config", "set", "maintenance.bin_max_bytes", "1")
	if out := p.must(home, "", "maintenance", "--enforce"); !strings.Contains(out, "bin_max_bytes  done") || !strings.Contains(out, "1 were permanently erased") {
		t.Errorf("got\n%s", out)
	}
	if out := p.must(home, "", "bin", "ls"); !strings.Contains(out, "the trash bin is empty") {
		t.Errorf("the trash bin has\n%s", out)
	}
}

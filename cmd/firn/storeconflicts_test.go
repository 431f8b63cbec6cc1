package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMigrateBack moves the sessions back: entries written to the other store are in files,
// and the home uses those again and rejects the other store.
func TestMigrateBack(t *testing.T) {
	p := newPair(t)
	p.writeLast()
	p.must(p.moved, "", "migrate", "--from", "nats-embedded:"+p.store, "--to", "files")
	p.same("the home that moved back", p.moved)
	p.both(messageLine("a4", "a3", "assistant", "and back"), "append", mainSession)
	p.same("the home that goes on", p.moved)
	p.must(p.moved, "", "verify")
	for _, args := range [][]string{{"new"}, {"serve"}, {"chat", "-p", "hello"}} {
		if r := p.run(p.moved, "", append([]string{"--store", "nats-embedded:" + p.store}, args...)...); r.code != 5 || !strings.Contains(r.errs, "firn migrate --from file: --to nats-embedded:") {
			t.Errorf("firn %v in the store that was left ended with %d: %s%s", args, r.code, r.out, r.errs)
		}
	}
	// And forth again: existing entries are not copied again.
	if out := p.must(p.moved, "", "migrate", "--from", "files", "--to", "nats-embedded:"+p.store); !strings.Contains(out, "1 grown") {
		t.Errorf("got\n%s", out)
	}
	if out := p.must(p.moved, "", "cat", mainSession); !strings.Contains(out, "and back") {
		t.Errorf("it shows\n%s", out)
	}
}

// TestStoreConflicts is which store counts if a flag, the environment, the settings and
// the record of the home do not agree.
func TestStoreConflicts(t *testing.T) {
	p := newPair(t)
	p.writeLast()
	moved := "nats-embedded:" + p.store
	toml := filepath.Join(p.moved, "firn.toml")
	set := func(url string) {
		t.Helper()
		if err := os.WriteFile(toml, []byte("[store]\nurl = \""+url+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(what string, r ran, code int, words ...string) {
		t.Helper()
		if r.code != code {
			t.Errorf("%s ended with %d, want %d: %s%s", what, r.code, code, r.out, r.errs)
		}
		for _, word := range words {
			if !strings.Contains(r.out+r.errs, word) {
				t.Errorf("the output of %s lacks %q: %s%s", what, word, r.out, r.errs)
			}
		}
	}
	note := "note: the sessions of " + p.moved + " are in " + moved
	expect("to read with --store", p.run(p.moved, "", "--store", "files", "cat", mainSession), 0, note, "the first of")
	expect("to verify with --store", p.run(p.moved, "", "--store", "files", "verify"), 0, note, "3 sessions")
	expect("to mirror with --store", p.run(p.moved, "", "--store", "files", "mirror", filepath.Join(t.TempDir(), "m")), 0, note, "3 sessions")
	expect("to write with --store", p.run(p.moved, "", "--store", "files", "append", mainSession, "--user", "lost"), 5, "are in "+moved, "hint: omit it")
	expect("the same store with --store", p.run(p.moved, "", "--store", moved, "cat", mainSession), 0, lastWord)
	set("file:")
	for _, args := range [][]string{{"ls"}, {"verify"}, {"grep", "x"}, {"mirror", t.TempDir()}, {"backup", "create", "-"}, {"doctor"}, {"new"}, {"serve"}, {"repair"}, {"status"}} {
		expect(fmt.Sprint("against the settings ", args), p.run(p.moved, "", args...), 5, "are in "+moved, "firn.toml:2", "hint: remove store.url from "+toml)
	}
	expect("the settings can be looked at", p.run(p.moved, "", "config", "get", "store.url"), 0, "file:")
	expect("a flag goes before the settings", p.run(p.moved, "", "--store", moved, "cat", mainSession), 0, lastWord)
	set(moved)
	expect("settings that agree", p.run(p.moved, "", "cat", mainSession), 0, lastWord)
	if err := os.Remove(toml); err != nil {
		t.Fatal(err)
	}
	expect("the record is where it comes from", p.run(p.moved, "", "config", "get", "store.url"), 0, moved)
	expect("a copy changes nothing", p.run(p.moved, "", "migrate", "--from", moved, "--to", "file:"+filepath.Join(t.TempDir(), "c"), "--copy"), 0, "keeps using "+moved)
	expect("a fresh home", p.run(t.TempDir(), "", "--store", moved, "cat", mainSession), 0, lastWord)
	expect("a home with files of its own", p.run(p.files, "", "--store", "nats-embedded:"+filepath.Join(t.TempDir(), "n"), "new"), 5, "own files", "firn migrate --from files")

	gone := p.store + "-gone"
	if err := os.Rename(p.store, gone); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"ls"}, {"new"}, {"verify"}, {"serve"}} {
		expect(fmt.Sprint("without its store ", args), p.run(p.moved, "", args...), 3, "that directory does not exist", "hint: restore it")
	}
	if _, err := os.Stat(p.store); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a store was created: %v", err)
	}
	if err := os.WriteFile(filepath.Join(p.moved, "store.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"ls"}, {"new"}, {"verify"}} {
		expect(fmt.Sprint("with a damaged record ", args), p.run(p.moved, "", args...), 8, "store.json")
	}
	expect("a damaged record and --store", p.run(p.moved, "", "--store", "nats-embedded:"+gone, "cat", mainSession), 0, lastWord, "store.json")
}

package doctor_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/fulltext"
	"firn.dev/internal/find/index"
	"firn.dev/internal/ops/doctor"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// realHome creates a home on disk with three sessions: one with a key, one in the trash bin and
// one of another agent.
func realHome(t testing.TB) (dir string, ids []firn.ID) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "home")
	st, err := filestore.Open(dir, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, key := range []string{"agent:main:main", "agent:main:old", "agent:other:main"} {
		id, err := store.LoadOrCreate(ctx, st, key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Append(ctx, id, store.Any, firn.UserText("hello"), firn.AssistantText("hi")); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := errors.Join(st.Remove(ctx, ids[1], "too old"), st.Archive(ctx, ids[2]), st.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, ids
}

func examine(t testing.TB, dir string, opts doctor.Options) *doctor.Report {
	t.Helper()
	target, err := doctor.OpenHome(nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	report, err := doctor.Examine(context.Background(), target, opts)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// roomy is a disk without findings.
func roomy(string) (doctor.Disk, error) { return doctor.Disk{Free: 1 << 40, Total: 1 << 41}, nil }

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestExamineFinds breaks a home in one way at a time.
func TestExamineFinds(t *testing.T) {
	type breaking = func(t *testing.T, dir string, ids []firn.ID)
	cases := map[string]struct {
		do   breaking
		want []string // severity, kind and a part of the message
	}{
		"nothing": {func(t *testing.T, dir string, _ []firn.ID) {
			write(t, filepath.Join(dir, "sync-target", "firn-sync.json"), "x")
			write(t, filepath.Join(dir, "damaged", "01234567", "sealed.json"), "{}")
		}, []string{"info table: in the trash bin"}},
		"permissions": {func(t *testing.T, dir string, ids []firn.ID) {
			must(t, os.Chmod(filepath.Join(dir, "agents", "main", "sessions", string(ids[0])+".jsonl"), 0o644))
			must(t, os.Chmod(filepath.Join(dir, "bin"), 0o755))
			must(t, os.Chmod(filepath.Join(dir, "agents", "main", "sessions", "sessions.json"), 0o400))
		}, []string{"warn permissions: mode 0644, expected 0600", "warn permissions: mode 0400", "warn permissions: mode 0755, expected 0700", "info table: in the trash bin"}},
		"a link": {func(t *testing.T, dir string, ids []firn.ID) {
			must(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "agents", "main", "sessions", "x.jsonl")))
		}, []string{"fault unreadable: a link to a file that does not exist", "warn symlink: symbolic link", "info table: in the trash bin"}},
		"strays": {func(t *testing.T, dir string, ids []firn.ID) {
			write(t, filepath.Join(dir, "notes.txt"), "x")
			write(t, filepath.Join(dir, "agents", "main", "extra"), "x")
			write(t, filepath.Join(dir, "agents", "main", "sessions", "README"), "x")
			write(t, filepath.Join(dir, "agents", "main", "sessions", ".sessions.json.tmp-ABC"), "x")
			write(t, filepath.Join(dir, "agents", "main", "sessions", "gone.jsonl.torn-7"), "x")
			write(t, filepath.Join(dir, "archive", "gone"), "")
		}, []string{
			"info stray: not a file of firn", "info stray: not a file of firn", "info leftover: a temporary file", "info stray: not a file of firn",
			"info stray: transcript that no longer exists", "info stray: archive marker of a session that does not exist", "info table: in the trash bin",
		}},
		"a name no session can have": {func(t *testing.T, dir string, ids []firn.ID) {
			write(t, filepath.Join(dir, "agents", "main", "sessions", "no such id.jsonl"), header+"\n")
		}, []string{"warn other-session: the header names session s1", "warn stray: not a valid session id", "info table: in the trash bin"}},
		"a session twice": {func(t *testing.T, dir string, ids []firn.ID) {
			write(t, filepath.Join(dir, "agents", "main", "sessions", string(ids[2])+".jsonl"), strings.Replace(header, "s1", string(ids[2]), 1)+"\n")
		}, []string{"fault twice: several agents (main, other)", "info table: in the trash bin"}},
		"a broken table": {func(t *testing.T, dir string, ids []firn.ID) {
			write(t, filepath.Join(dir, "agents", "main", "sessions", "sessions.json"), `{"agent:main:main": {`)
			write(t, filepath.Join(dir, "agents", "main", "sessions", "sessions.json.corrupt-20261115T000000Z"), `{`)
		}, []string{"fault table: cannot be read", "info table: moved here"}},
		"keys that point nowhere": {func(t *testing.T, dir string, ids []firn.ID) {
			write(t, filepath.Join(dir, "agents", "main", "sessions", "sessions.json"), `{"agent:main:a": {"sessionId": "nobody"}, "agent:main:b": 7, "agent:main:c": {"sessionId": "`+string(ids[0])+`"}}`)
		}, []string{"warn table: key agent:main:a points at session nobody, which does not exist", "warn table: key agent:main:b has no valid sessionId"}},
		"a trash bin without manifest": {func(t *testing.T, dir string, ids []firn.ID) {
			must(t, os.Remove(filepath.Join(dir, "bin", string(ids[1]), "manifest.json")))
		}, []string{"info table: in the trash bin", "fault bin: without a manifest"}},
		"a trash bin with another manifest": {func(t *testing.T, dir string, ids []firn.ID) {
			write(t, filepath.Join(dir, "bin", string(ids[1]), "manifest.json"), `{"session":"other","agent":"main","files":["other.jsonl"]}`)
		}, []string{"info table: in the trash bin", "fault bin: does not list its files"}},
		"an interrupted removal": {func(t *testing.T, dir string, ids []firn.ID) {
			name := string(ids[1]) + ".jsonl"
			must(t, os.Rename(filepath.Join(dir, "bin", string(ids[1]), name), filepath.Join(dir, "agents", "main", "sessions", name)))
		}, []string{"warn bin: interrupted: all files are in their original place"}},
		"a removed file that is gone": {func(t *testing.T, dir string, ids []firn.ID) {
			must(t, os.Remove(filepath.Join(dir, "bin", string(ids[1]), string(ids[1])+".jsonl")))
		}, []string{"warn table: which does not exist", "fault bin: but does not exist"}},
		"a removed file that came back": {func(t *testing.T, dir string, ids []firn.ID) {
			name := string(ids[1]) + ".jsonl"
			b, err := os.ReadFile(filepath.Join(dir, "bin", string(ids[1]), name))
			must(t, err)
			write(t, filepath.Join(dir, "agents", "main", "sessions", name), string(b))
		}, []string{"warn bin: in its original place"}},
		"an interrupted purge": {func(t *testing.T, dir string, ids []firn.ID) {
			write(t, filepath.Join(dir, "receipts", "a.json"), `{"session":"a","entries":["x","y"],"begun":"2026-11-15T02:40:15Z","bytes":0,"files":[]}`)
			write(t, filepath.Join(dir, "receipts", "b.json"), `{"session":"b","begun":"2026-11-15T02:40:15Z","done":"2026-11-15T02:40:16Z","bytes":9,"files":[]}`)
			write(t, filepath.Join(dir, "receipts", "c.json"), `nonsense`)
			write(t, filepath.Join(dir, "receipts", "d.txt"), `nonsense`)
		}, []string{"info table: in the trash bin", "warn receipt: purge of 2 entries was interrupted", "fault receipt: cannot be read", "info stray: not a file of firn"}},
		"a waiting log": {func(t *testing.T, dir string, ids []firn.ID) {
			write(t, filepath.Join(dir, "commit", "0000000000000001.log"), "firnlog1")
		}, []string{"info table: in the trash bin", "warn commit-log: 1 commit log of crashed processes"}},
		"a broken index": {func(t *testing.T, dir string, ids []firn.ID) {
			write(t, filepath.Join(dir, "index", "catalogue.jsonl"), "nonsense\n")
		}, []string{"info table: in the trash bin", "warn index: damaged"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir, ids := realHome(t)
			c.do(t, dir, ids)
			before := snapshot(t, dir)
			report := examine(t, dir, doctor.Options{Disk: roomy})
			got := report.Findings
			if len(got) != len(c.want) {
				t.Fatalf("found\n%s\nwant %q", report.Text(), c.want)
			}
			for i, want := range c.want {
				head, part, _ := strings.Cut(want, ": ")
				if fmt.Sprintf("%s %s", got[i].Severity, got[i].Kind) != head || !strings.Contains(got[i].Message, part) {
					t.Errorf("finding %d is %s %s: %s; want %s", i, got[i].Severity, got[i].Kind, got[i].Message, want)
				}
			}
			compare(t, before, snapshot(t, dir))
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestExamineDisk(t *testing.T) {
	dir, _ := realHome(t)
	report := examine(t, dir, doctor.Options{Disk: func(string) (doctor.Disk, error) {
		return doctor.Disk{Free: 10 << 20, Total: 1 << 40, Network: "NFS"}, nil
	}})
	got := kinds(report.Findings)
	check(t, "found", got, []string{"table", "disk-space", "network-disk"})
	if report := examine(t, dir, doctor.Options{}); report.Faults > 0 { // with the actual disk of this system
		t.Error(report.Text())
	}
}

// TestExamineIndex changes a session without updating the catalog.
func TestExamineIndex(t *testing.T) {
	dir, ids := realHome(t)
	ctx := context.Background()
	st, err := filestore.Open(dir, filestore.Options{})
	must(t, err)
	c, err := index.Open(vfs.OS{}, filepath.Join(dir, "index"), st, index.Options{})
	must(t, err)
	_, err = c.Refresh(ctx, nil)
	must(t, errors.Join(err, c.Close()))
	if got := kinds(examine(t, dir, doctor.Options{Disk: roomy}).Findings); !slices.Equal(got, []string{"table"}) {
		t.Errorf("found %q", got)
	}
	_, err = st.Append(ctx, ids[0], store.Any, firn.UserText("more"))
	must(t, errors.Join(err, st.Close()))
	check(t, "found", short(examine(t, dir, doctor.Options{Disk: roomy}).Findings), []string{"info table", "info index"})
}

// TestExamineOldIndex checks that indexes of another version, as after an upgrade, are
// reported without a warning.
func TestExamineOldIndex(t *testing.T) {
	dir, _ := realHome(t)
	st, err := filestore.Open(dir, filestore.Options{})
	must(t, err)
	defer func() { must(t, st.Close()) }()
	refresh := func() {
		c, err := index.Open(vfs.OS{}, filepath.Join(dir, "index"), st, index.Options{})
		must(t, err)
		_, err = c.Refresh(t.Context(), nil)
		must(t, errors.Join(err, c.Close()))
	}
	refresh()
	words := fulltext.New(vfs.OS{}, filepath.Join(dir, "index"), st, fulltext.Options{})
	must(t, words.Rebuild(t.Context()))
	must(t, words.Close())
	result := func() []string {
		report := examine(t, dir, doctor.Options{Disk: roomy})
		for _, f := range report.Findings {
			if f.Severity != doctor.Info {
				t.Errorf("found %+v", f)
			}
		}
		for _, c := range report.Checks {
			if c.Name == "index" {
				return []string{c.Result}
			}
		}
		return nil
	}
	check(t, "as it should be", result(), []string{"matches the sessions"})
	db, err := sql.Open("sqlite", filepath.Join(dir, "index", "words.db"))
	must(t, err)
	_, err = db.ExecContext(t.Context(), "pragma user_version = 1")
	must(t, errors.Join(err, db.Close()))
	check(t, "old words", result(), []string{"matches the sessions; the word index is from another version of firn and is rebuilt at the next search"})
	must(t, os.RemoveAll(filepath.Join(dir, "index", "words.db")))
	age(t, filepath.Join(dir, "index", "catalogue.jsonl"))
	check(t, "an old catalog", result(), []string{"1 disagreement"})
	findings := examine(t, dir, doctor.Options{Disk: roomy}).Findings
	if !slices.ContainsFunc(findings, func(f doctor.Finding) bool {
		return f.Kind == doctor.Index && strings.Contains(f.Message, "(outdated): it is of another version of firn") && f.Hint != ""
	}) {
		t.Errorf("found %+v", findings)
	}
	refresh()
	check(t, "rebuilt", result(), []string{"matches the sessions"})
}

// TestSearchModel checks that a model that cannot be used is a warning with a hint, and that
// a home without one has no such check.
func TestSearchModel(t *testing.T) {
	dir, _ := realHome(t)
	for model, want := range map[string]string{"": "", filepath.Join(t.TempDir(), "missing"): "cannot be used"} {
		report := examine(t, dir, doctor.Options{Disk: roomy, Model: model, ModelHint: "a hint"})
		got := ""
		for _, c := range report.Checks {
			if c.Name == "search model" {
				got = c.Result
			}
		}
		found := slices.ContainsFunc(report.Findings, func(f doctor.Finding) bool {
			return f.Kind == doctor.SearchModel && f.Severity == doctor.Warn && f.Hint == "a hint" && strings.Contains(f.Message, model)
		})
		if got != want || found != (want != "") || !report.OK() {
			t.Errorf("%s: %q, %+v", model, got, report.Findings)
		}
	}
}

// age turns a catalog into a valid one of an older format version.
func age(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	head, rest := b[:255], b[255:]
	old := regexp.MustCompile(`"catalogue":[0-9]+,`).ReplaceAll(head, []byte(`"catalogue":1,`))
	if len(old) != len(head) || bytes.Equal(old, head) {
		t.Fatalf("the head is %q", head)
	}
	const blank = `{"crc":"00000000",`
	sum := crc32.Checksum(old[len(blank):], crc32.MakeTable(crc32.Castagnoli))
	must(t, os.WriteFile(path, append(fmt.Appendf(nil, `{"crc":"%08x",%s`, sum, old[len(blank):]), rest...), 0o600))
}

// TestExamineSeesProcesses checks that the log of a process that has the home open is
// found.
func TestExamineSeesProcesses(t *testing.T) {
	dir, _ := realHome(t)
	path := filepath.Join(dir, "commit", "0000000000000001.log")
	write(t, path, "")
	f, err := vfs.OS{}.Open(path, vfs.Read)
	must(t, err)
	defer f.Close()
	if ok, err := f.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	check(t, "found", kinds(examine(t, dir, doctor.Options{Disk: roomy}).Findings), []string{"table", "in-use"})
}

// state is the content, mode and time of a file.
type state struct {
	sum  [32]byte
	mode fs.FileMode
	time int64
}

// snapshot records the state of all files and directories below a directory.
func snapshot(t testing.TB, dir string) map[string]state {
	t.Helper()
	all := make(map[string]state)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s := state{mode: info.Mode(), time: info.ModTime().UnixNano()}
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s.sum = sha256.Sum256(b)
		}
		all[path] = s
		return nil
	})
	must(t, err)
	return all
}

func compare(t testing.TB, before, after map[string]state) {
	t.Helper()
	if len(before) != len(after) {
		t.Errorf("there were %d files, there are %d", len(before), len(after))
	}
	for path, s := range before {
		if after[path] != s {
			t.Errorf("%s was changed", path)
		}
	}
}

// TestNothingIsChanged examines all known kinds of damage on a real disk, and each
// transcript with random bytes inserted.
func TestNothingIsChanged(t *testing.T) {
	dir, _ := realHome(t)
	n := 0
	add := func(parts ...string) {
		n++
		for i, part := range parts {
			name := fmt.Sprintf("w%03d.jsonl", n)
			if i > 0 {
				name = fmt.Sprintf("w%03d_part%d.jsonl", n, i+1)
			}
			write(t, filepath.Join(dir, "agents", "main", "sessions", name), part)
		}
	}
	for _, w := range damages() {
		add(w.parts...)
		for _, trouble := range []string{"\x00\x00\x00", "\n", "{", "\xff", `"`} {
			text := w.parts[0]
			add(append([]string{text[:len(text)/2] + trouble + text[len(text)/2:]}, w.parts[1:]...)...)
		}
	}
	if n < 200 {
		t.Fatalf("only %d transcripts", n)
	}
	before := snapshot(t, dir)
	target, err := doctor.OpenHome(nil, dir)
	must(t, err)
	ctx := context.Background()
	_, verifyErr := doctor.Verify(ctx, target, doctor.Options{})
	_, examineErr := doctor.Examine(ctx, target, doctor.Options{})
	_, planErr := doctor.MakePlan(ctx, target, doctor.Options{})
	must(t, errors.Join(verifyErr, examineErr, planErr))
	compare(t, before, snapshot(t, dir))

	_, err = doctor.Repair(ctx, target, doctor.Options{})
	must(t, err)
	again, err := doctor.Repair(ctx, target, doctor.Options{})
	must(t, err)
	if len(again.Steps) > 0 {
		t.Errorf("the second repair did %q", actions(again))
	}
}

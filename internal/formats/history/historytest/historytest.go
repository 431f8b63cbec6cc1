// Package historytest checks the guarantees of tools whose sessions are read as records.
package historytest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/adopt"
	"firn.dev/internal/formats/convert"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
)

// Run checks that a home is recognized and read, that a mirror of it has the same sessions,
// that reading changes nothing, and that every session can be handed to every tool that
// firn writes. It returns a text with all sessions, for comparison.
func Run(t *testing.T, tool dialect.Tool, home string) string {
	t.Helper()
	before := contents(t, home)
	if owner, ok := dialects.OwnerOf(home); !ok || owner.Name() != tool.Name() {
		t.Fatalf("%s is not recognized as a home of %s", home, tool.Name())
	}
	tree := dialect.Tree(tool, os.DirFS(home))
	text := describe(t, tool, tree)
	dir := Mirror(t, tool, home, filepath.Join(t.TempDir(), "mirror"))
	if mirrored := describe(t, tool, os.DirFS(dir)); mirrored != text {
		t.Errorf("the mirror differs from the home:\n%s\nhome:\n%s", mirrored, text)
	}
	for tr, err := range tool.Layout().Transcripts(tree) {
		if err == nil {
			handOn(t, tool, tree, tr)
		}
	}
	if after := contents(t, home); after != before {
		t.Errorf("reading changed the home:\n%s\nbefore:\n%s", after, before)
	}
	return text
}

// Mirror mirrors a home twice and returns the mirror's directory. The second run must
// change nothing.
func Mirror(t *testing.T, tool dialect.Tool, home, dir string) string {
	t.Helper()
	m := &adopt.Mirror{Tool: tool, Home: home, Dir: dir, FS: vfs.OS{}, Now: func() time.Time { return time.Now().Add(time.Hour) }}
	done, err := m.Run(t.Context())
	if err != nil || len(done.Failed) > 0 {
		t.Fatalf("mirror %s: %v %v", home, err, done.Failed)
	}
	if done, err = m.Run(t.Context()); err != nil || done.Copied+done.Grown+done.Kept+done.Repaired > 0 {
		t.Errorf("the second run: %v %+v", err, done)
	}
	return dir
}

// Growth mirrors a home after every step into one mirror, and compares the result with a
// mirror made only at the end.
func Growth(t *testing.T, tool dialect.Tool, home string, steps ...func()) {
	t.Helper()
	dir := t.TempDir()
	for _, step := range steps {
		step()
		Mirror(t, tool, home, filepath.Join(dir, "often"))
	}
	Mirror(t, tool, home, filepath.Join(dir, "once"))
	often, once := contents(t, filepath.Join(dir, "often", "firn-records")), contents(t, filepath.Join(dir, "once", "firn-records"))
	if often != once {
		t.Errorf("mirrored after every step:\n%s\nonce:\n%s", often, once)
	}
}

// Fuzz feeds lines to a scanner of the tool and checks its promises.
func Fuzz(f *testing.F, tool dialect.Tool, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := tool.Scanner(dialect.Origin{})
		var all []firn.Entry
		for line := range bytes.Lines(data) {
			entries, err := s.Scan(bytes.TrimRight(line, "\r\n"))
			if err == nil && len(entries) == 0 {
				t.Fatalf("the line %q has no entry", line)
			}
			all = append(all, entries...)
		}
		check(t, append(all, s.Finish()...))
	})
}

// Describe returns a text with the sessions of a home, sorted, including errors.
func Describe(t *testing.T, tool dialect.Tool, home string) string {
	t.Helper()
	return describe(t, tool, dialect.Tree(tool, os.DirFS(home)))
}

// describe returns a text with the sessions of a tree, sorted.
func describe(t *testing.T, tool dialect.Tool, tree fs.FS) string {
	t.Helper()
	var sections []string
	for tr, err := range tool.Layout().Transcripts(tree) {
		var b strings.Builder
		if err != nil {
			sections = append(sections, fmt.Sprintf("error: %v\n", err))
			continue
		}
		fmt.Fprintf(&b, "%s %q in %q", tr.ID, tr.Title, tr.CWD)
		if tr.Parent != "" {
			fmt.Fprintf(&b, " parent %s", tr.Parent)
		}
		if tr.Sub {
			b.WriteString(" sub")
		}
		if tr.Archived {
			b.WriteString(" archived")
		}
		b.WriteByte('\n')
		data, err := fs.ReadFile(tree, tr.Parts[0])
		if err != nil {
			sections = append(sections, fmt.Sprintf("%s  error: %v\n", b.String(), err))
			continue
		}
		all := scan(t, tool, tr, data)
		check(t, all)
		for _, e := range all[1:] {
			fmt.Fprintf(&b, "  %s\n", line(e))
		}
		sections = append(sections, b.String())
	}
	slices.Sort(sections)
	return strings.Join(sections, "")
}

// scan returns the entries of a transcript.
func scan(t *testing.T, tool dialect.Tool, tr dialect.Transcript, data []byte) []firn.Entry {
	t.Helper()
	if found, err := dialect.Detect(data); err != nil || found != tool.Name() {
		t.Errorf("the transcript is detected as %q, %v", found, err)
	}
	var all []firn.Entry
	s := tool.Scanner(dialect.Origin{Transcript: tr})
	for line := range bytes.Lines(data) {
		entries, err := s.Scan(bytes.TrimRight(line, "\n"))
		if err != nil {
			t.Errorf("scan %q: %v", line, err)
		}
		all = append(all, entries...)
	}
	return append(all, s.Finish()...)
}

// check checks that entries are a chain that begins with a header.
func check(t *testing.T, all []firn.Entry) {
	t.Helper()
	if len(all) == 0 {
		t.Fatal("no header")
	}
	if _, ok := all[0].Body.(*firn.Header); !ok {
		t.Fatalf("the first entry is %T", all[0].Body)
	}
	seen, last := make(map[firn.EntryID]bool), firn.EntryID("")
	for _, e := range all[1:] {
		if e.ID == "" || seen[e.ID] || e.Parent != last {
			t.Fatalf("entry %q has the parent %q after %q", e.ID, e.Parent, last)
		}
		seen[e.ID], last = true, e.ID
	}
}

// line describes an entry on one line.
func line(e firn.Entry) string {
	switch b := e.Body.(type) {
	case *firn.Message:
		var all []string
		for _, p := range b.Parts {
			all = append(all, part(p))
		}
		text := fmt.Sprintf("%s: %s", b.Role, strings.Join(all, " | "))
		if b.Role == firn.RoleAssistant {
			text += fmt.Sprintf(" (%s/%s %s", b.Provider, b.Model, b.StopReason)
			if b.Usage != nil {
				text += fmt.Sprintf(" %d+%d", b.Usage.Input, b.Usage.Output)
			}
			text += ")"
		}
		if b.Error != "" {
			text += " error " + b.Error
		}
		return text
	case *firn.CustomMessage:
		return fmt.Sprintf("context %s: %q", b.Type, firn.JoinText(b.Parts))
	case *firn.Compaction:
		return fmt.Sprintf("compaction: %q", b.Summary)
	case *firn.Title:
		return fmt.Sprintf("title: %q", b.Name)
	case *firn.Custom:
		return "custom " + b.Type
	}
	return fmt.Sprintf("%T", e.Body)
}

// part describes a part.
func part(p firn.Part) string {
	switch p := p.(type) {
	case firn.Text:
		return fmt.Sprintf("%q", p.Text)
	case firn.Thinking:
		return fmt.Sprintf("thinking %q", p.Text)
	case firn.ToolCall:
		return fmt.Sprintf("call %s %s %s", p.ID, p.Name, p.Arguments)
	case firn.ToolResult:
		var all []string
		for _, c := range p.Content {
			all = append(all, part(c))
		}
		kind := "result"
		if p.IsError {
			kind = "failed"
		}
		return fmt.Sprintf("%s %s %s %s", kind, p.CallID, p.Name, strings.Join(all, " "))
	case firn.Image:
		return fmt.Sprintf("image %s %s", p.MimeType, p.Data)
	case firn.OpaquePart:
		return fmt.Sprintf("opaque %s", p.Type)
	}
	return fmt.Sprintf("%T", p)
}

// handOn writes a session for every tool that firn writes.
func handOn(t *testing.T, tool dialect.Tool, tree fs.FS, tr dialect.Transcript) {
	t.Helper()
	data, err := fs.ReadFile(tree, tr.Parts[0])
	if err != nil {
		return
	}
	src := convert.Transcript(tool, dialect.Origin{Transcript: tr}, func() iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for line := range bytes.Lines(data) {
				if !yield(line, nil) {
					return
				}
			}
		}
	})
	for _, to := range dialects.All() {
		target := dialect.Target{Session: tr.ID, CWD: "/w", Title: tr.Title, Created: tr.Created, Updated: tr.Updated}
		if err := convert.Write(t.Context(), io.Discard, src, to, target, &convert.Report{}); err != nil {
			t.Errorf("hand %s to %s: %v", tr.ID, to.Name(), err)
		}
	}
}

// contents returns names, sizes and contents of the files in a directory.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		fmt.Fprintf(&b, "%s %d\n%s\n", rel, len(data), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Put writes a file below a directory.
func Put(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := (vfs.OS{}).MkdirAll(filepath.Dir(name)); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFile(vfs.OS{}, name, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// Equal compares texts.
func Equal(t *testing.T, got, want string) {
	t.Helper()
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

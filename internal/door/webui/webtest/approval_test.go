package webtest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"firn.dev/wire"
)

// TestApproval kills the gateway while a call waits for approval. The page of the next one
// shows the same question with its diff; the call runs after a click, and a refusal gives
// the agent why. What a call did to files can be taken back.
func TestApproval(t *testing.T) {
	t.Parallel()
	home, err := newHome()
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	file, err := os.OpenFile(filepath.Join(home, "firn.toml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString("\n[defaults]\nworkspace = '" + work + "'\nworkspace_write = true\n[defaults.approvals]\nmode = \"ask\"\n")
	if err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	first, err := serve(home)
	if err != nil {
		t.Fatal(err)
	}
	id := first.newSession(t, "Approving")
	for e, err := range first.client.StreamTurn(t.Context(), id, wire.Turn{Text: "write hello to hello.txt"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Name == wire.ApprovalRequested {
			break
		}
	}
	first.stop() // SIGKILL
	s, err := serve(home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	b := s.login(t)
	b.open(toSession(id))
	b.see("+hello")
	b.wait(a("button", "Always in this session"))
	if _, err := os.Stat(filepath.Join(work, "hello.txt")); err == nil {
		t.Fatal("the file was written before the answer")
	}
	b.click("button", "Allow")
	b.see("Done: created hello.txt")
	b.gone("+hello")
	// A rewind of the files shows its diff, and can be undone.
	b.menuOf("write hello to hello.txt", "Rewind files…")
	b.see("Delete " + filepath.Join(work, "hello.txt"))
	b.see("-hello")
	b.click("button", "Files only")
	b.see("1 file restored")
	if _, err := os.Stat(filepath.Join(work, "hello.txt")); err == nil {
		t.Error("the file is still there")
	}
	b.click("button", "Undo")
	b.fileHas(filepath.Join(work, "hello.txt"), "hello")
	b.gone("1 file restored")
	// If only the files can be rewound, they can be brought back too.
	get[int](b, failRewind)
	b.menuOf("write hello to hello.txt", "Rewind files…")
	b.see("-hello")
	b.click("button", "Files and conversation")
	b.see("it cannot be moved now")
	b.see("1 file restored")
	b.click("button", "Undo")
	b.fileHas(filepath.Join(work, "hello.txt"), "hello")
	b.gone("1 file restored")
	b.menuOf("write hello to hello.txt", "Rewind files…")
	b.see("-hello")
	b.click("button", "Files and conversation")
	b.see("1 file restored")
	b.gone("Done: created hello.txt")
	b.click("button", "Undo")
	b.see("Done: created hello.txt")
	b.fileHas(filepath.Join(work, "hello.txt"), "hello")
	other, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(other, "b.txt")
	b.send("write out to " + outside)
	b.see("Outside the workspace: " + outside)
	b.click("button", "Allow")
	b.see("Done: created " + outside)
	b.send("write more to more.txt")
	b.see("+more")
	b.fill("textbox", "Reason for denying", "not now")
	b.click("button", "Deny")
	b.see("the user denied it: not now")
	if data, err := os.ReadFile(filepath.Join(work, "hello.txt")); err != nil || string(data) != "hello" {
		t.Errorf("after the undo the file has %q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(work, "more.txt")); err == nil {
		t.Error("a refused write was made")
	}
}

// failRewind makes the page's next rewind of a conversation fail.
const failRewind = `(() => {
	const real = window.fetch;
	window.fetch = (to, ...more) => {
		const path = new URL(to.url ?? to, location.href).pathname;
		if (!path.endsWith("/rewind") || path.endsWith("/files/rewind")) return real(to, ...more);
		window.fetch = real;
		return Promise.resolve(new Response('{"error":{"kind":"busy","message":"it cannot be moved now"}}', { status: 409, headers: { "Content-Type": "application/json" } }));
	};
	return 1;
})()`

// fileHas waits until a file exists and has a content.
func (b *tab) fileHas(path, want string) {
	b.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		data, err := os.ReadFile(path)
		if err == nil && string(data) == want {
			return
		}
		select {
		case <-limit.C:
			b.fatalf("the file %s has %q, %v", path, data, err)
		case <-again.C:
		}
	}
}

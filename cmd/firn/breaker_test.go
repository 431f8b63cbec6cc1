package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// smallWindow writes settings with a provider whose model has a small window, and additional
// agent settings.
func (s *fakeProvider) smallWindow(t *testing.T, home string, window int, agents string) {
	t.Helper()
	s.model = ""
	text := fmt.Sprintf(`
[defaults]
model = "fake/small"
retries = 0
titles = false
%s
[defaults.memory_flush]
enabled = false
[memory]
enabled = false
[providers.fake]
kind = "openai-chat"
url = %q
[providers.fake.models.small]
window = %d
`, agents, s.URL, window)
	if err := os.WriteFile(filepath.Join(home, "firn.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// filler is n characters of text.
func filler(n int) string { return strings.Repeat("ten chars ", n/10) }

// TestBreakerOverHTTP exceeds the compaction limit with a summarizer that always fails: it
// is called three times in total, and show reports it.
func TestBreakerOverHTTP(t *testing.T) {
	home := t.TempDir()
	summaries := func(s *fakeProvider) (n int) {
		for _, r := range s.all() {
			if r.summary() {
				n++
			}
		}
		return n
	}
	server := newFakeProvider(t, func(r fakeRequest) (int, string) {
		if r.summary() {
			return http.StatusInternalServerError, "the summarizer is on fire"
		}
		return http.StatusOK, "Yes. " + filler(6000)
	})
	server.smallWindow(t, home, 8000, "[defaults.compaction]\nkeep_recent = 500\n")
	for i := range 12 {
		args := []string{"chat", "-p", "--no-tools", filler(6000)}
		if i > 0 {
			args = append([]string{"chat", "-c"}, args[1:]...)
		}
		_, notes, code := server.firn(t, home, home, args...)
		if code != 0 {
			t.Fatalf("turn %d ended with %d: %s", i, code, notes)
		}
		if shown, _, _ := server.firn(t, home, home, "show", "-"); (summaries(server) > 0) != strings.Contains(shown, "in a row: ") {
			t.Fatalf("after %d failures show printed\n%s", summaries(server), shown)
		}
	}
	if n := summaries(server); n != 3 {
		t.Errorf("the summarizer was called %d times", n)
	}
	shown, _, _ := server.firn(t, home, home, "show", "-")
	if !strings.Contains(shown, "paused until ") || !strings.Contains(shown, "after 3 failures in a row") || !strings.Contains(shown, "on fire") {
		t.Errorf("show printed\n%s", shown)
	}
	if _, text, _ := server.firnOutput(t, home, home, "/status\n", "chat", "-c"); !strings.Contains(text, "paused until ") {
		t.Errorf("/status printed\n%s", text)
	}
	if counted, _, _ := server.firn(t, home, home, "compactions", "-"); strings.Count(counted, "extractive") < 4 {
		t.Errorf("with the breaker open nothing was compacted:\n%s", counted)
	}
	status, _, _ := server.firn(t, home, home, "show", "-", "--json")
	if !strings.Contains(status, `"breaker"`) || !strings.Contains(status, `"open":true`) && !strings.Contains(status, `"open": true`) {
		t.Errorf("show --json printed\n%s", status)
	}
}

// TestOverflowIsOneSentence uses a provider that rejects requests at a limit far below its
// model's stated window: a message that is too large is rejected in one sentence with that
// number, and is not summarized.
func TestOverflowIsOneSentence(t *testing.T) {
	home := t.TempDir()
	server := newFakeProvider(t, func(r fakeRequest) (int, string) {
		if n := len(r.Body) / 4; n > 8192 {
			return http.StatusBadRequest, fmt.Sprintf("This model's maximum context length is 8192 tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", n)
		}
		return http.StatusOK, "Fine."
	})
	server.smallWindow(t, home, 200_000, "")
	if _, notes, code := server.firn(t, home, home, "chat", "-p", "--no-tools", "short"); code != 0 {
		t.Fatal(notes)
	}
	overflow := regexp.MustCompile(`the message is too large: about 12,000 tokens, and fake/small accepts at most 8,192 tokens and counted 12,\d{3}`)
	for _, config := range []int{200_000, 4_000} { // stated larger, and smaller, than it is
		server.smallWindow(t, home, config, "")
		before := len(server.all())
		out, notes, code := server.firn(t, home, home, "chat", "-c", "-p", "--no-tools", filler(48_000))
		if code == 0 || out != "" {
			t.Errorf("window %d: it answered %q", config, out)
		}
		first, _, _ := strings.Cut(notes, "\n")
		if !overflow.MatchString(first) {
			t.Errorf("window %d: got\n%s", config, notes)
		}
		if !strings.Contains(notes, "hint: send it in parts") {
			t.Errorf("window %d: the hint is missing in\n%s", config, notes)
		}
		if n := len(server.all()) - before; n != 1 {
			t.Errorf("window %d: the model was called %d times", config, n)
		}
	}
	// A window that is larger than stated accepts the message, which is reported.
	large := newFakeProvider(t, func(fakeRequest) (int, string) { return http.StatusOK, "Fine." })
	elsewhere := t.TempDir()
	large.smallWindow(t, elsewhere, 4_000, "")
	if out, notes, code := large.firn(t, elsewhere, elsewhere, "chat", "-p", "--no-tools", filler(48_000)); code != 0 || !strings.Contains(out, "Fine.") ||
		!strings.Contains(notes, "note: the message fills about 300% of the window; it was sent whole") {
		t.Errorf("with a larger window it ended with %d: %s %s", code, out, notes)
	}
	// The session continues: the large message is now old and is left out or summarized.
	server.smallWindow(t, home, 200_000, "")
	if out, notes, code := server.firn(t, home, home, "chat", "-c", "-p", "--no-tools", "and now?"); code != 0 || !strings.Contains(out, "Fine.") {
		t.Errorf("afterwards it ended with %d: %s %s", code, out, notes)
	}
}

// TestWindowWarnings fills a window without compaction: it warns when it becomes nearly
// full and when it is full, also with -p; and all commands agree.
func TestWindowWarnings(t *testing.T) {
	home := t.TempDir()
	server := newFakeProvider(t, func(fakeRequest) (int, string) { return http.StatusOK, filler(1000) })
	server.smallWindow(t, home, 4000, "[defaults.compaction]\nmode = \"off\"\n")
	var high, full, quiet int
	for i := range 12 {
		args := []string{"chat", "-c", "-p", "--no-tools", filler(600)}
		if i == 0 {
			args = []string{"chat", "-p", "--no-tools", filler(600)}
		}
		_, notes, code := server.firn(t, home, home, args...)
		switch {
		case code != 0:
			t.Fatalf("turn %d: %s", i, notes)
		case strings.Contains(notes, "oldest turns"):
			full++
		case strings.Contains(notes, "% full; /compact frees space"):
			high++
			if full > 0 {
				t.Errorf("turn %d: %s", i, notes)
			}
		default:
			quiet++
			if full > 0 {
				t.Errorf("turn %d is full, with the answer %q", i, notes)
			}
		}
	}
	if high != 1 || full < 3 || quiet < 3 {
		t.Errorf("%d turns were warned of, %d were full, %d quiet", high, full, quiet)
	}
	ls, _, _ := server.firn(t, home, home, "ls")
	shown, _, _ := server.firn(t, home, home, "show", "-")
	window, _, _ := server.firn(t, home, home, "window", "-")
	percent := strings.TrimLeft(strings.Fields(window)[0], "~")
	if !strings.Contains(ls, percent) || !strings.Contains(shown, percent) {
		t.Errorf("window printed %s, ls\n%s\nshow\n%s", percent, ls, shown)
	}
}

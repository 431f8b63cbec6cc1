package webtest

import (
	"flag"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

var takePictures = flag.Bool("pictures", false, "rewrite the pictures of docs/pictures")

// largestPicture is the maximum size in bytes of a picture in the repository.
const largestPicture = 200 << 10

// writeShow writes a home for the pictures.
func writeShow(home string) error {
	now := longAgo.AddDate(0, 0, 8) // three hours before the clock of the pages
	trip := newScribe("01k7q2hs-birthday-trip", now, firn.Header{CWD: "/home/you", Key: "agent:main:cli:you"})
	trip.title("Plan a birthday trip")
	trip.tags("family")
	trip.user("We want to go away for my birthday, three of us, two nights. By train from Berlin. Ideas?")
	fork := trip.says("Three that work well by train:\n\n| Where | Hours | Why |\n|---|---|---|\n| **Gdańsk** | 6 | the sea, amber, good food |\n| **Prague** | 4½ | a short way, much to see |\n| **Copenhagen** | 7 | harbor, design, not cheap |\n\nShall I look at one of them?")
	trip.label(fork, "three ideas")
	trip.user("Prague, please.")
	trip.says("Prague it is: four and a half hours along the Elbe, and the dining car is worth the trip.")
	trip.rewind(fork)
	trip.user("Gdańsk! What does it cost for three?")
	trip.uses("calc", `{"expression":"3*2*49.90 + 2*118"}`, "535.4")
	trip.says("About **535 €** for all of you:\n\n- trains: 3 × 2 × 49.90 € = 299.40 €\n- a flat for two nights: 236 €\n\nBook the trains soon; the cheap ones go first.")
	lock := newScribe("01k7hz4w-flaky-lock-test", now.Add(-30*time.Hour), firn.Header{CWD: "/home/you/src/wal"})
	lock.title("Fix the flaky lock test")
	lock.tags("go", "bug")
	for i := range 18 {
		first := lock.user(fmt.Sprintf("Run %d fails again. %s", i+1, strings.Repeat("Look at what the goroutines do. ", 3+i%4)))
		lock.uses("bash", `{"command":"go test -race -run TestLock ./..."}`, strings.Repeat("goroutine 7 [running]: main.lock()\n", 60+i*8))
		lock.says("The lock is freed before the file is closed:\n\n```go\nfunc (l *Lock) Close() error {\n\tdefer l.file.Close() // too late: the next holder may have it open\n\treturn l.unlock()\n}\n```\n\nI turn the two around.")
		if i == 7 || i == 13 {
			lock.compaction("## Goal\n\nMake `TestLock` pass under the race detector.\n\n## Done\n\n- found that the lock is freed too early\n- tried a mutex; too slow", first, 150_000)
		}
	}
	writers := []*transcriptWriter{trip, lock}
	for i, title := range []string{"Weekly report", "Rename the config keys", "Why is the build slow?", "Draft: talk about journals", "Tidy the backlog", "A poem for Ann", "Read the RFC again", "Compare two JSON parsers", "Questions for the interview", "What changed in 1.26", "Garden in March", "Recipe: dumplings"} {
		w := newScribe(firn.ID(fmt.Sprintf("01k6%02dxy-%s", 40-i, strings.ToLower(strings.ReplaceAll(strings.Trim(title, "?:"), " ", "-")[:4]))), now.Add(-time.Duration(40+i*31)*time.Hour), firn.Header{CWD: "/home/you/notes"})
		w.title(title)
		for j := range 1 + i%5 {
			w.user(fmt.Sprintf("%s: part %d.", title, j+1))
			w.says("Here is what I would write. " + strings.Repeat("It goes on a while. ", 300*(i%4)))
		}
		writers = append(writers, w)
	}
	for _, w := range writers {
		if err := w.keep(home); err != nil {
			return err
		}
	}
	return nil
}

// TestPictures takes the pictures of the documents (go test -pictures writes them) and checks
// that the existing ones look like the pages, as goldens do.
func TestPictures(t *testing.T) {
	t.Parallel()
	s, err := serveWith(writeShow)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	b := s.login(t)
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: frozen}); err != nil {
		t.Fatal(err)
	}
	const trip, lock = "01k7q2hs-birthday-trip", "01k7hz4w-flaky-lock-test"
	for _, p := range []struct {
		name, path, see string
		dark, phone     bool
	}{
		{name: "sessions", path: "/sessions", see: "Fix the flaky lock test"},
		{name: "session", path: toSession(trip), see: "Book the trains soon"},
		{name: "session-dark", path: toSession(lock), see: "I turn the two around", dark: true},
		{name: "phone", path: toSession(trip), see: "Book the trains soon", phone: true},
	} {
		b.dark(p.dark)
		width, height := 1280, 800
		if p.phone {
			width, height = 390, 780
		}
		b.size(int64(width), int64(height))
		b.open(p.path)
		b.see(p.see)
		b.settled()
		b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 2, 2))
		b.keepPicture(p.name, width, height)
	}
}

// keepPicture takes a picture and compares it with the one in the repository.
func (b *tab) keepPicture(name string, width, height int) {
	b.t.Helper()
	seen := b.capture()
	if n := colors(seen); n < 20 || seen.Bounds().Dx() != width || seen.Bounds().Dy() != height {
		b.t.Errorf("the picture of %s has %d colors and is %v large", name, n, seen.Bounds().Size())
	}
	path := filepath.Join("..", "..", "..", "..", "docs", "pictures", name+".png")
	if *takePictures {
		writePicture(b.t, path, seen)
	}
	kept := readGray(b.t, path)
	if share, first := difference(shrink(kept, goldenScale), shrink(seen, goldenScale)); share > goldenShare {
		b.t.Errorf("%.1f%% of the blocks of %s differ from the page, the first at %s; go test -pictures takes it again", 100*share, path, first)
	}
	if about, err := os.Stat(path); err != nil || about.Size() > largestPicture {
		b.t.Errorf("%s is larger than %d bytes: %v", path, largestPicture, err)
	}
}

// colors counts the colors of a picture, up to a hundred.
func colors(p image.Image) int {
	found := make(map[[3]uint32]bool)
	for y := p.Bounds().Min.Y; y < p.Bounds().Max.Y; y += 3 {
		for x := p.Bounds().Min.X; x < p.Bounds().Max.X && len(found) < 100; x += 2 {
			r, g, bl, _ := p.At(x, y).RGBA()
			found[[3]uint32{r, g, bl}] = true
		}
	}
	return len(found)
}

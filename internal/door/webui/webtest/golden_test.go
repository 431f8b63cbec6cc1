package webtest

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"firn.dev"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// A golden is a screenshot at a quarter of its size. It is compared by the mean brightness of
// blocks, so that fonts and antialiasing of another machine make no difference, but an
// element that was moved, added or removed does.
const (
	goldenScale = 4
	// goldenBlock is the side of a block in pixels of the golden, 24 in those of the page.
	goldenBlock = 6
	// goldenDiffers is the difference of two blocks, of 255, that counts.
	goldenDiffers = 14
	// goldenShare is the share of blocks that may differ.
	goldenShare = 0.015
	// goldenFar is the difference of two blocks that counts as far, goldenMostFar the number of
	// blocks that may differ so.
	goldenFar     = 40
	goldenMostFar = 3
	// goldenBytes is the maximum size of all goldens.
	goldenBytes = 400_000
)

// shrink returns a picture at a fraction of its size: the mean of each square of pixels.
func shrink(p image.Image, by int) *image.Gray {
	size := p.Bounds().Size().Div(by)
	small := image.NewGray(image.Rectangle{Max: size})
	for y := range size.Y {
		for x := range size.X {
			sum := 0
			for dy := range by {
				for dx := range by {
					at := p.Bounds().Min.Add(image.Pt(x*by+dx, y*by+dy))
					sum += int(color.GrayModel.Convert(p.At(at.X, at.Y)).(color.Gray).Y)
				}
			}
			small.SetGray(x, y, color.Gray{Y: uint8(sum / (by * by))})
		}
	}
	return small
}

// difference returns the share of blocks that differ between two pictures, and the place of
// the first one. If too many differ far, it is 1.
func difference(a, b *image.Gray) (float64, string) {
	if a.Bounds() != b.Bounds() {
		return 1, fmt.Sprintf("the sizes %v and %v", a.Bounds().Size(), b.Bounds().Size())
	}
	x, y := shrink(a, goldenBlock), shrink(b, goldenBlock)
	differ, far, first := 0, 0, ""
	for i := range x.Pix {
		if d := int(x.Pix[i]) - int(y.Pix[i]); d > goldenDiffers || d < -goldenDiffers {
			differ++
			if d > goldenFar || d < -goldenFar {
				far++
			}
			if first == "" {
				scale := goldenBlock * goldenScale
				first = fmt.Sprintf("%d, %d", i%x.Stride*scale, i/x.Stride*scale)
			}
		}
	}
	if far > goldenMostFar {
		return 1, first
	}
	return float64(differ) / float64(len(x.Pix)), first
}

// frozen sets the clock of the pages to a fixed time.
const frozen = `(() => {
	const at = Date.UTC(2026, 2, 10, 12), Real = Date;
	window.Date = class extends Real {
		constructor(...args) { args.length ? super(...args) : super(at); }
		static now() { return at; }
	};
})()`

// writeGolden writes the home of the goldens, all with fixed times.
func writeGolden(home string) error {
	main := newScribe("golden-main", longAgo, firn.Header{CWD: "/home/you/src/wal"})
	main.title("Fix the flaky lock test")
	main.tags("go")
	main.user("The lock test fails about once a day. Please find out why.")
	main.uses("bash", `{"command":"go test -race -run TestLock ./..."}`, "ok\n")
	main.says("The lock is freed before the file is closed:\n\n```go\nfunc (l *Lock) Close() error {\n\tdefer l.file.Close()\n\treturn l.unlock()\n}\n```\n\n- the next holder may have the file open\n- so I turn the two around")
	main.user("Thank you. And the trains to Gdansk?")
	main.says("Six hours, with one change.\n\n| Train | Hours |\n|---|---|\n| first | 4 |\n| second | 2 |")
	writers := []*transcriptWriter{main}
	for i := range 9 {
		w := newScribe(sessionID("golden", i), longAgo.Add(-time.Duration(i+1)*7*time.Hour), firn.Header{CWD: "/home/you/notes"})
		w.title(fmt.Sprintf("Notes about trains, part %d", i+1))
		w.user("What about the trains?")
		w.says("They are on time.")
		writers = append(writers, w)
	}
	for _, w := range writers {
		if err := w.keep(home); err != nil {
			return err
		}
	}
	return nil
}

// TestGoldens compares the main pages with their goldens (go test -pictures writes them).
func TestGoldens(t *testing.T) {
	t.Parallel()
	s := goldenServer(t)
	b := s.login(t)
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: frozen}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct {
		name, path, see string
		width, height   int64
	}{
		{"list", "/sessions", "Fix the flaky lock test", 1280, 800},
		{"session", "/sessions/golden-main", "Six hours", 1280, 800},
		{"search", "/search?q=trains", "on time", 1280, 800},
		{"usage", "/usage?since=all", "By project", 1280, 800},
		{"phone", "/sessions/golden-main", "Six hours", 390, 844},
	} {
		b.size(p.width, p.height)
		b.dark(false)
		b.open(p.path)
		b.see(p.see)
		b.settled()
		for _, dark := range []bool{false, true} {
			b.dark(dark)
			b.isDark(dark)
			name := p.name
			if dark {
				name += "-dark"
			}
			b.golden(name)
		}
	}
	b.movedElementDiffers()
	checkSizes(t, "testdata/golden", goldenBytes)
}

// shot takes a picture of the page at a quarter of its size.
func (b *tab) shot() *image.Gray {
	b.t.Helper()
	return shrink(b.capture(), goldenScale)
}

// capture takes a picture of the page in the fonts of the machine where browsers are tested.
// The name of the login, which is random, is not in it.
func (b *tab) capture() image.Image {
	b.t.Helper()
	b.useFonts()
	get[bool](b, `(document.activeElement?.blur(), document.querySelectorAll(".who").forEach((el) => (el.style.visibility = "hidden")), true)`)
	b.frames()
	raw, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.fatalf("taking a picture: %v", err)
	}
	seen, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		b.t.Fatal(err)
	}
	return seen
}

// useFonts sets the fonts of pictures.
func (b *tab) useFonts() {
	b.t.Helper()
	get[bool](b, `(document.documentElement.style.setProperty("--sans", "DejaVu Sans"), document.documentElement.style.setProperty("--mono", "DejaVu Sans Mono"), true)`)
	b.frames()
}

// golden compares the page with a golden.
func (b *tab) golden(name string) {
	b.t.Helper()
	seen := b.shot()
	path := filepath.Join("testdata", "golden", name+".png")
	if *takePictures {
		writePicture(b.t, path, seen)
	}
	share, first := difference(readGray(b.t, path), seen)
	if share > goldenShare {
		writePicture(b.t, filepath.Join(b.t.ArtifactDir(), name+".png"), seen)
		b.t.Errorf("%s: %.1f%% of the blocks differ from %s, the first at %s; go test -pictures takes it again", name, 100*share, path, first)
	}
}

// movedElementDiffers checks that a golden fails if an element moves or is missing, and that
// it passes if text is drawn less sharply.
func (b *tab) movedElementDiffers() {
	b.t.Helper()
	b.size(1280, 800)
	b.dark(false)
	b.open("/sessions/golden-main")
	b.settled()
	before := b.shot()
	if share, _ := difference(before, b.shot()); share != 0 {
		b.t.Errorf("two pictures of one page differ by %.1f%%", 100*share)
	}
	for _, c := range []struct {
		element, property, value string
		passes                   bool
	}{
		{".log-column", "filter", "blur(1px)", true},
		{".log-column", "font-weight", "420", true},
		{".composer", "transform", "translateY(-90px)", false},
		{".side", "visibility", "hidden", false},
		{".outline", "visibility", "hidden", false},
		{".session-head", "padding-top", "60px", false},
		{".log-column", "transform", "translateY(-200px)", false},
	} {
		style := fmt.Sprintf("document.querySelector(%s).style", quote(c.element))
		get[bool](b, fmt.Sprintf("(%s.setProperty(%s, %s), true)", style, quote(c.property), quote(c.value)))
		if share, _ := difference(before, b.shot()); (share <= goldenShare) != c.passes {
			b.t.Errorf("%s with %s: %s: %.1f%% of the blocks differ", c.element, c.property, c.value, 100*share)
		}
		get[bool](b, fmt.Sprintf("(%s.removeProperty(%s), true)", style, quote(c.property)))
	}
}

// writePicture writes a picture with few bytes.
func writePicture(t *testing.T, path string, p image.Image) {
	t.Helper()
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, p); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readGray reads a picture in shades of gray.
func readGray(t *testing.T, path string) *image.Gray {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -pictures takes it)", err)
	}
	p, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return grayOf(p, p.Bounds())
}

// grayOf returns a part of a picture in shades of gray.
func grayOf(p image.Image, part image.Rectangle) *image.Gray {
	gray := image.NewGray(image.Rectangle{Max: part.Size()})
	draw.Draw(gray, gray.Bounds(), p, part.Min, draw.Src)
	return gray
}

// checkSizes fails if the pictures of a directory are larger than a limit in all.
func checkSizes(t *testing.T, dir string, most int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.png"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no pictures: %v", dir, err)
	}
	var sum int64
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	if sum > most {
		t.Errorf("the pictures of %s are %d bytes, want at most %d", dir, sum, most)
	}
}

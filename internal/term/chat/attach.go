package chat

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"time"

	"firn.dev/internal/base/sentfiles"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/local"
	"firn.dev/wire"
)

// attachments are the images whose placeholders may be in the input line. It is safe for
// concurrent use.
type attachments struct {
	mu     sync.Mutex
	labels []string
	images map[string]local.Image
}

// maxPending is the number of images that are kept.
const maxPending = 20

// add keeps an image and returns its placeholder.
func (a *attachments) add(image local.Image) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := prose.OneLine(strings.NewReplacer("[", "", "]", "").Replace(image.Name), 60)
	label := "[image " + name + "]"
	for n := 2; ; n++ {
		if old, ok := a.images[label]; !ok || string(old.Data) == string(image.Data) {
			break
		}
		label = fmt.Sprintf("[image %s #%d]", name, n)
	}
	if a.images == nil {
		a.images = make(map[string]local.Image)
	}
	if _, ok := a.images[label]; !ok {
		a.labels = append(a.labels, label)
	}
	a.images[label] = image
	if len(a.labels) > maxPending {
		delete(a.images, a.labels[0])
		a.labels = a.labels[1:]
	}
	return label
}

// in returns the images whose placeholders a text has, in the order of the text.
func (a *attachments) in(text string) []local.Image {
	a.mu.Lock()
	defer a.mu.Unlock()
	var images []local.Image
	for rest := text; ; {
		at, label := -1, ""
		for l := range a.images {
			if i := strings.Index(rest, l); i >= 0 && (at < 0 || i < at) {
				at, label = i, l
			}
		}
		if at < 0 {
			return images
		}
		images = append(images, a.images[label])
		rest = rest[at+len(label):]
	}
}

// pasted turns pasted paths of image files into placeholders. Terminals paste the path of a
// file that is dropped on them.
func (c typing) pasted(text string) (label string) {
	var labels []string
	for _, name := range c.o.Local.Dropped(text) {
		image, err := c.o.Local.Image(name)
		if err != nil {
			return ""
		}
		labels = append(labels, c.attached.add(image))
	}
	return strings.Join(labels, " ")
}

// clipboardWait is the time limit for reading the clipboard.
const clipboardWait = 3 * time.Second

// pasteImage inserts the image on the clipboard.
func (c typing) pasteImage(ctx context.Context) {
	if c.term == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, clipboardWait)
	defer cancel()
	image, err := c.o.Local.Clipboard(ctx)
	if err != nil {
		c.term.Hint(prose.OneLine(err.Error(), 200))
		return
	}
	c.term.Insert(c.attached.add(image))
}

// maxAttached is the number of bytes of text files that are sent with one message.
const maxAttached = 512 << 10

// compose makes a turn of a typed message: files that it names with @ are sent with it, and
// images whose placeholders it has.
func (c typing) compose(text string) wire.Turn {
	t := wire.Turn{Text: text}
	if !c.o.Terminal.In {
		return t
	}
	for _, image := range c.attached.in(text) {
		t.Images = append(t.Images, wireImage(image))
	}
	room := maxAttached
	for _, name := range c.o.Local.Mentions(text) {
		a, err := c.o.Local.Attach(name)
		if room -= len(a.Text); err == nil && room < 0 {
			err = fmt.Errorf("more than %s in one message", prose.Size(maxAttached))
		}
		if err != nil {
			c.screen.note("· not sent: %s: %s", prose.Clean(name), prose.OneLine(err.Error(), 120))
			continue
		}
		cut := ""
		if a.Cut {
			cut = ", the first " + prose.Size(int64(len(a.Text)))
		}
		c.screen.note("· sent %s (%s%s)", prose.Clean(name), prose.Size(a.Size), cut)
		if a.Image != nil {
			t.Images = append(t.Images, wireImage(*a.Image))
			continue
		}
		t.Text = sentfiles.Add(t.Text, sentfiles.Block(a.Name, a.Sent()))
	}
	return t
}

func wireImage(image local.Image) wire.Image {
	return wire.Image{MimeType: image.MimeType, Data: base64.StdEncoding.EncodeToString(image.Data)}
}

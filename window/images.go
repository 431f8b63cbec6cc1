package window

import (
	"fmt"
	"strings"

	"firn.dev"
)

// ImageLimits bounds the images of one request. Zero means no bound.
type ImageLimits struct {
	// Count is the maximum number of images; the newest are kept.
	Count int
	// Bytes bounds the base64 of one image, TotalBytes that of all images.
	Bytes, TotalBytes int64
	// Side bounds width and height in pixels.
	Side int
}

// images keeps the images that the API accepts and replaces the others with a text note. It
// corrects wrong media types, since APIs check the data.
var images = Rule{"images", func(items []Item, p *Pass) []Item {
	refusals := p.judgeImages(items)
	if len(refusals) == 0 {
		return items
	}
	n := 0
	replace := func(it *Item, part firn.Part) (firn.Part, verdict) {
		image, ok := part.(firn.Image)
		if !ok {
			return part, keep
		}
		n++
		if why := refusals[n-1]; why != "" {
			p.Note(it, "image left out: %s", why)
			return firn.Text{Text: stub(image, why)}, change
		}
		if kind := imageType(image); kind != image.MimeType {
			p.Note(it, "image of type %q sent as %s, its real type", image.MimeType, kind)
			image.MimeType = kind
			return image, change
		}
		return part, keep
	}
	return editAll(items, replace)
}}

// judgeImages returns for each image, in order, the reason why it cannot be sent, or an
// empty string if it can.
func (p *Pass) judgeImages(items []Item) []string {
	var refusals []string
	var sizes []int64
	each := func(part firn.Part) {
		if image, ok := part.(firn.Image); ok {
			refusals = append(refusals, p.profile.Images.refuse(image))
			sizes = append(sizes, int64(len(image.Data)))
		}
	}
	for i := range items {
		for _, part := range items[i].Message.Parts {
			each(part)
			if result, ok := part.(firn.ToolResult); ok {
				for _, inner := range result.Content {
					each(inner)
				}
			}
		}
	}
	p.boundImages(refusals, sizes)
	return refusals
}

// boundImages rejects the oldest images if a request has too many or they are too large
// together.
func (p *Pass) boundImages(refusals []string, sizes []int64) {
	count, total, full := 0, int64(0), ""
	for i := len(refusals) - 1; i >= 0; i-- {
		if refusals[i] != "" {
			continue
		}
		count++
		total += sizes[i]
		switch limit := p.profile.Images.TotalBytes; {
		case full != "":
		case p.maxImages < 0:
			full = "images are not sent"
		case p.maxImages > 0 && count > p.maxImages:
			full = fmt.Sprintf("only the newest %d are sent", p.maxImages)
		case limit > 0 && total > limit:
			full = fmt.Sprintf("only the newest %s of images are sent", bytesText(limit))
		}
		refusals[i] = full
	}
}

// refuse returns the reason why an image can never be sent, or an empty string if it can.
func (l ImageLimits) refuse(image firn.Image) string {
	switch {
	case !sendable[imageType(image)]:
		return "not a PNG, JPEG, GIF or WebP image"
	case l.Bytes > 0 && int64(len(image.Data)) > l.Bytes:
		return "larger than " + bytesText(l.Bytes)
	case image.Data == "" || !isBase64(image.Data):
		return "its data is damaged"
	}
	if l.Side > 0 {
		if w, h := imageSize(image.Data); w > l.Side || h > l.Side {
			return fmt.Sprintf("%dx%d pixels, and the limit is %d", w, h, l.Side)
		}
	}
	return ""
}

// sendable lists the media types that every API accepts.
var sendable = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// stub returns the placeholder for an image that is not sent.
func stub(image firn.Image, why string) string {
	kind, _ := firn.CleanText(firn.CutText(image.MimeType, 40))
	if blank(kind) {
		kind = "unknown type"
	}
	return fmt.Sprintf("[image omitted: %s, %s; %s]", kind, bytesText(int64(len(image.Data))*3/4), why)
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// imagesMovedNote replaces the images of a result that were moved out of it.
const imagesMovedNote = "[the image is in the message after the tool results]"

// imagesOutsideResults is for APIs whose tool results are text only: it moves images out of
// results into a user message after them. It requires calls and results to be paired.
var imagesOutsideResults = Rule{"images-beside", func(items []Item, p *Pass) []Item {
	first := 0
	for first < len(items) && !hasImages(&items[first]) {
		first++
	}
	if first == len(items) {
		return items
	}
	moved := append(make([]Item, 0, len(items)+8), items[:first]...)
	var carry *Item
	for i := first; i < len(items); i++ {
		it := items[i]
		if carry != nil && it.Message.Role != firn.RoleToolResult {
			moved = append(moved, *carry)
			carry = nil
		}
		if hasImages(&it) {
			carry = takeImages(&it, carry, p)
		}
		moved = append(moved, it)
	}
	if carry != nil {
		moved = append(moved, *carry)
	}
	return moved
}}

// hasImages reports whether an item is a tool result with images.
func hasImages(it *Item) bool {
	result, _ := resultOf(it)
	for _, part := range result.Content {
		if _, ok := part.(firn.Image); ok {
			return true
		}
	}
	return false
}

// takeImages moves the images of a result into carry, the message after the results.
func takeImages(it, carry *Item, p *Pass) *Item {
	if carry == nil {
		carry = &Item{Message: firn.Message{Role: firn.RoleUser, Time: it.Message.Time}, Synthetic: true}
	}
	result, _ := resultOf(it)
	carry.From = append(carry.From, it.From...)
	carry.at = it.at
	carry.Message.Parts = append(carry.Message.Parts, firn.Text{Text: "[images from the result of call " + result.CallID + "]"})
	p.Note(it, "images in the result of call %s moved into a message after it", result.CallID)
	result.Content, _ = edit(result.Content, func(part firn.Part) (firn.Part, verdict) {
		if _, ok := part.(firn.Image); !ok {
			return part, keep
		}
		carry.Message.Parts = append(carry.Message.Parts, part)
		return nil, drop
	})
	if len(result.Content) == 0 {
		result.Content = []firn.Part{firn.Text{Text: imagesMovedNote}}
	}
	it.Message.Parts = []firn.Part{result}
	return carry
}

// imageType returns the media type of an image according to its data, or else its label.
func imageType(image firn.Image) string {
	if kind := sniff(image.Data); kind != "" {
		return kind
	}
	kind := strings.ToLower(image.MimeType)
	if kind == "image/jpg" {
		kind = "image/jpeg"
	}
	return kind
}

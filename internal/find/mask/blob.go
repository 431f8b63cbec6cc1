package mask

import "strings"

// sealedNames are members signed or encrypted by providers, in all formats. These names
// have no other meaning, so any length counts.
var sealedNames = map[string]bool{
	"thinkingSignature": true, "thinking_signature": true, "textSignature": true, "text_signature": true, "thoughtSignature": true, "thought_signature": true,
	"encrypted_content": true, "encryptedContent": true,
}

// Minimum lengths of a member named signature, and of an image.
const (
	signatureBytes = 64
	imageBytes     = 256
)

// isBlob reports whether a string is not text: an image, or data signed by a provider.
func isBlob(name, text string) bool {
	if head, rest, ok := strings.Cut(text, ";base64,"); ok && len(head) < 64 && strings.HasPrefix(head, "data:") {
		kind := secretKindOf(name)
		return (kind == none || kind >= key) && isBase64(rest) && !startsWithKey(rest)
	}
	is := sealedNames[name] || name == "signature" && len(text) >= signatureBytes || name == "data" && len(text) >= imageBytes
	return is && isBase64(text) && !startsWithKey(text)
}

// startsWithKey reports whether a text starts like a key and is not longer than one. A
// match further inside is coincidence.
func startsWithKey(text string) bool {
	if len(text) > keyBytes {
		return false
	}
	found := false
	byPair().findForms(text, func(from, _ int) { found = found || from == 0 })
	return found
}

// isBase64 reports whether a text is base64.
func isBase64(text string) bool {
	text = strings.TrimRight(text, "=")
	for i := range len(text) {
		if c := text[i]; !letter(c) && !digit(c) && strings.IndexByte("+/-_", c) < 0 {
			return false
		}
	}
	return true
}

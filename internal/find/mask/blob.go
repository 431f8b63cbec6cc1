package mask

import "strings"

// sealed are the names of what providers sign or seal, in all formats. No other
// thing is called so, however short it is.
var sealed = map[string]bool{
	"thinkingSignature": true, "thinking_signature": true, "textSignature": true, "text_signature": true, "thoughtSignature": true, "thought_signature": true,
	"encrypted_content": true, "encryptedContent": true,
}

// The least lengths of what is only called a signature, and of an image.
const (
	signatureBytes = 64
	imageBytes     = 256
)

// blob reports whether a string is no text: an image, or what a provider signed.
func blob(name, text string) bool {
	if head, rest, ok := strings.Cut(text, ";base64,"); ok && len(head) < 64 && strings.HasPrefix(head, "data:") {
		kind := sortOf(name)
		return (kind == none || kind >= key) && base64ed(rest) && !begun(rest)
	}
	is := sealed[name] || name == "signature" && len(text) >= signatureBytes || name == "data" && len(text) >= imageBytes
	return is && base64ed(text) && !begun(text)
}

// begun reports whether a text begins as a key does, and is no longer than one. A
// form in the midst of it is chance.
func begun(text string) bool {
	if len(text) > keyBytes {
		return false
	}
	found := false
	byPair().forms(text, func(from, _ int) { found = found || from == 0 })
	return found
}

// base64ed reports whether a text is written in base64.
func base64ed(text string) bool {
	text = strings.TrimRight(text, "=")
	for i := range len(text) {
		if c := text[i]; !letter(c) && !digit(c) && strings.IndexByte("+/-_", c) < 0 {
			return false
		}
	}
	return true
}

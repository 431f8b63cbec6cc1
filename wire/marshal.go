package wire

import (
	"bytes"
	"encoding/json"
)

// Marshal encodes a value as the gateway does: as JSON on one line, without escaping HTML
// characters, so that embedded lines of transcripts stay unchanged.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

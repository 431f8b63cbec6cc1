package wire

import (
	"bytes"
	"encoding/json"
)

// Marshal encodes a value as the gateway does: JSON on one line, without escaping HTML, and
// with the lines of transcripts unchanged.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

package wire

import (
	"bytes"
	"encoding/json"
)

// Spell is something as the gateway tells it: JSON on one line, in which HTML and lines
// of transcripts travel as they are.
func Spell(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

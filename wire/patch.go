package wire

import (
	"bytes"
	"encoding/json"
)

// Default as the model, thinking, verbose or send of a [Patch] takes back what was chosen
// for the session. In JSON null does the same.
const Default = "default"

// UnmarshalJSON reads a patch. Members that are not known are refused, and null takes a
// choice back.
func (p *Patch) UnmarshalJSON(data []byte) error {
	type plain Patch
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode((*plain)(p)); err != nil {
		return err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	for name, value := range map[string]**string{"model": &p.Model, "thinking": &p.Thinking, "verbose": &p.Verbose, "send": &p.Send} {
		if string(bytes.TrimSpace(raw[name])) == "null" {
			back := Default
			*value = &back
		}
	}
	return nil
}

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// jsonObject is a JSON object whose members keep their order and text.
type jsonObject struct{ members []jsonMember }

type jsonMember struct {
	name  string
	value json.RawMessage
}

// parseObject parses an object.
func parseObject(data []byte) (*jsonObject, error) {
	if !json.Valid(data) {
		var any any
		return nil, json.Unmarshal(data, &any)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	o := &jsonObject{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		o.members = append(o.members, jsonMember{name.(string), value})
	}
	return o, nil
}

func (o *jsonObject) index(name string) int {
	return slices.IndexFunc(o.members, func(m jsonMember) bool { return m.name == name })
}

// get returns a member, or nil.
func (o *jsonObject) get(name string) json.RawMessage {
	if i := o.index(name); i >= 0 {
		return o.members[i].value
	}
	return nil
}

// set replaces a member, or adds it at the end.
func (o *jsonObject) set(name string, value json.RawMessage) {
	if i := o.index(name); i >= 0 {
		o.members[i].value = value
		return
	}
	o.members = append(o.members, jsonMember{name, value})
}

func (o *jsonObject) remove(name string) {
	o.members = slices.DeleteFunc(o.members, func(m jsonMember) bool { return m.name == name })
}

// json returns the object as JSON.
func (o *jsonObject) json() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o.members {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(m.name) // a string
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

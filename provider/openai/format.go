package openai

import (
	"fmt"

	"firn.dev"
	"firn.dev/provider"
)

// maxStop is the maximum number of stop sequences that the Chat Completions API accepts.
const maxStop = 4

// texts writes a list of strings.
func (w *writer) texts(list []string) {
	w.raw(`[`)
	for _, s := range list {
		w.next()
		w.text(s)
	}
	w.raw(`]`)
}

// chatFormat writes the form of the answer for the Chat Completions API.
func (w *writer) chatFormat(f provider.Format) {
	w.name("response_format")
	if len(f.Schema) == 0 {
		w.raw(`{"type":"json_object"}`)
		return
	}
	w.raw(`{"type":"json_schema","json_schema":{`)
	w.schema(f)
	w.raw(`}}`)
}

// responsesFormat writes the form of the answer for the Responses API.
func (w *writer) responsesFormat(f provider.Format) {
	w.name("text")
	if len(f.Schema) == 0 {
		w.raw(`{"format":{"type":"json_object"}}`)
		return
	}
	w.raw(`{"format":{"type":"json_schema"`)
	w.schema(f)
	w.raw(`}}`)
}

// schema writes the members of a JSON schema.
func (w *writer) schema(f provider.Format) {
	w.member("name", f.Name)
	if f.Description != "" {
		w.member("description", f.Description)
	}
	w.name("schema")
	if err := w.value(f.Schema); err != nil && w.err == nil {
		w.err = fmt.Errorf("%w schema of the answer: %v", firn.ErrInvalid, err)
	}
	if f.Strict != nil {
		w.name("strict")
		w.raw(fmt.Sprint(*f.Strict))
	}
}

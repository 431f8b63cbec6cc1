package wire

import "encoding/json"

// Once is a conversation that is answered without being stored.
type Once struct {
	// Agent answers; empty means the default agent. Its tools, notes and hooks are not used.
	Agent string `json:"agent,omitempty"`
	// Entries are the messages, as lines of firn's format. The last one is answered.
	Entries []json.RawMessage `json:"entries"`
	Terms   *TurnOptions      `json:"terms,omitempty"`
}

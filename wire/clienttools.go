package wire

import (
	"encoding/json"

	"firn.dev"
)

// ClientTools are tools that the client of a turn runs itself: in its directory, as its
// user. They replace the tools in the agent's own workspace. The calls arrive as events
// [ToolCall] on the stream of the turn, and the client sends their results. They are not
// stored: without the client the turn cannot continue.
type ClientTools struct {
	// Secret identifies the client: 32 to 128 characters that it chose at random. Results
	// must repeat it.
	Secret string `json:"secret"`
	// Directory is the absolute path of the workspace on the client's machine.
	Directory string       `json:"directory,omitempty"`
	Tools     []ClientTool `json:"tools"`
	// Added means that the agent keeps its own workspace and tools, and has these besides.
	Added bool `json:"added,omitempty"`
	// Outside means that the client runs calls that use an approved path outside of its
	// directory. Otherwise they are refused.
	Outside bool `json:"outside,omitempty"`
	// Instructions are the texts of the instruction files there.
	Instructions []string `json:"instructions,omitempty"`
}

// ClientTool is a tool of a client.
type ClientTool struct {
	ToolSpec
	// Preview means that the client can return the change of a call without making it.
	Preview bool `json:"preview,omitempty"`
	// ReadOnly means that the user confirmed that the tool only reads, so that its calls
	// need no approval.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// ClientCall is a call of a client's tool.
type ClientCall struct {
	// Call is the ID of the call, Entry the answer that it is in.
	Call      string          `json:"call"`
	Entry     firn.EntryID    `json:"entry,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Digest is the SHA-256 of tool and arguments. The result must repeat it.
	Digest string `json:"digest"`
	// Preview asks for the change that the call would make. The change is not made.
	Preview bool `json:"preview,omitempty"`
	// Outside is the path outside of the directory that the call may use.
	Outside string `json:"outside,omitempty"`
}

// ClientResult is the result of a [ClientCall], or output of a running one.
type ClientResult struct {
	// Secret is that of the offer, Digest and Preview are those of the call.
	Secret  string `json:"secret"`
	Digest  string `json:"digest"`
	Preview bool   `json:"preview,omitempty"`
	// Progress is output of a call that is still running. The other fields are then empty.
	Progress string `json:"progress,omitempty"`
	// Text and Images are the result for the model; of a preview, Text is a unified diff.
	Text   string  `json:"text,omitempty"`
	Images []Image `json:"images,omitempty"`
	// IsError marks a failure with output, Error is why the call failed.
	IsError bool   `json:"isError,omitempty"`
	Error   string `json:"error,omitempty"`
	// Details is data for display. Files are the changes that the client recorded.
	Details json.RawMessage `json:"details,omitempty"`
	Files   []ChangedFile   `json:"files,omitempty"`
}

// ChangedFile is a change of a file by a tool call. The hashes are the SHA-256 of the
// contents in hexadecimal, or empty if there was no file.
type ChangedFile struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// CallAccepted is the response to a [ClientResult].
type CallAccepted struct {
	Call string `json:"call"`
}

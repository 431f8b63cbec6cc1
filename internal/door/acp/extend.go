package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"

	sdk "github.com/coder/acp-go-sdk"

	"firn.dev/wire"
)

// The SDK does not know all methods of the protocol. It passes methods that begin with an
// underscore to [agent.HandleExtensionMethod], so a method that is missing in the SDK, or
// whose result lacks a member there, is renamed before the SDK reads it.
const (
	methodDelete     = "session/delete"
	methodInitialize = sdk.AgentMethodInitialize
)

// renamer renames the methods that the SDK does not handle, line by line.
type renamer struct {
	in   *bufio.Reader
	line []byte
	err  error
}

// Read returns the next bytes of the input.
func (r *renamer) Read(b []byte) (int, error) {
	for len(r.line) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.line, r.err = r.in.ReadBytes('\n')
		r.line = renameMethod(r.line)
	}
	n := copy(b, r.line)
	r.line = r.line[n:]
	return n, nil
}

// renameMethod returns a request with an underscore before a method that is handled here.
// Other lines are returned unchanged.
func renameMethod(line []byte) []byte {
	if !bytes.Contains(line, []byte(`"method"`)) {
		return line
	}
	var request map[string]json.RawMessage
	var method string
	if json.Unmarshal(line, &request) != nil || json.Unmarshal(request["method"], &method) != nil {
		return line
	}
	if method != methodDelete && method != methodInitialize {
		return line
	}
	request["method"] = json.RawMessage(`"_` + method + `"`)
	renamed, err := json.Marshal(request)
	if err != nil {
		return line
	}
	return append(renamed, '\n')
}

var _ io.Reader = (*renamer)(nil)

// HandleExtensionMethod handles the methods that were renamed.
func (d *agent) HandleExtensionMethod(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case "_" + methodInitialize:
		var q sdk.InitializeRequest
		if err := decodeParams(params, &q); err != nil {
			return nil, err
		}
		return d.initialize(ctx, q)
	case "_" + methodDelete:
		var q deleteRequest
		if err := decodeParams(params, &q); err != nil {
			return nil, err
		}
		return struct{}{}, failure(d.deleteSession(ctx, q.Session))
	}
	return nil, sdk.NewMethodNotFound(method)
}

// decodeParams decodes the parameters of a request and validates them.
func decodeParams(params json.RawMessage, to interface{ Validate() error }) error {
	err := json.Unmarshal(params, to)
	if err == nil {
		err = to.Validate()
	}
	if err != nil {
		return sdk.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	return nil
}

// initialize returns the capabilities of Initialize, and that sessions can be deleted.
func (d *agent) initialize(ctx context.Context, q sdk.InitializeRequest) (any, error) {
	base, err := d.Initialize(ctx, q)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(base)
	if err != nil {
		return nil, err
	}
	var response map[string]any
	if err := json.Unmarshal(text, &response); err != nil {
		return nil, err
	}
	if agent, ok := response["agentCapabilities"].(map[string]any); ok {
		if sessions, ok := agent["sessionCapabilities"].(map[string]any); ok {
			sessions["delete"] = struct{}{}
		}
	}
	return response, nil
}

// deleteRequest are the parameters of session/delete.
type deleteRequest struct {
	Session sdk.SessionId `json:"sessionId"`
}

// Validate returns an error if the session is missing.
func (q *deleteRequest) Validate() error {
	if q.Session == "" {
		return &wire.Problem{Kind: wire.Invalid, Message: "sessionId is required"}
	}
	return nil
}

// deleteSession stops a session and hides it from lists, as firn rm does: nothing is erased.
// The protocol demands success if the session does not exist.
func (d *agent) deleteSession(ctx context.Context, name sdk.SessionId) error {
	id, err := d.c.Resolve(ctx, string(name))
	if wire.KindOf(err) == wire.NotFound {
		return nil
	}
	if err == nil {
		_, err = d.c.Stop(ctx, id)
	}
	if err == nil {
		_, err = d.c.Remove(ctx, id, wire.Remove{Reason: "deleted in the editor"})
	}
	d.forget(name)
	return err
}

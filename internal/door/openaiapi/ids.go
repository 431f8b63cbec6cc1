package openaiapi

import (
	"strings"

	"firn.dev"
	"firn.dev/internal/door/conversation"
	"firn.dev/wire"
)

// The IDs of responses and conversations encode their location, so that no mapping needs to
// be stored. The ID of a response contains its session and the question that it answers,
// which is in the log before the answer is.
const (
	responsePrefix     = "resp_"
	conversationPrefix = "conv_"
)

func responseID(session firn.ID, question firn.EntryID) string {
	return responsePrefix + string(session) + "_" + string(question)
}

// parseResponse is the inverse of responseID.
func parseResponse(id, param string) (firn.ID, firn.EntryID, error) {
	rest, ok := strings.CutPrefix(id, responsePrefix)
	at := strings.LastIndexByte(rest, '_')
	if !ok || at <= 0 || at == len(rest)-1 || firn.ID(rest[:at]).Check() != nil {
		return "", "", noSuch("response", id, param)
	}
	return firn.ID(rest[:at]), firn.EntryID(rest[at+1:]), nil
}

func conversationID(session firn.ID) string { return conversationPrefix + string(session) }

// parseConversation is the inverse of conversationID.
func parseConversation(id, param string) (firn.ID, error) {
	session, ok := strings.CutPrefix(id, conversationPrefix)
	if !ok || firn.ID(session).Check() != nil {
		return "", noSuch("conversation", id, param)
	}
	return firn.ID(session), nil
}

func noSuch(what, id, param string) error {
	return &conversation.RequestError{Problem: &wire.Problem{Kind: wire.NotFound, Message: "unknown " + what + " " + conversation.Quoted(id)}, Param: param, Code: what + "_not_found"}
}

package provider

import "net/http"

// Complaint makes an [*Error] of an HTTP answer that is not one: by its
// status, its headers, and what its body says.
func Complaint(provider, model string, status int, header http.Header, body []byte) *Error {
	return &Error{Kind: Temporary, Provider: provider, Model: model, Status: status, Message: string(body)}
}

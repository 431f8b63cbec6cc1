// Package sdk proves firn's clients of models with the official Go SDKs of
// Anthropic and OpenAI. It has no code of its own, only tests, and is a module
// of its own, so that nothing else needs the SDKs.
package sdk

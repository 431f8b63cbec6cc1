// Package door is the room of protocols in front of a gateway: HTTP (api), OpenAI's and Anthropic's APIs
// (openaiapi, anthropicapi, foreign), MCP, ACP, tokens, and the web pages.
// It imports the gateway; the gateway never imports it. Ops and the terminal's commands
// start it.
package door

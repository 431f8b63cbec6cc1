// Package term is the room of the command line: the commands (cli), the chat, the
// full-screen browser (browse), the line editor (line), the demo and the generated manual.
// It is a client: it talks to a gateway and never opens a store. Only cmd imports it.
package term

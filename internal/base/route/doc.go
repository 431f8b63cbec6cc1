// Package route decides to which session a message from outside belongs.
//
// A message from outside is an [Envelope]; [Resolve] makes a [Route] of it: the
// agent that answers and the [Key] under which the conversation is kept. Around
// that are the other things that are settled before a model is asked: whether
// the session is still the one to use ([Fresh]), whether the text begins a new
// one ([Trigger]) or is a command ([ParseCommand]), what becomes of it while a
// turn runs ([Queue]), and whether the answer may be sent ([SendPolicy]).
//
// Everything here is a pure function of its arguments: no file, no network, no
// clock. Time and time zone are given by the caller. Two senders never get the
// same key unless the settings say that they share one; where something is
// missing or unknown there is an error, never a shared place to fall back to.
package route

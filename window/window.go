// Package window decides what a model is sent.
//
// [Collect] reads a session backwards and returns its live part, a [Path].
// [Build] makes a [Window] of it: the messages in order, made to fit the rules
// of one provider by the named rules of a [Profile], with a list of every
// repair and of every entry that is left out. Both are pure and total: they do
// no I/O of their own, read no clock, never change what they are given, and
// have an answer for every log, however broken. Nothing they decide is ever
// written back.
package window

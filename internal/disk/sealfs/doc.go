// Package sealfs encrypts the files of a home.
//
// [FS] wraps a file system: callers read and write plain bytes at plain offsets, and the
// files contain encrypted records. A file is a sequence of slots of 16 KiB. A slot begins
// with a header and contains records; no record crosses a slot:
//
//	slot    "\x8bfirnsl1" file(16) check(8) record... zeros
//	record  length(4) offset(8) nonce(12) ciphertext(length) tag(16)
//
// Numbers are big endian. file is the random ID of the file, from which its key is derived,
// and check proves that the key is the right one. A record is sealed with AES-256-GCM; its
// length and its offset in the plain file are authenticated with it. Offsets are contiguous,
// so records cannot be moved within a file or between files without being noticed. An empty
// file has no bytes.
//
// One Write appends whole records with one system call. A record that a crash cut off is not
// part of the file and is removed by the next append. The size of a file is found in its last
// slot, and an offset by a search over slots, so no operation reads a whole file.
//
// WriteAt and Truncate, which replace bytes, seal the affected slot again. The new slot is
// first saved durably as a redo file, so that an interrupted change is completed and never
// damages other bytes of the slot.
//
// A damaged record of a file of lines (*.jsonl) reads as zero bytes, so that readers skip the
// lost lines and report them. In other files it is an error.
package sealfs

// Package find is the room of search: the catalog of sessions (index), the full-text
// index (fulltext), queries and ranking (search), grep, masking of secrets (mask), key
// points of a conversation (digest), word vectors (meaning), the cache of list rows (rowcache), the latest records of a
// session (lookback), and its title, tags and keys from copies in different orders (election).
// Everything here is derived and can be deleted. It imports the store's contract, never
// a gateway.
package find

// The name of a key, as pages show it and as their addresses hold it.

// toKey is the address of a key's page.
export function toKey(key: string): string {
  return `/keys/${encodeURIComponent(key)}`;
}

// shortKey is a key without what all of them begin with.
export function shortKey(key: string): string {
  return key.replace(/^agent:/, "");
}

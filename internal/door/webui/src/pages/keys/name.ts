// Names and URLs of keys.

// toKey returns the URL of a key's page.
export function toKey(key: string): string {
  return `/keys/${encodeURIComponent(key)}`;
}

// shortKey removes the common prefix of a key.
export function shortKey(key: string): string {
  return key.replace(/^agent:/, "");
}

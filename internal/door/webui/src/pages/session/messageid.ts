// IDs of messages, which make a retry idempotent.
let named: { what: string; name: string; ok: boolean } | undefined;

// nameOf returns the ID of a message. A failed message keeps its ID until another one is
// written, in this session or in another.
export function nameOf(session: string, turn: { text: string; images: unknown[] }): string {
  const what = JSON.stringify([session, turn]);
  if (!named || named.ok || named.what !== what) named = { what, name: entryID(), ok: false };
  return named.name;
}

// accepted records that the named message was accepted: the next one is another message.
export function accepted(): void {
  if (named) named.ok = true;
}

const letters = "0123456789abcdefghjkmnpqrstvwxyz";

// entryID returns an ID like the gateway's: the time and random bits.
function entryID(): string {
  let n = (BigInt(Date.now()) << 20n) | BigInt(Math.floor(Math.random() * (1 << 20)));
  let id = "";
  for (let i = 0; i < 13; i++) {
    id = letters[Number(n & 31n)] + id;
    n >>= 5n;
  }
  return id;
}

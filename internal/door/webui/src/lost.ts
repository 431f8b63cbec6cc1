// lost is set while the gateway does not answer: a stream has ended and is not open again, or a
// request got no response.
import { signal } from "@preact/signals";

export const lost = signal(false);

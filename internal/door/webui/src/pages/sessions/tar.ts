// tar packs several files into one download.

const block = 512;

function header(name: string, size: number, time: number): Uint8Array {
  const b = new Uint8Array(block);
  const put = (text: string, at: number) => b.set(new TextEncoder().encode(text), at);
  const octal = (n: number, width: number) => n.toString(8).padStart(width - 1, "0") + "\0";
  put(name.slice(0, 99), 0);
  put(octal(0o644, 8), 100);
  put(octal(0, 8), 108);
  put(octal(0, 8), 116);
  put(octal(size, 12), 124);
  put(octal(Math.floor(time / 1000), 12), 136);
  put("        ", 148);
  put("0", 156);
  put("ustar\x0000", 257);
  put(octal(b.reduce((sum, x) => sum + x, 0), 7) + " ", 148);
  return b;
}

export async function tar(files: { name: string; body: Blob }[]): Promise<Blob> {
  const parts: BlobPart[] = [];
  for (const f of files) {
    parts.push(header(f.name, f.body.size, Date.now()) as BlobPart, f.body);
    parts.push(new Uint8Array((block - (f.body.size % block)) % block));
  }
  parts.push(new Uint8Array(2 * block));
  return new Blob(parts, { type: "application/x-tar" });
}

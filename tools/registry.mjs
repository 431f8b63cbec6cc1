// Serves a directory on a loopback port, and the npm packages (*.tgz) in it as an npm registry
// does, to try a release before it is published. Prints its address.
//
//   node tools/registry.mjs DIRECTORY
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { basename, join } from "node:path";

const directory = process.argv[2];
const packages = new Map();
for (const name of readdirSync(directory).filter((n) => n.endsWith(".tgz"))) {
  const path = join(directory, name);
  let about;
  try {
    about = JSON.parse(execFileSync("tar", ["-xzOf", path, "package/package.json"], { stdio: ["ignore", "pipe", "ignore"] }));
  } catch {
    continue; // not an npm package
  }
  const integrity = "sha512-" + createHash("sha512").update(readFileSync(path)).digest("base64");
  packages.set(about.name, { about, name, integrity });
}

const server = createServer((request, response) => {
  const name = decodeURIComponent(new URL(request.url, "http://localhost").pathname.slice(1));
  const found = packages.get(name);
  if (found) {
    const { about, name: file, integrity } = found;
    const dist = { tarball: `http://${request.headers.host}/${file}`, integrity };
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ name, "dist-tags": { latest: about.version }, versions: { [about.version]: { ...about, dist } } }));
    return;
  }
  createReadStream(join(directory, basename(name)))
    .on("error", () => response.writeHead(404).end())
    .pipe(response);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));

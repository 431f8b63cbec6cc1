#!/usr/bin/env node
// Runs the program of the package for this system, which npm installed as an optional
// dependency. Its arguments, standard streams, signals and exit code are passed on.
"use strict";
const { spawn } = require("node:child_process");
const { name } = require("../package.json");

const system = `${name}-${process.platform}-${process.arch}`;
const program = process.platform === "win32" ? "firn.exe" : "firn";

let path;
try {
  path = require.resolve(`${system}/bin/${program}`);
} catch {
  console.error(`firn: the package ${system} is not installed`);
  console.error(
    "hint: install without --omit=optional; there are packages for Linux, macOS and Windows on x64 and arm64",
  );
  process.exit(1);
}

const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends its signals to both. This process waits for the program to end.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("error", (error) => {
  console.error(`firn: ${path} does not start: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});

#!/usr/bin/env node
import { readFileSync } from "node:fs";
import * as nodeModule from "node:module";

// Caches compiled code on disk (Node 22.1 and later).
(nodeModule as { readonly enableCompileCache?: () => unknown }).enableCompileCache?.();
const { main } = await import("./main.ts");
const { processIo } = await import("./terminal/processIo.ts");

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};
const io = processIo(version);
const code = await main(process.argv.slice(2), io);
// Exits explicitly, because user code may leave resources open, such as connections of a pool.
await io.err.write("");
await io.out.write("").catch(() => {});
process.exit(code);

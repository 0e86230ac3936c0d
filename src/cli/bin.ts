#!/usr/bin/env node
import { readFileSync } from "node:fs";
import * as nodeModule from "node:module";

// Code that was compiled once is kept on disk, where Node can do that (22.1 and later).
(nodeModule as { readonly enableCompileCache?: () => unknown }).enableCompileCache?.();
const { main } = await import("./main.ts");
const { processIo } = await import("./terminal/processIo.ts");

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};
const io = processIo(version);
const code = await main(process.argv.slice(2), io);
// What a user's code left open, such as the connections of a pool, would keep the process.
await io.err.write("");
await io.out.write("").catch(() => {});
process.exit(code);

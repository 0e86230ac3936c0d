import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { assertSeen } from "../assertSeen.ts";

/** Runs the demo as a user would; it verifies itself what it claims. */
const demo = fileURLToPath(new URL("demo.mjs", import.meta.url));
const { status, stdout, stderr } = spawnSync(process.execPath, [demo], { encoding: "utf8" });
assert.equal(status, 0, stdout + stderr);
assert.deepEqual(
  stdout.match(/signed up [A-Z]\w+/g),
  ["Alex", "Daniel", "Daniel", "Maria"].map((name) => `signed up ${name}`),
);
assert.deepEqual(
  stdout.match(/took back \w+/g),
  ["Maria", "Daniel", "Alex"].map((name) => `took back ${name}`),
);
assertSeen(stdout);
console.log("   the demo does what it claims");

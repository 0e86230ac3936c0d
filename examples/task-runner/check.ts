import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Runs the demo as a user would, and verifies what it claims. */
const demo = fileURLToPath(new URL("demo.ts", import.meta.url));
// An embedded Postgres takes longer to start than all of this: give the address of one.
const storages = ["file", "sqlite", ...(process.env["DATABASE_URL"] === undefined ? [] : ["postgres"])];
for (const storage of storages) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", demo, "--storage", storage], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /(ada|bob) was killed/);
  assert.match(stdout, /(ada|bob) recovered south completed/);
  assert.match(stdout, /hills {4}completed {3}hills: 115/);
  assert.equal(stdout.match(/✓/g)?.length, 7, stdout);
  assert.doesNotMatch(stdout, /✗/);
}
console.log("   the other worker recovered the killed worker's task, and every task was completed once");

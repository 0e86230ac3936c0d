import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { assertSeen } from "../assertSeen.ts";
import { availableStorages } from "../openStorage.ts";

/** Runs the demo as a user would, and verifies what it claims. */
const demo = fileURLToPath(new URL("demo.ts", import.meta.url));
for (const storage of availableStorages) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", demo, "--storage", storage], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /(ada|bob) was killed/);
  assert.match(stdout, /(ada|bob) recovered south completed/);
  assert.match(stdout, /hills {4}completed {3}hills: 115/);
  assert.equal(stdout.match(/✓/g)?.length, 7, stdout);
  assert.doesNotMatch(stdout, /✗/);
  assertSeen(stdout, /CHECKPOINT[^]*finish {2}← head/);
}
console.log(`   each task was completed once, a killed worker's by the other one, on ${availableStorages.join(", ")}`);

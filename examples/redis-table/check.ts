import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { recordLogConformance } from "agent-persistence/testing";
import { connect } from "./connect.ts";
import { redisHarness } from "./redisHarness.ts";

const main = fileURLToPath(new URL("main.ts", import.meta.url));
const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", main], { encoding: "utf8" });
assert.equal(status, 0, stderr);
assert.match(stdout, /^crashed after these orders: tea$/m);
assert.match(stdout, /^after it: Both are ordered\.$/m);
assert.match(stdout, /^ordered in all: tea, cups$/m);

const redis = connect();
const leftOut = new Set<string>();
for (const test of recordLogConformance)
  await test.run(
    () => redisHarness(redis),
    (part) => leftOut.add(part),
  );
// A table need not create many agents at once.
assert.deepEqual([...leftOut], ["createMany: the log has no such method"]);
console.log(`   crashed and resumed; ${recordLogConformance.length} conformance tests passed`);
redis.disconnect();

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { persistenceStorageProviderConformance } from "agent-persistence/testing";
import { JsonFileStorageProvider } from "./JsonFileStorageProvider.ts";

const main = fileURLToPath(new URL("main.ts", import.meta.url));
const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", main], { encoding: "utf8" });
assert.equal(status, 0, stderr);
assert.match(stdout, /crashed after three checkpoints\ngreeted before the crash: Alex$/m);
assert.match(stdout, /after it: Both are greeted\./);
assert.match(stdout, /greeted in all: Alex, Maria$/m);
assert.match(stdout, /^what inspect\(\) shows of it: callModel → callTools → callModel.* → finish$/m);

const directory = mkdtempSync(join(tmpdir(), "conformance-"));
try {
  for (const [at, test] of persistenceStorageProviderConformance.entries()) {
    const made = () => new JsonFileStorageProvider(join(directory, String(at)));
    await test.run(() => ({ provider: made(), reopen: made }));
  }
  console.log(`   crashed and resumed; ${persistenceStorageProviderConformance.length} conformance tests passed`);
} finally {
  rmSync(directory, { recursive: true, force: true });
}

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { assertSeen } from "../assertSeen.ts";
import { availableStorages } from "../openStorage.ts";

/** Runs the demo as a user would, and verifies what it claims. */
const demo = fileURLToPath(new URL("demo.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "user-import-check-"));
const { OPENAI_API_KEY: _key, ...environment } = process.env;

function run(...options: readonly string[]) {
  const directory = mkdtempSync(join(folder, "run-"));
  const args = ["--import", "tsx", demo, "--directory", directory, ...options];
  return spawnSync(process.execPath, args, { encoding: "utf8", env: environment });
}

function csv(name: string, content: string): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

function assertShown(options: readonly string[], people: number): void {
  const { status, stdout, stderr } = run(...options);
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /✓ process \d+ was killed with SIGKILL/);
  assert.match(stdout, new RegExp(`✓ ${people} of ${people} people are in the table, each once`));
  assert.match(stdout, /✓ the report says: reverted [1-9]\d*, failed 0, irreversible 0/);
  assert.doesNotMatch(stdout, /✗/);
  assertSeen(stdout);
}

function assertRefused(options: readonly string[], reason: RegExp): void {
  const { status, stdout, stderr } = run(...options);
  assert.deepEqual([status, stdout, stderr.trimEnd().split("\n").length], [1, "", 1], stderr);
  assert.match(stderr, reason);
}

try {
  assertShown([], 12);
  for (const storage of availableStorages) assertShown(["--storage", storage], 12);
  assertShown([csv("one.csv", "name,email\nAlex,alex@example.org\n")], 1);
  const many = Array.from({ length: 50 }, (_, at) => `"Person, ${at}",p${at}@example.org,Ὀδησσός`);
  assertShown([csv("many.csv", `\uFEFFName, Email ,City\r\n${many.join("\r\n")}`)], 50);
  assertShown([csv("twins.csv", "name,email\nAlex,a@example.org\nAlex,a@example.org\nMaria,m@example.org")], 3);

  assertRefused(["nowhere.csv"], /nowhere\.csv: there is no such file/);
  assertRefused([csv("empty.csv", "")], /no people/);
  assertRefused([csv("header.csv", "name,email\n")], /no people/);
  assertRefused([csv("mail.csv", "name,mail\nAlex,a@example.org")], /missing: email; found: name, mail/);
  assertRefused([csv("gap.csv", "name,email\nAlex,a@example.org\nMaria,\n")], /row 3 has no email/);
  assertRefused([csv("quote.csv", 'name,email\n"Alex,a@example.org')], /quote/i);
  assertRefused(["--colour"], /usage/);
  assertRefused(["--storage", "tape"], /no storage tape.*file\|sqlite/);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`   the demo does what it claims, and refuses what it cannot import, on ${availableStorages.join(", ")}`);

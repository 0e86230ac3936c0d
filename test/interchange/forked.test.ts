import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { exportAgent, importAgent } from "agent-persistence/transfer";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { expect, it, onTestFinished } from "vitest";
import { MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";
import { recordsOf } from "../persistence/support/stored.ts";
import { bytesOf } from "../transfer/movedAgents.ts";
import { lowThresholds, openStorage } from "./agents.ts";
import { finishRefunds, readRefunds, refundIds, refunds } from "./refunds.ts";

const logs = fileURLToPath(new URL("logs/forks", import.meta.url));

interface Expected {
  readonly read: unknown;
  readonly wentOn: unknown;
}
const expected = JSON.parse(gunzipSync(readFileSync(join(logs, "expected.json.gz"))).toString()) as Expected;
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** A copy of the stored folder, which goes with the test. */
function copyOfLogs(): string {
  const directory = mkdtempSync(join(tmpdir(), "agent-forked-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  cpSync(logs, directory, { recursive: true });
  return directory;
}

it("stored forks, names, edits and migrations are read like by the version that wrote them", async () => {
  const directory = copyOfLogs();
  const moves = new Set<unknown>();
  const kinds = new Set<string>();
  for (const agentId of refundIds)
    for (const record of await recordsOf(openStorage(directory), agentId)) {
      kinds.add(record.kind);
      moves.add((record as { readonly move?: string }).move);
    }
  expect([...kinds]).toEqual(expect.arrayContaining(["name", "origin", "structure"]));
  expect([...moves]).toEqual(expect.arrayContaining(["fork", "edit", "migration"]));
  expect(plain(await readRefunds(directory))).toEqual(expected.read);
});

it("stored forks, names, edits and migrations are resumed to the same end, and each call stays with its agent", async () => {
  expect(plain(await finishRefunds(copyOfLogs()))).toEqual(expected.wentOn);
});

it("stored forks, names, edits and migrations are forked, and exported and imported with the same bytes", async () => {
  const directory = copyOfLogs();
  const source = openStorage(directory);
  for (const agentId of refundIds) {
    const target = new LogPersistenceStorageProvider(new MemoryRecordLog(), lowThresholds);
    const bytes = await bytesOf(exportAgent(source, agentId));
    await importAgent(target, exportAgent(source, agentId), { trustApprovals: true });
    expect(await bytesOf(exportAgent(target, agentId))).toEqual(bytes);
    const durable = refunds(1, directory).of(agentId);
    const fork = await durable.fork(`${agentId}-fork`);
    expect(await fork.getMessages()).toEqual(await durable.getMessages());
  }
});

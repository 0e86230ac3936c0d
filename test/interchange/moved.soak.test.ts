import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { exportAgent, importAgent } from "agent-persistence/transfer";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { expect, it, onTestFinished } from "vitest";
import { MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";
import { recordsOf, restoredBy } from "../persistence/support/stored.ts";
import { wholeSoak } from "../soak/cases.ts";
import { bytesOf } from "../transfer/movedAgents.ts";
import { lowThresholds, openStorage } from "./agents.ts";
import { agentIds, type Fixture, fixtures, lateAgent } from "./reading.ts";

const logs = fileURLToPath(new URL("logs/", import.meta.url));

const names = Object.keys(fixtures) as Fixture[];

it.each(names)("%s: agents of 0.1.0 are forked with all their data and stay unchanged", async (name) => {
  const directory = mkdtempSync(join(tmpdir(), "agent-forked-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  cpSync(join(logs, name), directory, { recursive: true });
  const agents = await agentIds(name, directory);
  for (const agentId of agents.filter((_id, at) => at % (wholeSoak ? 1 : 3) === 0)) {
    const { durable, storage } = lateAgent(name, { directory, agentId });
    const before = await durable.getCheckpoints();
    const stored = await recordsOf(storage, agentId);
    const fork = await durable.fork(`${agentId}-fork`);
    expect(await recordsOf(storage, agentId)).toEqual(stored);
    const after = await fork.getCheckpoints();
    expect(after.slice(0, before.length).map(restoredBy)).toEqual(
      before.map((each) => ({ ...(restoredBy(each) as object), agentId: `${agentId}-fork` })),
    );
    expect(await fork.getMessages()).toEqual(await durable.getMessages());
    expect((await fork.getRequests()).length).toBe((await durable.getRequests()).length);
  }
});

it.each(names)("%s: agents of 0.1.0 are exported, imported, and exported with the same bytes", async (name) => {
  const directory = mkdtempSync(join(tmpdir(), "agent-moved-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  cpSync(join(logs, name), directory, { recursive: true });
  const source = openStorage(directory);
  expect(readdirSync(join(directory, "tasks")).length).toBeGreaterThan(0);
  for await (const { agentId } of source.log.list()) {
    const target = new LogPersistenceStorageProvider(new MemoryRecordLog(), lowThresholds);
    const bytes = await bytesOf(exportAgent(source, agentId));
    await importAgent(target, exportAgent(source, agentId, { gzip: true }), { trustApprovals: true });
    expect(await bytesOf(exportAgent(target, agentId))).toEqual(bytes);
    expect(await target.getCheckpoints(agentId)).toEqual(await source.getCheckpoints(agentId));
  }
});

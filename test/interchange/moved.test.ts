import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { exportAgent, importAgent } from "agent-persistence";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { expect, it, onTestFinished } from "vitest";
import { MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";
import { bytesOf } from "../transfer/movedAgents.ts";
import { lowThresholds, openStorage } from "./agents.ts";
import { fixtures } from "./reading.ts";

const logs = fileURLToPath(new URL("logs/", import.meta.url));

it.each(Object.keys(fixtures))(
  "%s: agents of 0.1.0 are exported, imported, and exported with the same bytes",
  async (name) => {
    const directory = mkdtempSync(join(tmpdir(), "agent-moved-"));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    cpSync(join(logs, name), directory, { recursive: true });
    const source = openStorage(directory);
    expect(readdirSync(join(directory, "tasks")).length).toBeGreaterThan(0);
    for await (const { agentId } of source.log.list()) {
      const target = new LogPersistenceStorageProvider(new MemoryRecordLog(), lowThresholds);
      const bytes = await bytesOf(exportAgent(source, agentId));
      await importAgent(target, exportAgent(source, agentId, { gzip: true }));
      expect(await bytesOf(exportAgent(target, agentId))).toEqual(bytes);
      expect(await target.getCheckpoints(agentId)).toEqual(await source.getCheckpoints(agentId));
    }
  },
);

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { linkOf } from "../../../src/checkpoint/format/entryCodec.ts";
import { nextTurn } from "../../../src/internal/nextTurn.ts";
import { FileRecordLog } from "../../../src/file.ts";
import { TableRecordLog } from "../../../src/storage.ts";
import { MemoryRecordLog } from "../../../src/storage/memory/MemoryRecordLog.ts";
import { type RecordLogHarness, SimulatedClock } from "../../../src/testing.ts";
import { MemoryTable } from "../../storage/table/MemoryTable.ts";
import { Database } from "../database/Database.ts";
import { DatabaseRecordLog } from "../database/DatabaseRecordLog.ts";
import { agentPath, collect, segmentPaths, testDirectory } from "../../storage/file/support/fixture.ts";
import { anyProcess } from "./anyProcess.ts";
import { ProcessClocks } from "./ProcessClocks.ts";
import type { ReopenableHarness } from "./ReopenableHarness.ts";
import { alterByte, RememberingSha256 } from "./RememberingSha256.ts";
import { WatchedFileSystem } from "./WatchedFileSystem.ts";

export function inMemory(): RecordLogHarness {
  const sha256 = new RememberingSha256();
  const log = new MemoryRecordLog({ sha256 });
  return {
    log,
    reopen: { leftOut: "what is in memory ends with its process" },
    advance: { leftOut: "a log in memory looks at no clock" },
    silence: { leftOut: "an owner in memory lives as long as its process" },
    alter: async (agentId, position) => {
      await collect(log.read(agentId, { after: position - 1, upTo: position }));
      sha256.alterLast();
    },
    alterBlob: async (agentId, reference) => {
      await log.blobs.get(agentId, reference);
      sha256.alterLast();
    },
    loseAnswer: { leftOut: "a write to memory has no answer" },
  };
}

export async function inFiles(): Promise<RecordLogHarness> {
  const directory = await testDirectory();
  const clocks = new ProcessClocks();
  const fileSystem = new WatchedFileSystem();
  const reopen = () => new FileRecordLog({ directory, clock: clocks.start(), fileSystem });
  return {
    log: reopen(),
    reopen,
    advance: async (ms) => {
      clocks.advance(ms);
      await fileSystem.idle();
    },
    silence: () => clocks.stopAll(),
    alter: (agentId, position) => alterLine(directory, agentId, position),
    alterBlob: (agentId, reference) =>
      alterFile(join(agentPath(directory, agentId), "blobs", reference.slice("blob://".length))),
    loseAnswer: () => void (fileSystem.losesAnswer = true),
  };
}

/** A log over a table in memory, which many processes use. */
export function inTable(table: MemoryTable = new MemoryTable()): ReopenableHarness {
  const clocks = new ProcessClocks();
  const reopen = () => new TableRecordLog(table, { clock: clocks.start(), processIdentity: anyProcess });
  return {
    log: reopen(),
    reopen,
    advance: async (ms) => {
      clocks.advance(ms);
      for (let turn = 0; turn < 3; turn++) await nextTurn();
    },
    silence: () => clocks.stopAll(),
    alter: (agentId, at) => alterByte(found(table.agent(agentId).rows.find(({ position }) => position === at)).encoded),
    alterBlob: (agentId, reference) => alterByte(found(table.agent(agentId).blobs.get(reference))),
    loseAnswer: () => void (table.losesAnswer = true),
  };
}

/** @param change makes mistakes in statements of the database. */
export function inDatabase(change: (database: Database) => Partial<Database> = () => ({})): ReopenableHarness {
  const database = new Database();
  Object.assign(database, change(database));
  const [clocks, time] = [new ProcessClocks(), new SimulatedClock()];
  const reopen = () => new DatabaseRecordLog({ database, time, clock: clocks.start() });
  return {
    log: reopen(),
    reopen,
    advance: async (ms) => {
      time.advance(ms);
      clocks.advance(ms);
      await nextTurn();
    },
    silence: () => clocks.stopAll(),
    alter: (agentId, at) => alterByte(found(database.rowsOf(agentId).find(({ position }) => position === at)).body),
    alterBlob: (agentId, reference) => alterByte(found(database.blobs.get(agentId)?.get(reference))),
    loseAnswer: () => void (database.losesAnswer = true),
  };
}

async function alterLine(directory: string, agentId: string, position: number): Promise<void> {
  for (const path of await segmentPaths(directory, agentId)) {
    const bytes = await readFile(path);
    for (let start = 0, end = bytes.indexOf(10); end >= 0; start = end + 1, end = bytes.indexOf(10, start)) {
      const line = bytes.subarray(start, end);
      if (linkOf(line)?.position !== position) continue;
      alterByte(line);
      await writeFile(path, bytes);
      return;
    }
  }
  throw new Error(`there is no line for position ${position}`);
}

async function alterFile(path: string): Promise<void> {
  const bytes = await readFile(path);
  alterByte(bytes);
  await writeFile(path, bytes);
}

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("there is nothing to alter");
  return value;
}

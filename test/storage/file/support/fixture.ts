import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Entry } from "../../../../src/checkpoint/records/Entry.ts";
import { nodeSha256 } from "../../../../src/internal/sha256/nodeSha256.ts";
import { agentFolderName } from "../../../../src/storage/file/layout/AgentFolder.ts";
import { FileRecordLog, type FileRecordLogOptions } from "../../../../src/storage/file/FileRecordLog.ts";
import type { ProcessIdentity } from "../../../../src/nodejs/ProcessIdentity.ts";
import type { AgentSummary, LogOwner, OwnedLog } from "../../../../src/storage/RecordLog.ts";
import { TestClock } from "./TestClock.ts";

/** A folder that goes with the test. */
export async function testDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "agent-persistence-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Processes of one machine that a test starts and ends. */
export class TestMachine {
  readonly #ended = new Set<number>();
  readonly #boot: string;
  #next = 100;

  constructor(boot = "boot-1") {
    this.#boot = boot;
  }

  start(): ProcessIdentity {
    const processId = this.#next++;
    return {
      host: "test",
      bootId: this.#boot,
      pidNamespace: "ns",
      processId,
      processStart: String(processId),
      isRunning: (id) => !this.#ended.has(id),
    };
  }

  end({ processId }: ProcessIdentity): void {
    this.#ended.add(processId);
  }
}

export function testLog(directory: string, options: FileRecordLogOptions = {}): FileRecordLog {
  return new FileRecordLog({
    directory,
    clock: new TestClock(),
    processIdentity: new TestMachine().start(),
    ...options,
  });
}

let owners = 0;
export const nextOwner = (): LogOwner => ({ host: "test", processId: 1, nonce: `nonce-${owners++}` });

export const message = (text: string) => ({ kind: "message", text });

/** Appends at the end, with a generated id. */
export async function append(
  owned: OwnedLog,
  text: string,
  more: { summary?: AgentSummary; snapshot?: boolean } = {},
): Promise<number> {
  return owned.append(
    { id: `${owned.generation}-${owned.position + 1}`, records: [message(text)], ...more },
    owned.position,
  );
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export const textsOf = (entries: readonly Entry[]) =>
  entries.flatMap(({ records }) => records.map((record) => (record as unknown as { text: string }).text));

export function summaryOf(agentId: string, status: string, order = "1"): AgentSummary {
  return {
    agentId,
    status,
    order,
    requestIds: [],
    position: 0,
    createdAt: "2026-01-01T00:00:00.000Z",
    updatedAt: "2026-01-01T00:00:00.000Z",
    data: { note: status },
  };
}

export const agentPath = (directory: string, agentId: string) =>
  join(directory, "tasks", agentFolderName(agentId, nodeSha256));

/** The paths of all segments of an agent, oldest first. */
export async function segmentPaths(directory: string, agentId: string): Promise<string[]> {
  const folder = join(agentPath(directory, agentId), "checkpoints");
  const names = await readdir(folder);
  return names.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)).map((name) => join(folder, name));
}

/** All files below a folder with their contents, a character a byte: strings compare much faster than buffers. */
export async function filesBelow(directory: string): Promise<Map<string, string>> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = found.filter((item) => item.isFile()).map((item) => join(item.parentPath, item.name));
  return new Map(await Promise.all(files.map(async (path) => [path, await readFile(path, "latin1")] as const)));
}

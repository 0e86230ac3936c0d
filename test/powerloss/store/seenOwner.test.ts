import { SimulatedFileSystem } from "agent-persistence/testing";
import type { FileSystem } from "agent-persistence/file";
import { expect, it } from "vitest";
import type { FileRecordLog } from "../../../src/storage/file/FileRecordLog.ts";
import { append, nextOwner, testLog, TestMachine } from "../../storage/file/support/fixture.ts";
import { TestClock } from "../../storage/file/support/TestClock.ts";

const leaseMs = 9000;

function process(fileSystem: FileSystem, boot: string, clock = new TestClock()): FileRecordLog {
  const processIdentity = { ...new TestMachine(boot).start(), sinceBootMs: () => 5 };
  return testLog("/storage", { fileSystem, processIdentity, clock, leaseMs, reserveBytes: 0 });
}

/** Opens the agent after a restart. If another owner seems to be alive, waits for its lease. */
async function openAfter(fileSystem: FileSystem): Promise<number> {
  const clock = new TestClock();
  const log = process(fileSystem, "boot-2", clock);
  const first = await log.open("a", nextOwner()).catch((error: unknown) => error as { readonly code: string });
  if (!("code" in first)) return first.position;
  expect(first.code).toBe("agent_busy");
  clock.advance(leaseMs + 1000);
  return (await log.open("a", nextOwner())).position;
}

it.each<[string, (log: FileRecordLog) => Promise<unknown>]>([
  ["looks at", (log) => log.open("a", nextOwner()).catch((error: unknown) => error)],
  ["stops", (log) => log.requestStop("a", "please")],
])("an agent is intact if the power fails while a process %s an owner that has just begun", async (_, act) => {
  const disk = new SimulatedFileSystem();
  const first = await process(disk, "boot-1").open("a", nextOwner());
  await append(first, "one");
  await first.release();
  let reach = () => {};
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const unsynced: FileSystem = {
    create: (path) => disk.create(path),
    readFile: (path, start, length) => disk.readFile(path, start, length),
    stat: (path) => disk.stat(path),
    link: (existing, path) => disk.link(existing, path),
    rename: (from, to) => disk.rename(from, to),
    unlink: (path) => disk.unlink(path),
    readdir: (path) => disk.readdir(path),
    mkdir: (path) => disk.mkdir(path),
    rmdir: (path) => disk.rmdir(path),
    fsyncDir: (path) => {
      if (!path.endsWith("/checkpoints")) return disk.fsyncDir(path);
      reach();
      return new Promise(() => {});
    },
  };
  void process(unsynced, "boot-1").open("a", nextOwner());
  await reached;
  await act(process(disk, "boot-1"));
  const positions = new Set<number>();
  for (const state of disk.crashStates(disk.position)) positions.add(await openAfter(state.restart()));
  expect([...positions]).toEqual([1]);
});

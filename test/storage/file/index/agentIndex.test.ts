import { SimulatedFileSystem } from "agent-persistence/testing";
import type { FileSystem } from "agent-persistence/file";
import { describe, expect, it } from "vitest";
import { FileRecordLog } from "../../../../src/storage/file/FileRecordLog.ts";
import type { AgentSummary } from "../../../../src/storage/RecordLog.ts";
import { delegating } from "../../../powerloss/delegating.ts";
import { every, wholeSoak } from "../../../soak/cases.ts";
import { Machine } from "../../../powerloss/Machine.ts";
import { append, collect, nextOwner, summaryOf } from "../support/fixture.ts";
import { Interruption } from "./interrupting.ts";

const statuses = ["queued", "in_progress", "waiting", "completed"] as const;
const dueAt = "2026-05-01T00:00:00.000Z";

/** A machine with one agent that is queued. */
class Desk {
  readonly machine = new Machine();
  readonly fileSystem = new SimulatedFileSystem();

  /** @param hasIndex whether somebody has listed agents by status before. */
  static async with(hasIndex: boolean): Promise<Desk> {
    const desk = new Desk();
    const log = desk.process();
    const owned = await log.open("a", nextOwner());
    await append(owned, "x", { summary: summaryOf("a", "queued") });
    await owned.release();
    if (hasIndex) await desk.listed();
    return desk;
  }

  process(through: (files: FileSystem) => FileSystem = (files) => files): FileRecordLog {
    return new FileRecordLog(this.machine.start(through(this.fileSystem)).options);
  }

  /** What a new process lists in each status, and what it lists as due. */
  async listed(log = this.process()): Promise<readonly (readonly string[])[]> {
    const found: (readonly string[])[] = [];
    for (const status of statuses) found.push(shown(await collect(log.list({ status }))));
    found.push(shown(await collect(log.list({ dueBefore: dueAt }))));
    found.push(shown(await collect(log.list({ status: statuses, limit: 9 }))));
    return found;
  }

  /** The same from the logs alone: this process sees no index and can make none. */
  actual(): Promise<readonly (readonly string[])[]> {
    const refuse = async (path: string): Promise<never> => {
      throw Object.assign(new Error(path), { code: "EACCES" });
    };
    const isIndex = (path: string) => path.startsWith("/store/index");
    const blind = (files: FileSystem) =>
      delegating(files, {
        stat: (path) =>
          isIndex(path) ? Promise.reject(Object.assign(new Error(path), { code: "ENOENT" })) : files.stat(path),
        mkdir: (path) => (isIndex(path) ? refuse(path) : files.mkdir(path)),
      });
    return this.listed(this.process(blind));
  }

  /** Moves the agent through every status. */
  async change(log: FileRecordLog): Promise<void> {
    const owned = await log.open("a", nextOwner());
    await append(owned, "x", { summary: summaryOf("a", "in_progress") });
    await append(owned, "x", { summary: { ...summaryOf("a", "waiting"), dueAt } });
    await append(owned, "x", { summary: { ...summaryOf("a", "waiting"), dueAt: "2026-04-01T00:00:00.000Z" } });
    await append(owned, "x", { summary: summaryOf("a", "completed") });
    await owned.release();
  }
}

function shown(summaries: readonly AgentSummary[]): readonly string[] {
  return summaries.map(({ agentId, status, position }) => `${agentId} ${status} ${position}`);
}

class Killed extends Error {}

/** How many calls a process makes for something. */
async function callsOf(hasIndex: boolean, act: (desk: Desk, log: FileRecordLog) => Promise<unknown>): Promise<number> {
  const desk = await Desk.with(hasIndex);
  const counter = new Interruption(0, async () => {});
  await act(
    desk,
    desk.process((files) => counter.of(files)),
  );
  return counter.calls;
}

/** Every call, or some of them. */
function* callsUpTo(last: number, step: number): Generator<number> {
  for (let at = 1; at <= last; at += every(step, 1)) yield at;
}

const changeIt = (desk: Desk, log: FileRecordLog) => desk.change(log);
const listIt = (desk: Desk, log: FileRecordLog) => desk.listed(log);

describe.each([false, true])("the index of agents, existing before: %s", (hasIndex) => {
  it("finds an agent whose owner is killed at any call of a status change", async () => {
    const calls = await callsOf(hasIndex, changeIt);
    expect(calls).toBeGreaterThan(45);
    for (const at of callsUpTo(calls, 7)) {
      const desk = await Desk.with(hasIndex);
      const killed = new Interruption(at, async () => {
        throw new Killed();
      });
      await desk.change(desk.process((files) => killed.of(files))).catch(() => {});
      desk.machine.endAll();
      expect([at, await desk.listed()]).toEqual([at, await desk.actual()]);
      await desk.change(desk.process());
      expect([at, await desk.listed()]).toEqual([at, await desk.actual()]);
    }
  });

  it("finds an agent that another process lists at any call of a status change", async () => {
    const calls = await callsOf(hasIndex, changeIt);
    for (const at of callsUpTo(calls, 3)) {
      const desk = await Desk.with(hasIndex);
      const interrupted = new Interruption(at, async () => {
        if (at % 9 === 1 || wholeSoak) expect([at, await desk.listed()]).toEqual([at, await desk.actual()]);
        else await collect(desk.process().list({ status: "queued" }));
      });
      await desk.change(desk.process((files) => interrupted.of(files)));
      expect([at, await desk.listed()]).toEqual([at, await desk.actual()]);
    }
  });

  it("finds an agent whose owner is killed after a concurrent list, at any two calls", async () => {
    const calls = await callsOf(hasIndex, changeIt);
    for (const at of callsUpTo(calls, 14)) {
      for (const end of [1, 4, 9].map((later) => at + later)) {
        const desk = await Desk.with(hasIndex);
        const killed = new Interruption(end, async () => {
          throw new Killed();
        });
        const listed = new Interruption(at, async () => void (await desk.listed()));
        await desk.change(desk.process((files) => listed.of(killed.of(files)))).catch(() => {});
        desk.machine.endAll();
        expect([at, end, await desk.listed()]).toEqual([at, end, await desk.actual()]);
      }
    }
  });

  it("finds an agent whose status changes at any call of a list or of building the index", async () => {
    const calls = await callsOf(hasIndex, listIt);
    for (const at of callsUpTo(calls, 5)) {
      const desk = await Desk.with(hasIndex);
      const interrupted = new Interruption(at, () => desk.change(desk.process()));
      await desk.listed(desk.process((files) => interrupted.of(files)));
      expect([at, await desk.listed()]).toEqual([at, await desk.actual()]);
    }
  });

  it("is rebuilt after its builder is killed at any call", async () => {
    const calls = await callsOf(hasIndex, listIt);
    for (const at of callsUpTo(calls, 5)) {
      const desk = await Desk.with(hasIndex);
      const killed = new Interruption(at, async () => {
        throw new Killed();
      });
      await desk.listed(desk.process((files) => killed.of(files))).catch(() => {});
      expect([at, await desk.listed()]).toEqual([at, await desk.actual()]);
    }
  });
});

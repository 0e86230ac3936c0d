import type { FileSystem } from "agent-persistence/file";
import { SimulatedFileSystem } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { FileRecordLog } from "../../../../src/storage/file/FileRecordLog.ts";
import type { AgentSummary } from "../../../../src/storage/RecordLog.ts";
import { delegating } from "../../../powerloss/delegating.ts";
import { Machine } from "../../../powerloss/Machine.ts";
import { append, collect, nextOwner, summaryOf } from "../support/fixture.ts";
import { Interruption } from "./interrupting.ts";

const statuses = ["waiting", "failed"] as const;
const dueBefore = "2026-05-01T00:00:00.000Z";
const later = "2026-06-01T00:00:00.000Z";

/** Agents whose order is the opposite of the order of their due times. */
const dueAgents = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    id: `agent-${n}`,
    status: statuses[n % 2] ?? "waiting",
    order: String(2_000 - n),
    dueAt: new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString(),
  }));

/** A storage with many due agents, and a few others. */
class Desk {
  readonly machine = new Machine();
  readonly fileSystem = new SimulatedFileSystem();

  static async open(many: ReturnType<typeof dueAgents>): Promise<Desk> {
    const desk = new Desk();
    const log = desk.process();
    await change(log, "no-time", [summaryOf("no-time", "failed", "0")]);
    // Makes the index, so that the marks are added one by one.
    await collect(log.list({ status: "waiting" }));
    for (const { id, status, order, dueAt } of many)
      await change(log, id, [{ ...summaryOf(id, status, order), dueAt }]);
    await change(log, "not-due", [{ ...summaryOf("not-due", "waiting", "0"), dueAt: later }]);
    await change(log, "other-status", [{ ...summaryOf("other-status", "queued", "0"), dueAt: dueBefore }]);
    return desk;
  }

  process(through: (files: FileSystem) => FileSystem = (files) => files): FileRecordLog {
    return new FileRecordLog(this.machine.start(through(this.fileSystem)).options);
  }

  async due(log = this.process()): Promise<readonly string[]> {
    return (await collect(log.list({ status: statuses, dueBefore }))).map(({ agentId }) => agentId);
  }
}

async function change(log: FileRecordLog, id: string, summaries: readonly AgentSummary[]): Promise<void> {
  const owned = await log.open(id, nextOwner());
  for (const summary of summaries) await append(owned, "x", { summary });
  await owned.release();
}

it("many due agents are listed in order, and the first one without reading the others", async () => {
  const many = dueAgents(700);
  const desk = await Desk.open(many);
  expect(await desk.due()).toEqual(many.map(({ id }) => id).toReversed());
  let [reads, lists] = [0, 0];
  const counted = desk.process((files) =>
    delegating(files, {
      readFile: (path) => (path.endsWith("state.json") && reads++, files.readFile(path)),
      readdir: (path) => (path.includes("/+due/") && lists++, files.readdir(path)),
    }),
  );
  for await (const { agentId } of counted.list({ status: statuses, dueBefore })) {
    expect(agentId).toBe("agent-699");
    break;
  }
  expect(reads).toBeLessThan(10);
  const folder = `/store/index/${(await desk.fileSystem.readdir("/store/index"))[0]}/+due`;
  const folders = (await desk.fileSystem.readdir(folder)).length;
  expect(lists).toBeLessThan(folders);
});

it("many due agents are listed while the due time of one of them changes", async () => {
  const many = dueAgents(300);
  const desk = await Desk.open(many);
  const changed = summaryOf("agent-7", "failed", "1993");
  const changes = [later, "2026-02-01T00:00:00.000Z", later].map((dueAt) => ({ ...changed, dueAt }));
  const rest = many
    .map(({ id }) => id)
    .toReversed()
    .filter((id) => id !== "agent-7");
  const lists: (readonly string[])[] = [];
  const calls = new Interruption(0, async () => {});
  await change(
    desk.process((files) => calls.of(files)),
    "agent-7",
    changes,
  );
  for (let at = 1; at <= calls.calls; at += 5) {
    const listing = new Interruption(at, async () => void lists.push(await desk.due()));
    await change(
      desk.process((files) => listing.of(files)),
      "agent-7",
      changes,
    );
  }
  for (const list of lists) expect(list.filter((id) => id !== "agent-7")).toEqual(rest);
  expect(new Set(lists.map(({ length }) => length))).toEqual(new Set([299, 300]));
  expect(await desk.due()).toEqual(rest);
});

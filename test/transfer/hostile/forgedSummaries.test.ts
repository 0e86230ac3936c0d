import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { backupStorage, restoreBackup } from "agent-persistence/backup";
import { LogPersistenceStorageProvider, TableRecordLog } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { encodeEntry } from "../../../src/checkpoint/format/entryCodec.ts";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { receiveLog } from "../../../src/transfer/importAgent.ts";
import { collect, testDirectory } from "../../storage/file/support/fixture.ts";
import { MemoryTable } from "../../storage/table/MemoryTable.ts";
import { archiveWith } from "../forgedArchives.ts";
import { inPieces, storages, waitingPayer } from "../movedAgents.ts";

const targets: typeof storages = {
  ...storages,
  "a database": async () => new LogPersistenceStorageProvider(new TableRecordLog(new MemoryTable())),
};
const at = Date.parse("2026-03-04T05:06:07.000Z");
const time = new Date(at).toISOString();
const plausible = { agentId: "thread:x", requestIds: [], position: 0, createdAt: time, updatedAt: time, data: {} };
const forged = {
  empty: {},
  "of a queued task": { ...plausible, status: "queued", order: "!0 0", taskName: "pay" },
  "with another order": { ...plausible, status: "thread", order: "!0 0" },
  "with an impossible time": { ...plausible, status: "thread", order: "~~1 thread:x", updatedAt: "never" },
};

/** An archive of a graph thread with one line. */
function archive(summary: object, { agentId = "thread:x", shapedAt = at as unknown } = {}): Buffer {
  const records = [{ kind: "shape", shape: "thread", version: 1, at: shapedAt }];
  const entry = { position: 1, generation: 1, id: "1-1", prev: "", records, summary };
  const { encoded } = encodeEntry(entry, nodeSha256);
  return archiveWith({
    header: {
      archive: 1,
      format: 1,
      library: "agent-persistence",
      agentId,
      position: 1,
      generation: 1,
      shape: "thread",
    },
    parts: [{ kind: "line", bytes: encoded.slice(0, -1) }],
  });
}

describe.each(Object.keys(targets))("an archive of a thread that %s receives", (name) => {
  it.each(Object.entries(forged))("lists it behind the agents, although its summary is %s", async (_, summary) => {
    const target = await targets[name]!();
    await waitingPayer(target);
    await receiveLog(target as never, inPieces(archive(summary), 1000), {});
    const listed = await collect(target.log.list());
    expect(listed.map(({ agentId, status }) => [agentId, status])).toEqual([
      ["order-7", "waiting"],
      ["thread:x", "thread"],
    ]);
    expect(await collect(target.log.list({ status: "queued" }))).toEqual([]);
  });

  it("keeps the times of its summary", async () => {
    const target = await targets[name]!();
    const summary = { ...plausible, status: "thread", order: "~~1 thread:x", updatedAt: "2026-04-05T06:07:08.000Z" };
    await receiveLog(target as never, inPieces(archive(summary), 1000), {});
    const [listed] = await collect(target.log.list());
    expect(listed).toMatchObject({ createdAt: time, updatedAt: summary.updatedAt });
  });

  it.each([["never"], [9e15], [null]])("refuses it if it began at %s", async (shapedAt) => {
    const target = await targets[name]!();
    const received = receiveLog(target as never, inPieces(archive({}, { shapedAt }), 1000), {});
    await expect(received).rejects.toMatchObject({ code: "invalid_archive" });
    expect(await collect(target.log.list())).toEqual([]);
  });

  it("refuses an id that is too long, and restores the other logs of the backup", async () => {
    const [source, target, directory] = [await targets[name]!(), await targets[name]!(), await testDirectory()];
    await waitingPayer(source);
    const backup = join(directory, "backup");
    await backupStorage(source, { directory: backup });
    const agentId = `thread:${"x".repeat(1024)}`;
    await writeFile(join(backup, "logs", `${nodeSha256.hex(agentId).slice(0, 40)}.archive`), archive({}, { agentId }));
    expect(await readdir(join(backup, "logs"))).toHaveLength(2);
    expect(await restoreBackup(target, { directory: backup })).toMatchObject({
      restored: ["order-7"],
      failed: [{ error: { code: "invalid_archive" } }],
    });
  });
});

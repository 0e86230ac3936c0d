import { importAgent } from "agent-persistence/transfer";
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { blobCellsIn, packsIn } from "../../../src/checkpoint/records/blobReferences.ts";
import type { AgentRecord } from "../../../src/checkpoint/records/AgentRecord.ts";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import type { ArchivePart } from "../../../src/transfer/format/archiveFormat.ts";
import { ImportedLog, type ImportedLogOptions, withoutValues, heapBytes } from "../../../src/transfer/ImportedLog.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { partsOf } from "../forgedArchives.ts";
import { longArchive } from "../longArchive.ts";
import { finish, inPieces, storages, waitingPayer } from "../movedAgents.ts";

function addAll(parts: readonly ArchivePart[], options: ImportedLogOptions): void {
  const log = new ImportedLog(nodeSha256, options);
  for (const part of parts)
    if (part.kind === "line") log.addLine(part.bytes);
    else log.addBlob(part.reference);
}

describe("an import", () => {
  it("holds no values of the lines after the newest snapshot", async () => {
    const program = join(import.meta.dirname, "importOfLargeLines.ts");
    const env = { ...process.env, TSX_TSCONFIG_PATH: join(import.meta.dirname, "../../tsconfig.json") };
    const execArgv = ["--max-old-space-size=64", "--import", "tsx"];
    const child = fork(program, { execArgv, env, stdio: "ignore" });
    const exited = once(child, "exit").then(([code, signal]) => ({ code, signal }) as const);
    expect(await Promise.race([once(child, "message"), exited])).toEqual(["order-7", undefined]);
  });

  it.each([
    [
      "texts in fields without values",
      2,
      (line: number) => ({ kind: "name", name: `n${line}`, more: "x".repeat(5_000_000) }),
    ],
    ["inputs of runs", 2, (line: number) => ({ kind: "run", run: `r${line}`, at: 1, input: "x".repeat(5_000_000) })],
  ])("refuses lines that take too much memory together: %s", async (_what, lines, record) => {
    const archive = await longArchive(lines, record);
    const target = await storages["memory"]!();
    await expect(importAgent(target, inPieces(archive, 65_536))).rejects.toMatchObject({
      code: "invalid_archive",
      found: "its lines need more than 16777216 bytes of memory, a limit that rises with maxPartBytes",
    });
    expect(await collect(target.log.list())).toEqual([]);
    await importAgent(target, inPieces(archive, 65_536), { maxPartBytes: 128 * 1024 * 1024 });
    expect(await collect(target.log.list())).toHaveLength(1);
  });

  it("counts small records", async () => {
    const { parts } = await partsOf(await longArchive(1_000, (line) => ({ kind: "name", name: `n${line}` }) as never));
    expect(() => addAll(parts, { mostBytes: 200_000 })).not.toThrow();
    expect(() => addAll(parts, { mostBytes: 100_000 })).toThrow("its lines need more than 100000 bytes of memory");
  });

  it("of a fork counts the values too", async () => {
    const archive = await longArchive(
      1,
      () => ({ kind: "storage", lane: 1, key: "k", value: "x".repeat(10_000) }) as never,
    );
    const { parts } = await partsOf(archive);
    expect(() => addAll(parts, { mostBytes: 15_000 })).not.toThrow();
    expect(() => addAll(parts, { isFork: true, mostBytes: 15_000 })).toThrow("more than 15000 bytes of memory");
  });
});

it("a record without its values names the same blobs in less memory", async () => {
  const storage = await storages["memory"]!();
  const made = await waitingPayer(storage);
  await finish(made);
  const [checkpoint] = await made.durable.getCheckpoints();
  await made.durable.rollbackToCheckpoint(checkpoint!.checkpointId);
  let [whole, lean] = [0, 0];
  for (const { records } of await collect(storage.log.read("order-7"))) {
    for (const record of records as readonly AgentRecord[]) {
      const without = withoutValues(record);
      expect(blobCellsIn(without)).toEqual(blobCellsIn(record));
      expect(packsIn(without)).toEqual(packsIn(record));
      whole += heapBytes(record);
      lean += heapBytes(without);
    }
  }
  expect(lean).toBeLessThan(whole);
});

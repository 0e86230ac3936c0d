import { exportAgent, finishMove, importAgent } from "agent-persistence/transfer";
import { describe, expect, it } from "vitest";
import type { ArchivePart } from "../../../src/transfer/format/archiveFormat.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { type ArchiveParts, archiveWith, partsOf, withLines } from "../forgedArchives.ts";
import { testSeed } from "../../testSeed.ts";
import { bytesOf, finish, inPieces, payer, storages, waitingPayer } from "../movedAgents.ts";
import { every } from "../../soak/cases.ts";

const last = (record: object) => (given: ArchiveParts) =>
  withLines(given, (entry) =>
    entry.position === given.header.position ? { ...entry, records: [...entry.records, record as never] } : entry,
  );
const header = (fields: object) => (given: ArchiveParts) =>
  archiveWith({ ...given, header: { ...given.header, ...fields } });
const status = (fields: object) =>
  last({ kind: "status", run: "r", status: "waiting", at: 1, requests: [], ...fields });
const highest = Number.MAX_SAFE_INTEGER;

const forged: readonly (readonly [string, (given: ArchiveParts) => Uint8Array])[] = [
  ["has an unknown status", status({ status: "hacked" })],
  ["has the status of a moved agent", status({ status: "moved" })],
  ["waits until no time", status({ until: 1e300 })],
  ["waits until a text", status({ until: "tomorrow" })],
  ["has an invalid priority", last({ kind: "task", name: "t", priority: "high" })],
  ["has an empty name", last({ kind: "name", name: "", version: 1 })],
  ["has a name like the id of another checkpoint", last({ kind: "name", name: "1-2", version: 1 })],
  ["has a long name", last({ kind: "name", name: "x".repeat(257), version: 1 })],
  ["has a lane above all others", last({ kind: "lane", lane: highest, from: 1, keep: "all" })],
  [
    "has an origin above all lanes",
    last({ kind: "origin", agentId: "b", version: 1, position: 1, checksum: "", nextLane: highest }),
  ],
  [
    "has a checkpoint above all others",
    last({ kind: "checkpoint", lane: 1, version: highest, at: 1, node: "ask", iteration: 1 }),
  ],
  ["states another generation", header({ generation: 2 ** 40 })],
  ["lacks the blobs", (given) => archiveWith({ ...given, parts: given.parts.filter(({ kind }) => kind === "line") })],
  [
    "names a missing blob",
    last({ kind: "storage", lane: 1, key: "large", value: { $blob: [`blob://${"0".repeat(64)}-1`, 5] } }),
  ],
  [
    "has each blob twice",
    (given) =>
      archiveWith({
        ...given,
        parts: given.parts.flatMap((part): readonly ArchivePart[] => (part.kind === "blob" ? [part, part] : [part])),
      }),
  ],
  ["has its parts in another order", (given) => archiveWith({ ...given, parts: [...given.parts].reverse() })],
  ["lacks its first line", (given) => archiveWith({ ...given, parts: given.parts.slice(2) })],
  ["was pruned of everything", last({ kind: "pruned", upTo: highest, restated: [], nextNumber: 1, blobs: [] })],
  ["is in the middle of a rollback to no checkpoint", last({ kind: "rollback", target: 999, calls: [], closed: [] })],
  ["contains two archives", (given) => Buffer.concat([archiveWith(given), archiveWith(given)])],
];

describe.each(["memory", "files"])("a forged archive with valid checksums, imported into %s", (name) => {
  it.each(forged)("is refused unchanged and as a fork when it %s, without storing data", async (_what, forge) => {
    const source = await storages["memory"]!();
    await waitingPayer(source);
    const archive = forge(await partsOf(await bytesOf(exportAgent(source, "order-7"))));
    const target = await storages[name]!();
    for (const options of [{}, { agentId: "order-8" }])
      await expect(importAgent(target, inPieces(archive, 5000), options)).rejects.toMatchObject({
        code: "invalid_archive",
      });
    expect(await collect(target.log.list())).toEqual([]);
  });

  it("is listed by its records, whatever its summaries state about status and place", async () => {
    const source = await storages["memory"]!();
    await waitingPayer(source);
    const parts = await partsOf(await bytesOf(exportAgent(source, "order-7")));
    const forgedSummary = { status: "completed", order: "z", runId: "no", agentId: "other" };
    const target = await storages[name]!();
    await importAgent(
      target,
      inPieces(
        withLines(parts, (entry) => ({ ...entry, summary: forgedSummary })),
        5000,
      ),
    );
    const moved = last({ kind: "custody", state: "moved", at: 1, to: { agentId: "other" } })(parts);
    await importAgent(target, inPieces(moved, 5000), { agentId: "order-8" });
    expect(await collect(target.log.list())).toMatchObject([
      { agentId: "order-7", status: "copied" },
      { agentId: "order-8", status: "waiting" },
    ]);
    expect(await finish(payer(target), "order-8")).toMatchObject({ output: "ann, 800" });
  });

  it("is refused when cut at any byte", async () => {
    const source = await storages["memory"]!();
    await waitingPayer(source);
    const archive = await bytesOf(exportAgent(source, "order-7"));
    const target = await storages[name]!();
    const stride = name === "memory" ? every(11, 1) : every(211, 7);
    // Each seed cuts at other bytes.
    for (let at = testSeed % stride; at < archive.length; at += stride) {
      const refusal = importAgent(target, inPieces(archive.subarray(0, at), 5000));
      await expect(refusal).rejects.toMatchObject({ code: "invalid_archive" });
    }
    expect(await collect(target.log.list())).toEqual([]);
  });
});

it("a finished move accepts no receipt of an import to another place", async () => {
  const source = await storages["memory"]!();
  await waitingPayer(source);
  const archive = await bytesOf(exportAgent(source, "order-7", { move: true }));
  const [one, other] = [await storages["files"]!(), await storages["files"]!()];
  const { receipt } = await importAgent(one, inPieces(archive, 5000));
  const second = await importAgent(other, inPieces(archive, 5000));
  await finishMove(source, "order-7", receipt);
  await finishMove(source, "order-7", receipt);
  await expect(finishMove(source, "order-7", second.receipt)).rejects.toMatchObject({ code: "agent_moved" });
});

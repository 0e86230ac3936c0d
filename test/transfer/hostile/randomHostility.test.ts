import { exportAgent, importAgent } from "agent-persistence/transfer";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, it } from "vitest";
import { collect } from "../../storage/file/support/fixture.ts";
import { type ArchiveParts, archiveWith, partsOf } from "../forgedArchives.ts";
import { bytesOf, inPieces, storages, waitingPayer } from "../movedAgents.ts";
import { cases } from "../../soak/cases.ts";

/** Changes bytes: some are flipped, a range is cut out, or comes twice, or elsewhere, or is written anew. */
const damage = fc.oneof(
  fc.record({ kind: fc.constant("flip" as const), at: fc.double({ min: 0, max: 0.999, noNaN: true }), bit: fc.nat(7) }),
  fc.record({
    kind: fc.constantFrom("cut" as const, "repeat" as const, "move" as const, "digits" as const),
    at: fc.double({ min: 0, max: 0.999, noNaN: true }),
    length: fc.integer({ min: 1, max: 3000 }),
  }),
);
type Damage = typeof damage extends fc.Arbitrary<infer Value> ? Value : never;

function damaged(bytes: Buffer, change: Damage): Buffer {
  const at = Math.floor(change.at * bytes.length);
  if (change.kind === "flip") {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ (1 << change.bit);
    return changed;
  }
  const [before, range, after] = [
    bytes.subarray(0, at),
    bytes.subarray(at, at + change.length),
    bytes.subarray(at + change.length),
  ];
  if (change.kind === "cut") return Buffer.concat([before, after]);
  if (change.kind === "repeat") return Buffer.concat([before, range, range, after]);
  if (change.kind === "move") return Buffer.concat([range, before, after]);
  return Buffer.concat([before, Buffer.from(range.toString("latin1").replaceAll(/[0-9]/g, "9"), "latin1"), after]);
}

/** Other parts in another order, with an end that fits them. */
const sections = fc.record({
  kind: fc.constant("sections" as const),
  order: fc.array(fc.nat(30), { minLength: 1, maxLength: 20 }),
});

function reordered({ header, parts }: ArchiveParts, order: readonly number[]): Buffer {
  return archiveWith({ header, parts: order.map((at) => parts[at % parts.length]!) });
}

it.each(["memory", "files"])(
  "a randomly damaged or composed archive is refused by %s with a typed error, or is unchanged",
  async (name) => {
    const source = await storages["memory"]!();
    await waitingPayer(source);
    const archive = await bytesOf(exportAgent(source, "order-7"));
    const parts = await partsOf(archive);
    const target = await storages[name]!();
    const property = fc.asyncProperty(fc.oneof(damage, sections), fc.boolean(), async (change, gzip) => {
      const changed = change.kind === "sections" ? reordered(parts, change.order) : damaged(archive, change);
      if (changed.equals(archive)) return;
      const given = gzip ? gzipSync(changed) : changed;
      const error: unknown = await importAgent(target, inPieces(given, 3000)).catch((cause: unknown) => cause);
      expect(error).toMatchObject({ code: "invalid_archive" });
      expect(await collect(target.log.list())).toEqual([]);
    });
    await fc.assert(property, { numRuns: cases(name === "files" ? 20 : 60, 500) });
    await importAgent(target, inPieces(archive, 3000));
  },
);

it.each(["../../escape", "..", "/etc/passwd", "a/../../b", "con", "a\u0000b", "__proto__", "constructor"])(
  "the agent id %j in an archive is refused or stored only inside the storage",
  async (agentId) => {
    const source = await storages["memory"]!();
    await waitingPayer(source);
    const parts = await partsOf(await bytesOf(exportAgent(source, "order-7")));
    const forged = archiveWith({ ...parts, header: { ...parts.header, agentId } });
    const target = await storages["files"]!();
    const report = await importAgent(target, inPieces(forged, 3000)).catch((cause: unknown) => cause);
    const listed = await collect(target.log.list());
    if (report instanceof Error) expect([report, listed]).toMatchObject([{ code: "invalid_archive" }, []]);
    else expect(listed).toMatchObject([{ agentId, status: "copied" }]);
    expect(Object.keys(Object.prototype)).toEqual([]);
  },
);

it("keys like __proto__ in the header or the end of an archive are refused without changing a prototype", async () => {
  const source = await storages["memory"]!();
  await waitingPayer(source);
  const text = (await bytesOf(exportAgent(source, "order-7"))).toString("latin1");
  for (const key of ["__proto__", "constructor", "prototype"]) {
    const forged = [
      text.replace('{"archive":1,', `{"archive":1,"${key}":{"polluted":true},`),
      text.replace('{"lines":', `{"${key}":{"polluted":true},"lines":`),
    ];
    for (const each of forged) {
      const target = await storages["memory"]!();
      const refusal = importAgent(target, inPieces(Buffer.from(each, "latin1"), 3000));
      await expect(refusal).rejects.toMatchObject({ code: "invalid_archive" });
      expect(await collect(target.log.list())).toEqual([]);
    }
  }
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

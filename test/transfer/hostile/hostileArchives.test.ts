import { exportAgent, importAgent } from "agent-persistence/transfer";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { collect } from "../../storage/file/support/fixture.ts";
import { gunzipped } from "../../../src/transfer/gzipStream.ts";
import { archiveWith, partsOf } from "../forgedArchives.ts";
import { bytesOf, inPieces, storages, waitingPayer } from "../movedAgents.ts";
import { cases } from "../../soak/cases.ts";

async function archive(): Promise<Buffer> {
  const source = await storages["memory"]!();
  await waitingPayer(source);
  return bytesOf(exportAgent(source, "order-7"));
}

describe.each(["memory", "files"])("an archive that is imported into %s", (name) => {
  it("is stored only as a whole: if it is cut, changed or extended anywhere, no part is stored", async () => {
    const bytes = await archive();
    const target = await storages[name]!();
    const refused = async (given: Uint8Array, what: string) => {
      const error = await importAgent(target, inPieces(given, 1000)).catch((cause: unknown) => cause);
      expect({ what, error }).toMatchObject({ what, error: { code: "invalid_archive" } });
      expect([what, await collect(target.log.list())]).toEqual([what, []]);
    };
    for (let at = 0; at < bytes.length; at += Math.ceil(bytes.length / cases(12, 200)))
      await refused(bytes.subarray(0, at), `cut at ${at}`);
    await refused(bytes.subarray(0, -1), "cut at the end");
    for (let at = 20; at < bytes.length; at += Math.ceil(bytes.length / cases(20, 300))) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await refused(changed, `changed at ${at}`);
    }
    await refused(Buffer.concat([bytes, Buffer.from("\n")]), "continued");
    await refused(gzipSync(bytes).subarray(0, -20), "compressed and cut");
    const compressed = gzipSync(bytes);
    compressed[compressed.length >> 1] = (compressed[compressed.length >> 1] ?? 0) ^ 255;
    await refused(compressed, "compressed and changed");
    await importAgent(target, inPieces(bytes, 1000));
    expect(await collect(target.log.list())).toHaveLength(1);
  });
});

describe("an archive", () => {
  const header = (fields: object) =>
    `${JSON.stringify({ archive: 1, format: 2, library: "agent-persistence", agentId: "a", position: 1, generation: 1, ...fields })}\n`;
  const hostile: readonly (readonly [string, string | Uint8Array])[] = [
    ["is empty", ""],
    ["is text", "hello\n"],
    ["has no line break", "x".repeat(100_000)],
    ["is of a later version", header({ archive: 2 })],
    ["has lines of a later version", header({ format: 99 })],
    ["has an invalid id", header({ agentId: "" })],
    ["has an impossible generation", `${header({ generation: 2 ** 45 })}{"lines":0,"blobs":0,"sha256":""}\n`],
    ["has no lines", `${header({})}{"lines":0,"blobs":0,"sha256":""}\n`],
    ["states a line longer than the limit", `${header({})}line 9999999999\n`],
    ["states a line longer than permitted", `${header({})}line ${16 * 1024 * 1024 + 1}\nx`],
    ["states a line longer than its content", `${header({})}line 16000000\nx`],
    ["has an unknown part", `${header({})}file 3 ../x\nabc\n`],
    ["has a different blob", `${header({})}blob 3 blob://${"0".repeat(64)}-1\nabc\n\n`],
    ["is a decompression bomb", gzipSync(Buffer.alloc(50_000_000))],
  ];
  it.each(["inbox:order-7", "rate:x", "schedule:q", "slot 1", "lock-once-z"])(
    "with the id %s of a log of the library is refused",
    async (agentId) => {
      const target = await storages["memory"]!();
      const { header: own, parts } = await partsOf(await archive());
      const forged = archiveWith({ header: { ...own, agentId }, parts });
      const message = expect.stringContaining("no valid agent id");
      await expect(importAgent(target, inPieces(forged, 1000))).rejects.toMatchObject({
        code: "invalid_archive",
        message,
      });
      expect(await collect(target.log.list())).toEqual([]);
    },
  );

  it("with a large line is refused before the line is read, unless its caller permits it", async () => {
    const target = await storages["memory"]!();
    let read = 0;
    async function* huge() {
      yield Buffer.from(`${header({})}line 1073741824\n`);
      for (; read < 64; read++) yield Buffer.alloc(1024 * 1024, "x");
    }
    await expect(importAgent(target, huge())).rejects.toMatchObject({
      code: "invalid_archive",
      message: expect.stringContaining("maxPartBytes allows 16777216"),
    });
    expect(read).toBe(0);
    await expect(importAgent(target, huge(), { maxPartBytes: Number.POSITIVE_INFINITY })).rejects.toMatchObject({
      code: "invalid_archive",
    });
    expect(read).toBe(64);
  });

  it("with a part of the maximum size is imported", async () => {
    const bytes = await archive();
    const sizes = [...bytes.toString("latin1").matchAll(/^(?:line|blob) (\d+)/gm)].map(([, size]) => Number(size));
    const largest = Math.max(...sizes);
    const target = await storages["memory"]!();
    const refused = importAgent(target, inPieces(bytes, 1000), { maxPartBytes: largest - 1 });
    await expect(refused).rejects.toMatchObject({ code: "invalid_archive" });
    await importAgent(target, inPieces(bytes, 1000), { maxPartBytes: largest });
    expect(await collect(target.log.list())).toHaveLength(1);
  });

  it.each([
    ["empty arrays", "[],", 262_144],
    ["keys", '"k":0,', 262_144],
    ["numbers", "1,", 524_288],
  ])("with a line of too many %s is refused before the line is parsed", async (_what, item, count) => {
    const target = await storages["memory"]!();
    const parse = vi.spyOn(JSON, "parse");
    onTestFinished(() => parse.mockRestore());
    const line = `["${"x".repeat(43)}","",1,"1-1",[{"kind":"run","x":[${item.repeat(count)}0]}]]`;
    const given = Buffer.from(`${header({})}line ${line.length}\n${line}\n`);
    await expect(importAgent(target, inPieces(given, 64 * 1024))).rejects.toMatchObject({
      code: "invalid_archive",
      found: "a line has more than 524288 values and keys, which is one for every 32 bytes of maxPartBytes",
    });
    for (const [text] of parse.mock.calls) expect(text.length).toBeLessThan(1000);
    expect(await collect(target.log.list())).toEqual([]);
    const raised = importAgent(target, inPieces(given, 64 * 1024), { maxPartBytes: 64 * 1024 * 1024 });
    await expect(raised).rejects.toMatchObject({ code: "invalid_archive", found: "a line is not readable (checksum)" });
  });

  it.each(hostile)("that %s is refused", async (_what, content) => {
    const target = await storages["memory"]!();
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    await expect(importAgent(target, inPieces(bytes, 64 * 1024))).rejects.toMatchObject({ code: "invalid_archive" });
    expect(await collect(target.log.list())).toEqual([]);
  });

  it.each(["", "x", "hello", '{"archive"', "hello\n", "PK\u0003\u0004 and more", '{"some":"json"}\n'])(
    "that is the short file %j is distinguished from a truncated archive",
    async (content) => {
      const refusal = importAgent(await storages["memory"]!(), inPieces(Buffer.from(content), 3));
      const message = expect.stringContaining("it does not start with the header of an archive") as string;
      await expect(refusal).rejects.toMatchObject({ code: "invalid_archive", message });
    },
  );

  it("with too many blobs before a line is refused at the limit", async () => {
    const target = await storages["memory"]!();
    const { blobs } = target.log;
    const put = blobs.put.bind(blobs);
    let puts = 0;
    blobs.put = (...given) => {
      puts++;
      return put(...given);
    };
    const piece = 1_000;
    const blobAt = (at: number) => {
      const text = String(at);
      return `blob ${text.length} blob://${createHash("sha256").update(text).digest("hex")}-1\n${text}\n`;
    };
    async function* many() {
      yield Buffer.from(header({}));
      for (let at = 0; at < 200_000; at += piece)
        yield Buffer.from(Array.from({ length: piece }, (_, next) => blobAt(at + next)).join(""));
    }
    await expect(importAgent(target, many())).rejects.toMatchObject({
      code: "invalid_archive",
      found: "more than 100000 blobs come before one line",
    });
    expect(puts).toBeGreaterThan(0);
    expect(puts).toBeLessThanOrEqual(100_000);
    expect(await collect(target.log.list())).toEqual([]);
  });

  it("that grows more than 100 times when it is decompressed is refused before it fills the device", async () => {
    const { log } = await storages["memory"]!();
    let stored = 0;
    log.blobs.put = async (_agentId, _generation, bytes) => {
      stored += bytes.length;
      return `blob://${createHash("sha256").update(bytes).digest("hex")}-1`;
    };
    const target = new LogPersistenceStorageProvider(log);
    const size = 8 * 1024 * 1024;
    const blobs = Array.from({ length: 19 }, (_, at) => {
      const blob = Buffer.alloc(size);
      blob.writeUInt8(at);
      const head = `blob ${size} blob://${createHash("sha256").update(blob).digest("hex")}-1\n`;
      return Buffer.concat([Buffer.from(head), blob, Buffer.from("\n")]);
    });
    const bytes = gzipSync(Buffer.concat([Buffer.from(header({})), ...blobs]));
    await expect(importAgent(target, inPieces(bytes, 1000))).rejects.toMatchObject({
      code: "invalid_archive",
      found: expect.stringContaining("raise maxPartBytes"),
    });
    expect(stored).toBeLessThanOrEqual(128 * 1024 * 1024 + 100 * bytes.length);
    const zeros = gzipSync(Buffer.alloc(1_000_000));
    expect(await bytesOf(gunzipped(inPieces(zeros, 100), 1_000_000))).toHaveLength(1_000_000);
  });

  it("is read on demand and only as far as needed", async () => {
    const bytes = await archive();
    const target = await storages["memory"]!();
    let given = 0;
    let ended = false;
    async function* slow() {
      try {
        for await (const piece of inPieces(Buffer.concat([bytes.subarray(0, 400), Buffer.alloc(100_000)]), 100)) {
          given += piece.length;
          yield piece;
        }
      } finally {
        ended = true;
      }
    }
    await expect(importAgent(target, slow())).rejects.toMatchObject({ code: "invalid_archive" });
    expect(given).toBeLessThan(50_000);
    expect(ended).toBe(true);
  });
});

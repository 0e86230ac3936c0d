import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { BlobCell } from "../../src/checkpoint/values/BlobCell.ts";
import { ValueWriter } from "../../src/checkpoint/format/ValueWriter.ts";
import { CorruptBlobError } from "../../src/errors/storedDataErrors.ts";
import { nodeSha256 } from "../../src/internal/sha256/nodeSha256.ts";
import { MemoryBlobStore } from "../../src/storage/memory/MemoryRecordLog.ts";
import { maximumCompressedTextBytes, putBlobs, readBlob } from "../../src/storage/blobs.ts";

const hash = "0".repeat(64);
const store = () => new MemoryBlobStore(async () => nodeSha256);

async function stored(text: string, compressThresholdBytes?: number) {
  const blobs = store();
  const writer = new ValueWriter({ sha256: nodeSha256, inlineThresholdBytes: 16 });
  const value = writer.value(text, "a value");
  const { $blob: cell } = value as { readonly $blob: BlobCell };
  const uploads = writer.takeUploads([{ kind: "storage", lane: 1, key: "k", value }]);
  await putBlobs(blobs, "a", 1, uploads, compressThresholdBytes);
  return { blobs, cell };
}

describe("a compressed blob", () => {
  it.each([
    ["text", "é".repeat(80_000)],
    ["astral characters", "😀".repeat(60_000)],
    ["a lone surrogate", `\ud800${"x".repeat(150_000)}`],
  ])("restores %s", async (_name, text) => {
    const { blobs, cell } = await stored(text);
    expect(cell[0]).toMatch(/^blob:\/\/[0-9a-f]{64}-1\.gz$/);
    expect(JSON.parse((await readBlob(blobs, "a", cell)) ?? "")).toBe(text);
  });

  it.each([
    [99, false],
    [98, true],
  ])("is stored only above the threshold: 99 bytes at a threshold of %i", async (threshold, compressed) => {
    const { cell } = await stored("x".repeat(97), threshold);
    expect([cell[1], cell[0].endsWith(".gz"), cell.length]).toEqual([99, compressed, compressed ? 3 : 2]);
  });

  it("is skipped if compression saves no space", async () => {
    const noise = Array.from({ length: 200 }, (_, at) => nodeSha256.base64url(`${at}`)).join("");
    const { cell } = await stored(noise.slice(0, 40), 1);
    expect(cell).toHaveLength(2);
  });

  it.each([
    ["more bytes than stated", 1_000],
    ["fewer bytes than stated", 40_000_000],
    ["more bytes than are ever compressed", maximumCompressedTextBytes + 1],
    ["more bytes than fit into memory", Number.MAX_SAFE_INTEGER],
  ])("that contains %s is refused", async (_name, length) => {
    const blobs = store();
    const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024));
    const reference = await blobs.put("a", 1, bomb, "gzip");
    await expect(readBlob(blobs, "a", [reference, length, hash])).rejects.toBeInstanceOf(CorruptBlobError);
  });

  it("is refused if its bytes are not gzip data", async () => {
    const blobs = store();
    const reference = await blobs.put("a", 1, Buffer.from("no gzip"), "gzip");
    await expect(readBlob(blobs, "a", [reference, 7, hash])).rejects.toBeInstanceOf(CorruptBlobError);
  });

  it("reads as undefined if it is missing", async () => {
    expect(await readBlob(store(), "a", [`blob://${hash}-1.gz`, 7, hash])).toBeUndefined();
  });
});

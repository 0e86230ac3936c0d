import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { FileSystem } from "../../../src/nodejs/FileSystem.ts";
import { nodeFileSystem } from "../../../src/nodejs/nodeFileSystem.ts";
import type { FileRecordLog } from "../../../src/storage/file/FileRecordLog.ts";
import type { ReadOptions } from "../../../src/storage/RecordLog.ts";
import { append, collect, nextOwner, segmentPaths, testDirectory, testLog } from "./support/fixture.ts";

const text = (number: number) => `${number} ${"é".repeat(500)}`;

/** Counts the bytes that are read of files. Nothing is synced. */
function counting() {
  const counted = { bytes: 0 };
  const fileSystem: FileSystem = {
    ...nodeFileSystem,
    readFile: async (...args) => {
      const bytes = await nodeFileSystem.readFile(...args);
      counted.bytes += bytes.length;
      return bytes;
    },
    create: async (...args) => {
      const file = await nodeFileSystem.create(...args);
      return {
        write: (bytes) => file.write(bytes),
        fdatasync: async () => {},
        fsync: async () => {},
        close: () => file.close(),
      };
    },
    fsyncDir: async () => {},
  };
  return { counted, fileSystem };
}

/** A log of about 2 MB: 100 appends of one owner, and 1,900 of the next, of which one has a snapshot. */
async function longLog() {
  const directory = await testDirectory();
  const { counted, fileSystem } = counting();
  const log = testLog(directory, { fileSystem });
  const first = await log.open("a", nextOwner());
  for (let number = 1; number <= 100; number++) await append(first, text(number));
  await first.release();
  const second = await log.open("a", nextOwner());
  for (let number = 101; number <= 2_000; number++)
    await append(second, text(number), number === 1_950 ? { snapshot: true } : {});
  return { directory, counted, log, owned: second };
}

/** The positions that are read, and what ends the reading. */
async function read(log: FileRecordLog, options: ReadOptions) {
  const positions: number[] = [];
  try {
    for await (const { position } of log.read("a", options)) positions.push(position);
    return { positions };
  } catch (error) {
    const { code, file, line, lastPosition } = error as Record<string, unknown>;
    return { positions, code, file, line, lastPosition };
  }
}

describe("reading the end of a long log in files", () => {
  it("reads only the end of the file, with the result of a full read", async () => {
    const { counted, log } = await longLog();
    const all = await collect(log.read("a"));
    expect(all).toHaveLength(2_000);
    for (const after of [1_997, 2_001, 1_500, 101, 100, 5])
      for (const more of [{}, { upTo: 1_998 }]) {
        const { upTo = Infinity } = more as ReadOptions;
        const wanted = all.filter(({ position }) => position > after && position <= upTo);
        expect(await collect(log.read("a", { after, ...more }))).toEqual(wanted);
      }
    for (const [after, first] of [
      [1_997, 1_998],
      [1_940, 1_950],
      [10, 1_950],
    ] as const)
      expect((await read(log, { after, sinceSnapshot: true })).positions[0]).toBe(first);
    counted.bytes = 0;
    await read(log, { after: 1_997 });
    // So much is read of each end of the file, and a few small ones beside.
    expect(counted.bytes).toBeLessThan(200_000);
  });

  it("costs the same for a longer log", async () => {
    const { counted, log, owned } = await longLog();
    const bytesFor = async (after: number) => {
      counted.bytes = 0;
      expect((await read(log, { after })).positions).toHaveLength(3);
      return counted.bytes;
    };
    const before = await bytesFor(1_997);
    for (let number = 2_001; number <= 4_000; number++) await append(owned, text(number));
    expect(await bytesFor(3_997)).toBeLessThan(before + 1_000);
  });

  it("reports damage and its position like a full read", async () => {
    const { directory, log } = await longLog();
    const path = (await segmentPaths(directory, "a")).at(-1) ?? "";
    const whole = await readFile(path);
    const lines = whole.toString("latin1").split("\n");
    const at = lines.findIndex((line) => line.includes('"1998 '));
    const options = { after: 1_990 };
    for (const damaged of [
      [...lines.slice(0, at), (lines[at] ?? "").replace("1998 ", "1998!"), ...lines.slice(at + 1)],
      [...lines.slice(0, at), ...lines.slice(at + 1)],
      [...lines.slice(0, at), "[]", ...lines.slice(at)],
    ]) {
      await writeFile(path, damaged.join("\n"), "latin1");
      const found = await read(log, options);
      const { positions, ...error } = await read(log, {});
      expect(error).toMatchObject({ code: "corrupt_log", file: path });
      expect(found).toEqual({ ...error, positions: positions.filter((position) => position > 1_990) });
    }
    // The last append is cut short, which only its owner knows.
    await writeFile(path, whole.subarray(0, -100));
    expect(await read(log, options)).toMatchObject({ code: "corrupt_log", lastPosition: 1_999 });
    const other = testLog(directory);
    const { positions } = await read(other, {});
    expect(await read(other, options)).toEqual({ positions: positions.filter((position) => position > 1_990) });
  });
});

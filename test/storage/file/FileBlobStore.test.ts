import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileBlobStore } from "../../../src/storage/file/FileBlobStore.ts";
import { CorruptBlobError } from "../../../src/errors/storedDataErrors.ts";
import { FaultyFileSystem } from "./support/FaultyFileSystem.ts";
import { agentPath, nextOwner, testDirectory, testLog } from "./support/fixture.ts";

it("stores blobs by content and owner and verifies their hashes", async () => {
  const directory = await testDirectory();
  const log = testLog(directory);
  const { blobs } = log;
  const bytes = Buffer.from("some large value");
  await log.open("a", nextOwner());
  const reference = await blobs.put("a", 1, bytes);
  expect(reference).toMatch(/^blob:\/\/[0-9a-f]{64}-1$/);
  expect(await blobs.put("a", 1, bytes)).toBe(reference);
  expect(await blobs.put("a", 2, bytes)).toBe(reference.replace(/1$/, "2"));
  expect(Buffer.from((await blobs.get("a", reference)) ?? [])).toEqual(bytes);
  expect(await blobs.get("b", reference)).toBeUndefined();
  const path = join(agentPath(directory, "a"), "blobs", reference.slice("blob://".length));
  expect(await readFile(path)).toEqual(bytes);
  for (let at = 0; at < bytes.length; at++) {
    await writeFile(path, Buffer.from(bytes).fill((bytes[at] ?? 0) ^ 1, at, at + 1));
    await expect(blobs.get("a", reference)).rejects.toBeInstanceOf(CorruptBlobError);
  }
  await blobs.delete("a", reference);
  await blobs.delete("a", reference);
  expect(await blobs.get("a", reference)).toBeUndefined();
});

it.each([
  "",
  "blob://",
  "blob://../../state.json",
  `blob://${"a".repeat(64)}`,
  `blob://${"a".repeat(64)}-0`,
  `blob://${"A".repeat(64)}-1`,
  `blob://${"a".repeat(64)}-1/..`,
  `blob://${"a".repeat(64)}-1\n`,
  "__proto__",
])("finds no blob for the reference %j", async (reference) => {
  const directory = await testDirectory();
  const log = testLog(directory);
  await log.open("a", nextOwner());
  expect(await log.blobs.get("a", reference)).toBeUndefined();
  await log.blobs.delete("a", reference);
});

it.each(["write", "fsync", "close", "rename"])("a blob whose %s fails leaves no file", async (operation) => {
  const directory = await testDirectory();
  const fileSystem = new FaultyFileSystem();
  const log = testLog(directory, { fileSystem, reserveBytes: 0 });
  const { generation } = await log.open("a", nextOwner());
  const begun = fileSystem.calls.length;
  await log.blobs.put("a", generation, Buffer.from("first"));
  const at = fileSystem.calls.indexOf(operation, begun) - begun;
  fileSystem.failAt(fileSystem.calls.length + at + 1, "ENOSPC", false);
  await expect(log.blobs.put("a", generation, Buffer.from("second"))).rejects.toMatchObject({ reason: "full" });
  const folder = agentPath(directory, "a");
  expect(await readdir(join(folder, "tmp"))).toEqual([]);
  expect(await readdir(join(folder, "blobs"))).toHaveLength(1);
});

describe("a store of blobs", () => {
  it("stores blobs of an agent whose directory was removed", async () => {
    const directory = await testDirectory();
    const store = new FileBlobStore({ directory });
    const other = await store.put("b", 1, Buffer.from("other"));
    await store.put("a", 1, Buffer.from("one"));
    await rm(agentPath(directory, "a"), { recursive: true });
    const reference = await store.put("a", 2, Buffer.from("two"));
    expect(Buffer.from((await store.get("a", reference)) ?? []).toString()).toBe("two");
    await rm(agentPath(directory, "a"), { recursive: true });
    expect(await store.copy("b", other, "a")).toBe(true);
    expect(Buffer.from((await store.get("a", other)) ?? []).toString()).toBe("other");
    expect(await store.copy("b", reference, "a")).toBe(false);
    await rm(agentPath(directory, "a"), { recursive: true });
    const texts = ["three", "four", "five"];
    const stored = await Promise.all(texts.map((text) => store.put("a", 3, Buffer.from(text))));
    const found = await Promise.all(stored.map((each) => store.get("a", each)));
    expect(found.map((bytes) => Buffer.from(bytes ?? []).toString())).toEqual(texts);
  });

  it("removes the temporary files of earlier owners at the first use of an agent", async () => {
    const directory = await testDirectory();
    await new FileBlobStore({ directory }).put("a", 1, Buffer.from("one"));
    const temporary = join(agentPath(directory, "a"), "tmp");
    for (const name of ["1-killed", "2-running"]) await writeFile(join(temporary, name), "on");
    const store = new FileBlobStore({ directory });
    await store.put("a", 2, Buffer.from("two"));
    expect(await readdir(temporary)).toEqual(["2-running"]);
  });
});

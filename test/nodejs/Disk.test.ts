import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { nodeFileSystem } from "agent-persistence/file";
import { expect, it, onTestFinished } from "vitest";
import { Disk } from "../../src/nodejs/Disk.ts";
import { delegating } from "../powerloss/delegating.ts";
import { HastyClock } from "../storage/file/support/TestClock.ts";
import { testDirectory } from "../storage/file/support/fixture.ts";

function onPlatform(value: NodeJS.Platform): void {
  const { platform } = process;
  Object.defineProperty(process, "platform", { value });
  onTestFinished(() => void Object.defineProperty(process, "platform", { value: platform }));
}

/** A disk on which other programs hold a file for its first renames. */
async function heldFile(calls: number, code: string) {
  const directory = await testDirectory();
  const [from, to] = [join(directory, "from"), join(directory, "to")];
  await writeFile(from, "new");
  await writeFile(to, "old");
  let left = calls;
  const refuse = () => {
    if (left-- > 0) throw Object.assign(new Error("held"), { code });
  };
  const fileSystem = delegating(nodeFileSystem, {
    rename: async (...paths) => (refuse(), nodeFileSystem.rename(...paths)),
    unlink: async (path) => (refuse(), nodeFileSystem.unlink(path)),
  });
  return { disk: new Disk(fileSystem, new HastyClock()), from, to };
}

it.each(["EPERM", "EACCES", "EBUSY"])(
  "replaces and removes a file that another program holds for a moment (%s)",
  async (code) => {
    onPlatform("win32");
    const { disk, from, to } = await heldFile(3, code);
    await disk.rename(from, to);
    expect(await readFile(to, "utf8")).toBe("new");
    const removed = await heldFile(3, code);
    await removed.disk.unlink(removed.from);
    expect(await removed.disk.stat(removed.from)).toBeUndefined();
  },
);

it("refuses to replace a file that another program keeps", async () => {
  onPlatform("win32");
  const { disk, from, to } = await heldFile(Infinity, "EPERM");
  await expect(disk.rename(from, to)).rejects.toMatchObject({ code: "storage_failed", reason: "permission" });
});

it("refuses at once without a permission on other systems", async () => {
  onPlatform("linux");
  const { disk, from, to } = await heldFile(1, "EPERM");
  await expect(disk.rename(from, to)).rejects.toMatchObject({ code: "storage_failed", reason: "permission" });
});

it.each([
  ["EPERM", "a FAT file system on Linux"],
  ["ENOTSUP", "a FAT file system on macOS"],
  ["EISDIR", "a FAT file system on Windows"],
])("finds with %s that %s has no hard links", async (code) => {
  const link = () => Promise.reject(Object.assign(new Error("no links"), { code }));
  const disk = new Disk(delegating(nodeFileSystem, { link }), new HastyClock());
  expect(await disk.link("from", "to")).toBe("unsupported");
});

import { chmodSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { aheadOfChanges } from "./changingCalls.ts";
import { temporaryFolder, treeOf } from "../fixture.ts";
import { put, Shell } from "../Shell.ts";
import { every } from "../../soak/cases.ts";

/** `npm test` looks at each so many changes. */
const stride = every(12, 1);

/** Everything below a folder, with the permissions of folders. */
function wholeTree(root: string): Readonly<Record<string, string>> {
  const folders = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isDirectory());
  const modes = folders.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return [path.slice(root.length + 1), `folder ${(lstatSync(path).mode & 0o7777).toString(8)}`] as const;
  });
  return { ...treeOf(root), ...Object.fromEntries(modes) };
}

/** A folder in which an agent replaced folders by files and links, files by folders, and changed permissions. */
async function worked() {
  const root = temporaryFolder();
  put(root, { f1: "1", f2: "1", f3: "1", f4: "1", "priv/s": "1", "d2/x": "1", "ro/a": "1", "conf/c": "1", mv1: "m" });
  mkdirSync(join(root, "gone/empty"), { recursive: true });
  for (const [path, mode] of [
    ["priv", 0o700],
    ["gone/empty", 0o750],
    ["ro", 0o500],
  ] as const)
    chmodSync(join(root, path), mode);
  const before = wholeTree(root);
  const command = () => {
    for (const path of ["gone", "priv", "d2", "f4"]) rmSync(join(root, path), { recursive: true });
    chmodSync(join(root, "ro"), 0o755);
    put(root, { f1: "2", f2: "2", f3: "2", "f4/z": "2", d2: "a file", "ro/a": "2", "made/x/y": "2" });
    renameSync(join(root, "mv1"), join(root, "mv2"));
    renameSync(join(root, "conf"), join(root, "conf1"));
    symlinkSync("conf1", join(root, "conf"));
  };
  const shell = new Shell(root, [command]);
  await shell.run();
  return { root, shell, before, after: wholeTree(root) };
}

describe("a rollback of files, interrupted at any change", () => {
  /** The numbers of the changes that an undisturbed rollback makes. */
  const changes = async (): Promise<readonly number[]> => {
    const { shell, root, before } = await worked();
    const count = await aheadOfChanges(
      () => {},
      () => shell.rollBack(0),
    );
    expect(wholeTree(root)).toEqual(before);
    expect(count).toBeGreaterThan(30);
    return Array.from({ length: count }, (_, at) => at + 1).filter((at) => at % stride === count % stride);
  };

  it("by the end of its process, is finished by the next process", async () => {
    for (const at of await changes()) {
      const { root, shell, before } = await worked();
      const killed = (call: number) => {
        if (call >= at) throw new Error("the process has ended");
      };
      await expect(aheadOfChanges(killed, () => shell.rollBack(0))).rejects.toThrow("the process has ended");
      await shell.rollBack(0);
      expect({ at, tree: wholeTree(root) }).toEqual({ at, tree: before });
    }
  });

  it("by a failure, undoes its writes", async () => {
    for (const at of await changes()) {
      const { root, shell, after } = await worked();
      const fails = (call: number) => {
        if (call === at) throw new Error("the device has failed");
      };
      await expect(aheadOfChanges(fails, () => shell.rollBack(0))).rejects.toThrow("the device has failed");
      expect({ at, tree: wholeTree(root) }).toEqual({ at, tree: after });
    }
  });

  it("by an edit, keeps the edit and restores the other files or none", async () => {
    const ends = new Set<string>();
    for (const at of await changes()) {
      const { root, shell, before, after } = await worked();
      let edited = false;
      const edits = (call: number, path: string) => {
        // Between the last look at a file and its replacement nothing can be seen.
        if (call !== at || path.endsWith("/f3")) return;
        writeFileSync(join(root, "f3"), "person");
        edited = true;
      };
      const end = await aheadOfChanges(edits, () => shell.rollBack(0)).then(
        () => "restored",
        (error: unknown) => (error as { readonly code?: string }).code ?? "",
      );
      ends.add(end);
      const { f3, ...rest } = wholeTree(root);
      const { f3: _f3, ...expected } = end === "restored" ? before : after;
      expect({ at, end, f3, rest }).toEqual({ at, end, f3: edited ? "644 person" : "644 1", rest: expected });
    }
    expect(ends).toContain("restored");
    expect(ends).toContain("file_conflict");
  });
});

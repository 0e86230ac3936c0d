import fs, { mkdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { Workspace } from "agent-persistence/workspace";
import { Coder, temporaryFolder, treeOf } from "../fixture.ts";
import { put, Shell, steps } from "../Shell.ts";

const notUtf8 = Buffer.from([0x63, 0xe9]);

it("a rollback leaves the links in a directory unfollowed", async () => {
  const [root, outside] = [temporaryFolder(), temporaryFolder()];
  put(root, { a: "old" });
  put(outside, Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`deep/${at}`, ""])));
  const shell = new Shell(root, [
    () => {
      rmSync(join(root, "a"));
      put(root, { "a/f": "new" });
      symlinkSync(outside, join(root, "a/out"));
      for (const name of ["l0", "l1", "l2"]) symlinkSync(".", join(root, "a", name));
    },
  ]);
  await shell.run();
  const report = await shell.rollBack(0);
  expect(steps(report)).toEqual(expect.arrayContaining([{ subject: "a/out", change: "delete" }]));
  expect(treeOf(root)).toEqual({ a: "644 old" });
});

it("a link whose target is not UTF-8 is neither moved nor committed", async () => {
  const coder = new Coder([["move_file", { from: "link", to: "moved" }]]);
  symlinkSync(notUtf8, join(coder.root, "link"));
  expect(await coder.run()).toEqual([expect.stringContaining("is a link whose target is not UTF-8")]);
  expect(readlinkSync(join(coder.root, "link"), { encoding: "buffer" })).toEqual(notUtf8);
});

it("a scan skips a link that disappears meanwhile", async () => {
  const root = temporaryFolder();
  mkdirSync(join(root, "d"));
  writeFileSync(join(root, "kept"), "");
  symlinkSync("kept", join(root, "d/link"));
  const read = fs.readlinkSync;
  const restore = (): void => {
    Object.assign(fs, { readlinkSync: read });
    syncBuiltinESMExports();
  };
  onTestFinished(restore);
  Object.assign(fs, {
    readlinkSync: (...given: Parameters<typeof read>) => {
      rmSync(join(root, "d/link"));
      return read(...given);
    },
  });
  syncBuiltinESMExports();
  expect(await new Workspace({ root }).scan()).toMatchObject({ files: 1, leftOut: [] });
});

it("move_file leaves no copy if the old file cannot be removed", async () => {
  const coder = new Coder([["move_file", { from: "from.txt", to: "to.txt" }]]);
  writeFileSync(join(coder.root, "from.txt"), "content");
  const unlink = fs.unlinkSync;
  onTestFinished(() => {
    Object.assign(fs, { unlinkSync: unlink });
    syncBuiltinESMExports();
  });
  Object.assign(fs, {
    unlinkSync: (path: string) => {
      if (path.endsWith("/from.txt"))
        throw Object.assign(new Error("no permission"), { code: "EACCES", syscall: "unlink" });
      unlink(path);
    },
  });
  syncBuiltinESMExports();
  expect(await coder.run()).toEqual([expect.stringContaining("not accessible")]);
  expect(Object.keys(treeOf(coder.root))).toEqual(["from.txt"]);
});

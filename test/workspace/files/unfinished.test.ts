import { spawn } from "node:child_process";
import { readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { Phases } from "../../../src/workspace/files/inPhases.ts";
import { stateOf } from "../../../src/workspace/files/readFile.ts";
import { WorkspaceFiles } from "../../../src/workspace/files/WorkspaceFiles.ts";
import { Coder, temporaryFolder, treeOf } from "../fixture.ts";

const temporaryName = (path: string, processId: number): string =>
  `.${nodeSha256.hex(path).slice(0, 16)}-${processId.toString(16).padStart(8, "0")}01234567.agent-tmp`;

it("temporary files of live processes stay, and those of processes that ended are removed", async () => {
  const root = temporaryFolder();
  const other = spawn("sleep", ["60"]);
  onTestFinished(() => void other.kill());
  const ended = spawn("true");
  await new Promise((resolve) => ended.once("exit", resolve));
  const names = [other.pid, ended.pid, process.pid].map((id) => temporaryName("f", id ?? 0));
  for (const name of names) writeFileSync(join(root, name), "");
  await new WorkspaceFiles(root, 1_000).removeUnfinished(["f"]);
  expect(readdirSync(root)).toEqual(names.slice(0, 1));
});

it("an old temporary file is removed, even if its process id belongs to a process of another user", async () => {
  const root = temporaryFolder();
  const otherUser = vi.spyOn(process, "kill").mockImplementation(() => {
    throw Object.assign(new Error("not permitted"), { code: "EPERM" });
  });
  onTestFinished(() => otherUser.mockRestore());
  const [old, recent] = [temporaryName("f", 4_000_001), temporaryName("f", 4_000_002)];
  for (const name of [old, recent]) writeFileSync(join(root, name), "");
  utimesSync(join(root, old), 0, 0);
  await new WorkspaceFiles(root, 1_000).removeUnfinished(["f"]);
  expect(readdirSync(root)).toEqual([recent]);
});

it("a clean-up while another write is in progress leaves its temporary file", async () => {
  const root = temporaryFolder();
  const files = new WorkspaceFiles(root, 1_000);
  const content = Buffer.from("new");
  const state = { kind: "file", hash: nodeSha256.hex(content), bytes: 3, mode: 0o644 } as const;
  const phases = Object.assign(new Phases(1), { next: () => files.removeUnfinished(["f"]) });
  expect(await files.replace("f", { expected: undefined, state, content, phases })).toBeUndefined();
  expect(treeOf(root)).toEqual({ f: "644 new" });
});

it("write_file refuses content that is not base64", async () => {
  const coder = new Coder([
    ["write_file", { path: "a", content: "data:image/png;base64,!!?", encoding: "base64" }],
    ["write_file", { path: "cut", content: "QUJDR", encoding: "base64" }],
    ["write_file", { path: "b", content: "AP8=\n", encoding: "base64" }],
  ]);
  const refused = expect.stringContaining("not base64") as string;
  expect(await coder.run()).toEqual([refused, refused, { path: "b", bytes: 2, created: true }]);
  expect(Object.keys(treeOf(coder.root))).toEqual(["b"]);
});

it("a file is not replaced if its new content is missing or has another length", async () => {
  const root = temporaryFolder();
  writeFileSync(join(root, "a"), "1");
  const files = new WorkspaceFiles(root, 100);
  const expected = stateOf(await files.read("a"));
  const state = { kind: "file", hash: "0".repeat(64), bytes: 1, mode: 0o644 } as const;
  for (const content of [undefined, new Uint8Array(), new Uint8Array(2)])
    await expect(files.replace("a", { expected, state, content })).rejects.toMatchObject({
      code: "file_access_failed",
    });
  expect([readdirSync(root), readFileSync(join(root, "a"), "utf8")]).toEqual([["a"], "1"]);
});

import { execFileSync } from "node:child_process";
import { chownSync, linkSync, readdirSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { stateOf } from "../../../src/workspace/files/readFile.ts";
import { WorkspaceFiles } from "../../../src/workspace/files/WorkspaceFiles.ts";
import { temporaryFolder } from "../fixture.ts";

const hash = (content: Uint8Array) => nodeSha256.hex(content);

it.runIf(process.getuid?.() === 0)("a replaced file keeps its owner and its group", async () => {
  const root = temporaryFolder();
  const files = new WorkspaceFiles(root, 100);
  for (const name of ["a", "b"]) writeFileSync(join(root, name), "1", { mode: 0o600 });
  for (const name of ["a", "b"]) chownSync(join(root, name), 1_234, 1_235);
  const content = Buffer.from("2");
  const state = { kind: "file", hash: hash(content), bytes: 1, mode: 0o600 } as const;
  await files.replace("a", { expected: stateOf(await files.read("a")), state, content });
  const beforeReplacing = () => {};
  await files.replaceUnchanged("b", { expectedHash: hash(Buffer.from("1")), content, newMode: 0o644, beforeReplacing });
  for (const name of ["a", "b"])
    expect(statSync(join(root, name))).toMatchObject({ size: 1, mode: 0o100600, uid: 1_234, gid: 1_235 });
});

it.runIf(process.getuid?.() === 0)(
  "a file that another process puts in place of the new file keeps its owner",
  async () => {
    const [root, foreign] = [temporaryFolder(), join(temporaryFolder(), "foreign")];
    writeFileSync(join(root, "a"), "1");
    chownSync(join(root, "a"), 1_234, 1_235);
    writeFileSync(foreign, "secret");
    const beforeReplacing = () => {
      const staged = join(root, readdirSync(root).find((name) => name !== "a") ?? "");
      unlinkSync(staged);
      linkSync(foreign, staged);
    };
    const replacement = { expectedHash: hash(Buffer.from("1")), content: Buffer.from("2"), newMode: 0o644 };
    await new WorkspaceFiles(root, 100).replaceUnchanged("a", { ...replacement, beforeReplacing });
    expect(statSync(foreign)).toMatchObject({ uid: 0, gid: 0 });
  },
);

it.runIf(process.getuid?.() === 0)("a file that a member of its group replaces keeps its group", () => {
  const root = temporaryFolder();
  writeFileSync(join(root, "a"), "1");
  for (const path of [root, join(root, "a")]) chownSync(path, path === root ? 1_236 : 1_234, 1_235);
  const script = `
    import { WorkspaceFiles } from ${JSON.stringify(new URL("../../../src/workspace/files/WorkspaceFiles.ts", import.meta.url))};
    process.setgroups([1_235]);
    process.setgid(1_236);
    process.setuid(1_236);
    const replacement = { content: Buffer.from("2"), newMode: 0o644, beforeReplacing: () => {} };
    const expectedHash = ${JSON.stringify(hash(Buffer.from("1")))};
    await new WorkspaceFiles(${JSON.stringify(root)}, 100).replaceUnchanged("a", { ...replacement, expectedHash });`;
  const config = fileURLToPath(new URL("../../tsconfig.json", import.meta.url));
  const env = { ...process.env, TSX_TSCONFIG_PATH: config };
  execFileSync(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], { env });
  expect(statSync(join(root, "a"))).toMatchObject({ uid: 1_236, gid: 1_235 });
});

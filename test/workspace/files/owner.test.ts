import { chownSync, linkSync, readdirSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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

import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const script = fileURLToPath(new URL("./asOrdinaryUser.ts", import.meta.url));
const config = fileURLToPath(new URL("../tsconfig.json", import.meta.url));

/** Permissions do not stop root: then the scenarios run as a user who owns nothing else. */
const nobody = 65_534;
const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};

let folder = "";
let seen: Readonly<Record<string, unknown>> = {};

function open(at: string): void {
  chmodSync(at, 0o700);
  for (const entry of readdirSync(at, { withFileTypes: true })) if (entry.isDirectory()) open(join(at, entry.name));
}

describe.skipIf(process.platform === "win32")("a workspace of a user with limited permissions", () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "agent-user-"));
    if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
    const env = { ...process.env, TSX_TSCONFIG_PATH: config };
    const output = execFileSync(process.execPath, ["--import", "tsx", script, folder], { ...user, env });
    seen = JSON.parse(output.toString()) as typeof seen;
  });

  afterAll(() => {
    open(folder);
    rmSync(folder, { recursive: true, force: true });
  });

  it("an unreadable directory or file is left out with the reason and fails neither scan nor capture", () => {
    const reason = "could not be read";
    const leftOut = ["secret", "listed/inner", "listed/y", "locked"].map((path) => ({ path, reason }));
    const { leftOut: found, ...rest } = seen["unreadable"] as { readonly leftOut: readonly unknown[] };
    expect(found).toHaveLength(leftOut.length);
    expect(found).toEqual(expect.arrayContaining(leftOut));
    expect(rest).toEqual({
      outputs: ["done"],
      changed: ["a"],
      preview: ["write a"],
      asked: [],
      report: ["a: write"],
      a: "1",
    });
  });

  it("a command that makes directories unreadable completes, and a rollback reports unknown changes", () => {
    const notKnown = "not restored: could not be read after the command, so its changes are unknown";
    expect(seen["madeUnreadable"]).toEqual({
      outputs: ["done"],
      changed: ["a", ".gitignore"],
      preview: ["write a", "delete .gitignore", "not_restored d", "not_restored e", "not_restored f"],
      asked: [],
      report: [
        ".gitignore: delete",
        "d: restore permissions",
        "e: restore permissions",
        "a: write",
        `d: ${notKnown}`,
        `e: ${notKnown}`,
        "f: not restored: could not be read",
      ],
      a: "1",
      modes: ["755", "755"],
    });
  });

  it("a directory that is not writable at the rollback is a conflict with the options skip and abort, in preview and report", () => {
    const preview = ["write gone", "write other", "conflict ro/f"];
    const conflict = {
      kind: "file_unreachable",
      path: "ro/f",
      reason: "is in a folder in which this process may not write",
      options: ["skip", "abort"],
    };
    const refused = { preview, code: "file_conflict", conflicts: [conflict] };
    const asked = ["file_unreachable ro/f"];
    expect(seen["unwritable"]).toEqual({
      alone: { ...refused, asked: [] },
      aborted: { ...refused, asked },
      before: ["2", "2"],
      skipped: { preview, asked, report: ["gone: write", "other: write", "ro/f: skip"] },
      after: ["2", "1", "1"],
    });
  });

  it("a file and a directory that became unreadable are conflicts, and the rest is restored", () => {
    expect(seen["unreadableAtRollback"]).toEqual({
      preview: ["conflict d/x", "conflict f", "write other"],
      asked: ["file_unreachable d/x", "file_unreachable f"],
      report: ["d/x: skip", "f: skip", "other: write"],
      other: "1",
    });
  });

  it("a file that becomes unreadable during its replacement is a conflict and leaves no temporary file", () => {
    const conflict = {
      kind: "file_unreachable",
      path: "f",
      reason: "is not accessible to this process",
      options: ["skip", "abort"],
    };
    const preview = ["write f", "write other"];
    const end = { preview, asked: ["file_unreachable f"], code: "file_conflict", conflicts: [conflict] };
    expect(seen["unreadableMeanwhile"]).toEqual({ ends: [end], names: ["f", "other"], other: "2" });
  });

  it("a directory that cannot be removed is reported and does not stop a rollback", () => {
    expect(seen["foldersInUnwritable"]).toEqual({
      preview: ["write other", "delete p/made/x"],
      asked: [],
      report: [
        "p/made/x: delete",
        "p/made: not restored: it is not accessible to this process",
        "p/d: restore permissions",
        "other: write",
      ],
      other: "1",
    });
  });

  it("directories that the agent made read-only are restored without a conflict", () => {
    expect(seen["ownFolders"]).toEqual({
      preview: ["write cache/a", "delete cache/b", "delete made/deep/x"],
      asked: [],
      report: [
        "cache/b: delete",
        "made/deep/x: delete",
        "made/deep: remove empty folder",
        "made: remove empty folder",
        "cache: restore permissions",
        "cache/a: write",
      ],
      a: "1",
      mode: "755",
    });
  });
});

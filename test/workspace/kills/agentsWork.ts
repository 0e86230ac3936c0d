import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { seededNumbers } from "../../../src/testing/powerLoss/RecordedTree.ts";
import { linedText } from "./linedText.ts";
import { link, sharedFiles, versionedFiles } from "./paths.ts";

/** What a command does to one file. */
export interface CommandStep {
  readonly does: "write" | "delete" | "rename" | "chmod" | "link" | "remove folder";
  readonly path: string;
  readonly to: string;
  readonly author: string;
}

/** A call of the agent. */
export type Work =
  | { readonly tool: "command"; readonly input: { readonly steps: readonly CommandStep[] } }
  | { readonly tool: "commit_version"; readonly input: { readonly path: string; readonly tag: string } }
  | { readonly tool: string; readonly input: Readonly<Record<string, string>>; readonly paths: readonly string[] };

/** What the agent does in a turn: always the same for one seed. @param turn unique in a life. */
export function agentsWork(seed: number, turn: string): readonly Work[] {
  const random = seededNumbers(Number.parseInt(nodeSha256.hex(`${seed} ${turn}`).slice(0, 8), 16));
  return Array.from({ length: 4 }, (_, at) => workOf(`${turn}.${at}`, random));
}

function oneOf<Item>(items: readonly Item[], random: () => number): Item {
  return items[Math.floor(random() * items.length)] as Item;
}

function workOf(tag: string, random: () => number): Work {
  const path = oneOf(sharedFiles, random);
  const to = oneOf(sharedFiles, random);
  const choice = random();
  if (choice < 0.3) {
    const steps = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, at) => stepOf(`agent-${tag}.${at}`, random));
    return { tool: "command", input: { steps } };
  }
  if (choice < 0.5)
    return { tool: "commit_version", input: { path: oneOf(versionedFiles, random), tag: `commit-${tag}` } };
  if (choice < 0.65) return { tool: "write_file", input: { path, content: linedText(`agent-${tag}`) }, paths: [path] };
  if (choice < 0.85)
    return { tool: "edit_file", input: { path, oldText: "\n3 ", newText: `\n3 agent-${tag}-` }, paths: [path] };
  if (choice < 0.93) return { tool: "delete_file", input: { path }, paths: [path] };
  return { tool: "move_file", input: { from: path, to }, paths: [path, to] };
}

function stepOf(author: string, random: () => number): CommandStep {
  const does = oneOf(["write", "write", "delete", "rename", "chmod", "link", "remove folder"] as const, random);
  return { does, path: oneOf(sharedFiles, random), to: oneOf(sharedFiles, random), author };
}

/** The files that a step may change. */
export function pathsOf({ does, path, to }: CommandStep): readonly string[] {
  if (does === "link") return [link];
  if (does === "remove folder") return ["made/f"];
  return does === "rename" ? [path, to] : [path];
}

/** Does a step as a command does: not atomically, without asking, and giving up where a person is faster. */
export function carryOut(root: string, step: CommandStep): void {
  try {
    carryOutAlone(root, step);
  } catch (error) {
    if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

function carryOutAlone(root: string, { does, path, to, author }: CommandStep): void {
  const at = join(root, path);
  const exists = lstatSync(at, { throwIfNoEntry: false }) !== undefined;
  if (does === "remove folder") return rmSync(join(root, "made"), { recursive: true, force: true });
  if (does === "link") {
    rmSync(join(root, link), { force: true });
    return symlinkSync(author, join(root, link));
  }
  if (does === "write") {
    mkdirSync(dirname(at), { recursive: true });
    return writeFileSync(at, linedText(author));
  }
  if (!exists) return;
  if (does === "delete") return rmSync(at);
  if (does === "chmod") return chmodSync(at, author.length % 2 === 0 ? 0o600 : 0o755);
  mkdirSync(dirname(join(root, to)), { recursive: true });
  renameSync(at, join(root, to));
}

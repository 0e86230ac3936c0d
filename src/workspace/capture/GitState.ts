import { z } from "zod";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { IndexEntry } from "../git/gitChanges.ts";
import { branchSchema, commitIdSchema } from "../git/refName.ts";

export interface GitHead {
  /** The full name of the current branch. Omitted if HEAD is detached. */
  readonly branch?: string;
  /** The current commit. Omitted if the branch has no commit. */
  readonly commit?: string;
}

export interface GitState {
  readonly head: GitHead;
  /** Index entries by path from the top of the work tree, in the format of git, with one line for each stage. */
  readonly index: ReadonlyMap<string, string>;
  readonly indexHash: string;
}

/** A changed index entry. A missing side means that no entry existed. */
export interface IndexChange {
  readonly path: string;
  readonly before?: string;
  readonly after?: string;
}

export interface GitNote {
  readonly head: GitHead;
  readonly indexHash: string;
  /**
   * The entries that the command changed. Omitted in the note at the start of a command, for too many entries, and if
   * the path of an entry is not UTF-8.
   */
  readonly index?: readonly IndexChange[];
}

/** The maximum number of stored entries. */
const mostChanges = 20_000;
const notUtf8 = "\uFFFD";

const head = z.strictObject({ branch: branchSchema.optional(), commit: commitIdSchema.optional() });
const entry = z
  .string()
  .regex(/^\d{6} (?:[0-9a-f]{40}|[0-9a-f]{64}) [0-3](?:\n\d{6} (?:[0-9a-f]{40}|[0-9a-f]{64}) [0-3])*$/);
const path = z.string().refine((text) => text !== "" && !text.includes("\0"));
const indexChanges = z.array(z.strictObject({ path, before: entry.optional(), after: entry.optional() }));
const noteSchema = z.strictObject({ head, indexHash: z.string(), index: indexChanges.optional() });

/** The schemas of the stored forms, which are not trusted. */
export const gitHeadSchema: z.ZodType<GitHead> = head as z.ZodType<GitHead>;
export const indexChangesSchema: z.ZodType<readonly IndexChange[]> = indexChanges as z.ZodType<readonly IndexChange[]>;

/** Parses a stored note. Returns `undefined` for an invalid form. */
export function gitNoteOf(value: unknown): GitNote | undefined {
  const found = noteSchema.safeParse(value);
  return found.success ? (found.data as GitNote) : undefined;
}

export function gitStateOf(at: GitHead, entries: readonly IndexEntry[]): GitState {
  const index = new Map<string, string>();
  for (const { path: name, mode, id, stage } of entries) {
    const line = `${mode} ${id} ${stage}`;
    const known = index.get(name);
    index.set(name, known === undefined ? line : `${known}\n${line}`);
  }
  const text = [...index].map(([name, lines]) => `${lines}\t${name}\0`).join("");
  return { head: at, index, indexHash: nodeSha256.hex(text) };
}

/** Returns the note of a state. For the note at the end of a command, `before` is the state before the command. */
export function newGitNote(state: GitState, before?: GitState): GitNote {
  const { head: at, indexHash } = state;
  return withoutUndefined({ head: at, indexHash, index: before && changesOf(before, state) });
}

function changesOf(before: GitState, after: GitState): readonly IndexChange[] | undefined {
  if (before.indexHash === after.indexHash) return [];
  const changes: IndexChange[] = [];
  for (const name of new Set([...before.index.keys(), ...after.index.keys()])) {
    const [was, is] = [before.index.get(name), after.index.get(name)];
    if (was !== is) changes.push(withoutUndefined({ path: name, before: was, after: is }));
  }
  const isKept = changes.length <= mostChanges && changes.every((change) => !change.path.includes(notUtf8));
  return isKept ? changes : undefined;
}

/** Returns whether the same branch is checked out or, when detached, the same commit. */
export function isSameHead(one: GitHead, other: GitHead): boolean {
  return one.branch === other.branch && (one.branch !== undefined || one.commit === other.commit);
}

export function headText({ branch, commit = "no commit" }: GitHead): string {
  return branch === undefined ? `the commit ${commit}` : `${branch} (${commit})`;
}

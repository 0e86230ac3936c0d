import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { type AnyTool, tool } from "../../agent/tool/Tool.ts";
import {
  type FileChange,
  fileChangesIn,
  fileNoteKey,
  type FileState,
  isSameFile,
} from "../../checkpoint/data/FileChange.ts";
import { FileAccessError } from "../../errors/workspaceErrors.ts";
import type { Mutex } from "../../internal/Mutex.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { mergeThreeWay } from "../merge/mergeThreeWay.ts";
import { persistence } from "../../persistence/Persistence.ts";
import { assertOneRoot, executableMode, type FileNote, type LeftOutFile } from "../files/FileNote.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { noteUnsaved } from "../files/UnsavedChanges.ts";
import { fileIn, type FoundFile, presentIn, stateOf as foundState, textIn } from "../files/readFile.ts";
import { relativePath } from "../files/relativePath.ts";
import { z } from "zod";

const path = z.string().describe('relative to the root, such as "src/main.ts"');
/** The effect of every tool that changes files. */
const changesFiles = { effect: "idempotent", dangerous: true, modifiesFiles: true } as const;
const encoding = z.enum(["utf8", "base64"]);

/**
 * Creates the tools that read and change workspace files. Calls that change files run one at a time, even within one
 * model response. Each call can be repeated after a crash.
 */
export function fileTools(files: WorkspaceFiles, turns: Mutex, contentOf: ContentOf): readonly AnyTool[] {
  return [
    readTool(files),
    writeTool(files, turns),
    editTool(files, turns, contentOf),
    deleteTool(files, turns),
    moveTool(files, turns),
  ];
}

/** Reads a content from the log of an agent. */
type ContentOf = (agentId: string, hash: string) => Promise<Uint8Array | undefined>;

function readTool(files: WorkspaceFiles): AnyTool {
  return tool({
    name: "read_file",
    description:
      "Reads a file. Content that is not text is returned as base64. A link is not followed: its target is returned.",
    inputSchema: z.object({ path }),
    effect: "none",
    execute: async (input) => {
      const at = relativePath(input.path);
      const found = await files.read(at);
      if (found.kind === "link") return { path: at, linkTo: found.state.target };
      const { content } = fileIn(found, at);
      const text = textIn(content);
      return text === undefined
        ? { path: at, encoding: "base64", content: Buffer.from(content).toString("base64") }
        : { path: at, content: text };
    },
  });
}

function writeTool(files: WorkspaceFiles, turns: Mutex): AnyTool {
  return tool({
    name: "write_file",
    description: "Writes a whole file and creates the folders it needs. Existing content is replaced.",
    inputSchema: z.object({
      path,
      content: z.string(),
      encoding: encoding.optional().describe("of content; default utf8"),
      executable: z.boolean().optional().describe("default: unchanged; false for a new file"),
    }),
    ...changesFiles,
    execute: ({ path: given, content, encoding: form, executable }, options) =>
      turns.runExclusive(async () => {
        const at = relativePath(given);
        if (form === "base64" && !isBase64(content))
          throw new FileAccessError(at, "was not written: the content is not base64");
        const bytes = Buffer.from(content, form ?? "utf8");
        const [change] = await changeFiles(files, options, () => writeOf(files, at, bytes, executable));
        return { path: at, bytes: bytes.length, created: change?.before === undefined };
      }),
  });
}

/** Accepts white space, missing padding and the characters of base64url. A single last character has no whole byte. */
function isBase64(text: string): boolean {
  const [digits] = /^[\w+/-]*(?=={0,2}$)/.exec(text.replace(/\s+/g, "")) ?? [];
  return digits !== undefined && digits.length % 4 !== 1;
}

function editTool(files: WorkspaceFiles, turns: Mutex, contentOf: ContentOf): AnyTool {
  return tool({
    name: "edit_file",
    description: "Replaces text in a text file. The text must occur exactly once, unless all is true.",
    inputSchema: z.object({
      path,
      oldText: z.string().min(1).describe("exact, including line breaks and spaces"),
      newText: z.string(),
      all: z.boolean().optional().describe("replace every occurrence; default false"),
    }),
    ...changesFiles,
    execute: ({ path: given, ...edit }, options) =>
      turns.runExclusive(async () => {
        const at = relativePath(given);
        const { agentId } = options.context;
        const [change] = await changeFiles(files, options, async ([noted]) => {
          const merged = noted && (await mergeOf(files, noted, (hash) => contentOf(agentId, hash)));
          return merged ?? editOf(files, at, edit);
        });
        return { path: at, bytes: change?.after?.kind === "file" ? change.after.bytes : 0 };
      }),
  });
}

function deleteTool(files: WorkspaceFiles, turns: Mutex): AnyTool {
  return tool({
    name: "delete_file",
    description: "Deletes a file or a link.",
    inputSchema: z.object({ path }),
    ...changesFiles,
    execute: ({ path: given }, options) =>
      turns.runExclusive(async () => {
        const at = relativePath(given);
        await changeFiles(files, options, () => deletionOf(files, at));
        return { path: at };
      }),
  });
}

function moveTool(files: WorkspaceFiles, turns: Mutex): AnyTool {
  return tool({
    name: "move_file",
    description: "Moves or renames a file or a link. Nothing may exist at the new path.",
    inputSchema: z.object({ from: path, to: path }),
    ...changesFiles,
    execute: ({ from: givenFrom, to: givenTo }, options) =>
      turns.runExclusive(async () => {
        const [from, to] = [relativePath(givenFrom), relativePath(givenTo)];
        await changeFiles(files, options, () => moveOf(files, from, to));
        return { from, to };
      }),
  });
}

/** The planned changes of a tool: writes before removals. */
export interface DecidedChanges {
  readonly changes: readonly FileChange[];
  readonly contents: ReadonlyMap<string, Uint8Array>;
  /** The changed files that a rollback cannot restore completely. */
  readonly leftOut?: readonly LeftOutFile[];
}

/**
 * Changes files in a tool call. Both states are durable before the first change, for a rollback after any crash. A
 * repeated call completes the recorded changes.
 *
 * @returns the changes, which a repeated call returns again
 */
async function changeFiles(
  files: WorkspaceFiles,
  { context, abortSignal }: { readonly context: AgentContext; readonly abortSignal: AbortSignal },
  decide: (noted: readonly FileChange[]) => Promise<DecidedChanges>,
): Promise<readonly FileChange[]> {
  const durable = persistence(context);
  assertOneRoot(context, files.root);
  // Only the last note counts, because each attempt plans the changes again.
  const noted = fileChangesIn(durable.recordedNotes(fileNoteKey).at(-1));
  if (noted.length > 0 && (await finishNoted(files, noted))) {
    noteUnsaved(context.runId, noted);
    return noted;
  }
  for (let attempt = 1; ; attempt++) {
    const { changes, contents, leftOut } = await decide(noted);
    const changed = changes.filter(({ before, after }) => !isSameFile(before, after));
    if (changed.length === 0) return changes;
    const folders = await foldersFor(files, changed);
    const made = folders.length > 0 ? folders : undefined;
    const value: FileNote = withoutUndefined({ changes: changed, folders: made, leftOut });
    durable.note({ key: fileNoteKey, value, contents });
    await durable.durable();
    abortSignal.throwIfAborted();
    noteUnsaved(context.runId, changed);
    const other = await carryOut(files, changed, contents);
    if (other === undefined) return changes;
    if (attempt === attempts) throw new FileAccessError(other, "keeps being changed by others");
  }
}

/** How many attempts may fail because others save the file meanwhile, before the call fails. */
const attempts = 5;

/** Executes all changes or no change. @returns the file that others changed, or `undefined` on success */
async function carryOut(
  files: WorkspaceFiles,
  changes: readonly FileChange[],
  contents: DecidedChanges["contents"],
): Promise<string | undefined> {
  const replace = (path: string, expected: FileState | undefined, state: FileState | undefined) =>
    files.replace(path, { expected, state, content: state?.kind === "file" ? contents.get(state.hash) : undefined });
  const undo = async (done: readonly FileChange[]): Promise<void> => {
    for (const { path, before, after } of done) await replace(path, after, before);
  };
  for (const [at, { path, before, after }] of changes.entries()) {
    let isDone = false;
    try {
      isDone = (await replace(path, before, after)) === undefined;
    } finally {
      if (!isDone) await undo(changes.slice(0, at));
    }
    if (!isDone) return path;
  }
  await files.sync(changes.map(({ path }) => path));
  return undefined;
}

/**
 * Completes recorded changes: makes the removals that are still missing. Returns `false` if a file has another state.
 */
async function finishNoted(files: WorkspaceFiles, noted: readonly FileChange[]): Promise<boolean> {
  await files.removeUnfinished(noted.map(({ path }) => path));
  const left: FileChange[] = [];
  for (const change of noted) {
    const found = await files.read(change.path);
    const state = foundState(found);
    if (found.kind !== "other" && isSameFile(state, change.after)) continue;
    if (change.after || found.kind === "other" || !isSameFile(state, change.before)) return false;
    left.push(change);
  }
  return (await carryOut(files, left, new Map())) === undefined;
}

async function foldersFor(files: WorkspaceFiles, changes: readonly FileChange[]): Promise<readonly string[]> {
  const folders = new Set<string>();
  for (const { path, after } of changes)
    if (after) for (const folder of await files.missingFolders(path)) folders.add(folder);
  return [...folders];
}

/** Replaces the content of a file or creates it. @throws FileAccessError */
async function writeOf(
  files: WorkspaceFiles,
  path: string,
  content: Uint8Array,
  executable?: boolean,
): Promise<DecidedChanges> {
  const found = await files.read(path);
  const before = found.kind === "missing" ? undefined : fileIn(found, path);
  const mode = modeOf(before?.state, executable);
  const after = stateOf(content, mode, path, files.maximumBytes);
  return {
    changes: [{ path, ...(before && { before: before.state }), after }],
    ...storedOf(path, before, [after.hash, content]),
  };
}

export async function editOf(
  files: WorkspaceFiles,
  path: string,
  edit: { readonly oldText: string; readonly newText: string; readonly all?: boolean | undefined },
): Promise<DecidedChanges> {
  const { oldText, newText, all = false } = edit;
  const text = textIn(fileIn(await files.read(path), path).content);
  if (text === undefined) throw new FileAccessError(path, "is not text; write the whole file instead");
  const pieces = text.split(oldText);
  if (pieces.length === 1) throw new FileAccessError(path, "does not contain the text to replace; read it again");
  if (pieces.length > 2 && !all)
    throw new FileAccessError(
      path,
      `contains the text to replace ${pieces.length - 1} times; add more of the surrounding text, or set all: true`,
    );
  return writeOf(files, path, Buffer.from(pieces.join(newText)));
}

/**
 * Merges an edit that a crash interrupted into a file that others have changed since, so that the edit is made only
 * once. Returns `undefined` if a version is not text or not in the log.
 *
 * @throws FileAccessError if the changes conflict
 */
async function mergeOf(
  files: WorkspaceFiles,
  { path, before, after }: FileChange,
  contentOf: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<DecidedChanges | undefined> {
  const found = await files.read(path);
  if (found.kind !== "file" || before?.kind !== "file" || after?.kind !== "file") return undefined;
  const contents = [await contentOf(before.hash), await contentOf(after.hash), found.content];
  const [base, ours, theirs] = contents.map((content) => content && textIn(content));
  if (base === undefined || ours === undefined || theirs === undefined) return undefined;
  const merged = await mergeThreeWay(base, ours, theirs);
  if (!merged.clean)
    throw new FileAccessError(path, "was changed by others after a crash interrupted the edit; read it again");
  const content = Buffer.from(merged.text);
  const state = stateOf(content, modeOf(found.state, undefined), path, files.maximumBytes);
  return {
    changes: [{ path, before: found.state, after: state }],
    ...storedOf(path, found, [state.hash, content]),
  };
}

async function deletionOf(files: WorkspaceFiles, path: string): Promise<DecidedChanges> {
  const found = presentIn(await files.read(path), path);
  return { changes: [{ path, before: found.state }], ...storedOf(path, found) };
}

export async function moveOf(files: WorkspaceFiles, from: string, to: string): Promise<DecidedChanges> {
  const found = presentIn(await files.read(from), from);
  const there = await files.read(to);
  if (there.kind !== "missing") throw new FileAccessError(to, "already exists; delete it first");
  return {
    changes: [
      { path: to, after: found.state },
      { path: from, before: found.state },
    ],
    ...storedOf(from, found),
  };
}

/** Returns what is stored of a changed file. @param added another content, by hash */
function storedOf(
  path: string,
  found: FoundFile | undefined,
  ...added: readonly (readonly [string, Uint8Array])[]
): Pick<DecidedChanges, "contents" | "leftOut"> {
  if (found?.kind !== "file") return { contents: new Map(added) };
  const { state, content, leftOut } = found;
  const contents = new Map([[state.hash, content], ...added]);
  return leftOut === undefined ? { contents } : { contents, leftOut: [{ path, reason: leftOut }] };
}

function modeOf(before: FileState | undefined, executable: boolean | undefined): number {
  const mode = before?.kind === "file" ? before.mode : 0o644;
  return executable === undefined ? mode : executableMode(mode, executable);
}

function stateOf(
  content: Uint8Array,
  mode: number,
  path: string,
  maximumBytes: number,
): FileState & { readonly kind: "file" } {
  const { length: bytes } = content;
  if (bytes > maximumBytes)
    throw new FileAccessError(
      path,
      `would have ${bytes} bytes, and the workspace keeps files of at most ${maximumBytes}`,
    );
  return { kind: "file", hash: nodeSha256.hex(content), bytes, mode };
}

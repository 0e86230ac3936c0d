import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { runOf } from "../../agent/feature/ContextBinding.ts";
import { fileNoteKey } from "../../checkpoint/data/FileChange.ts";
import { persistence } from "../../persistence/Persistence.ts";
import { GitViews } from "./GitView.ts";
import { assertOneRoot, type FileNote } from "../files/FileNote.ts";
import { folderWithin } from "../files/relativePath.ts";
import { changesBetween } from "./changesBetween.ts";
import { type GitState, newGitNote } from "./GitState.ts";
import { emptyScan, type Scan } from "./Scan.ts";
import { scanFolder, type ScanOptions } from "./scanFolder.ts";
import { StoredScan } from "./StoredScan.ts";
import { AsyncLocalStorage } from "node:async_hooks";
import { abortable } from "../../internal/abortable.ts";

/** A running or waiting action in a directory. */
interface Turn {
  readonly folder: string;
  readonly ended: Promise<void>;
}

/** The turns of this process, in the order of their start. */
const turns = new Set<Turn>();
/** The directories in which the current call runs its action. */
const ownTurns = new AsyncLocalStorage<readonly string[]>();

const contentNoteKey = "file_contents";
/** The approximate size of a group of recorded contents, which limits memory use in large directories. */
const groupBytes = 16 * 1024 * 1024;

/** Finds the files that an action changes by scans of the directory before and after the action. */
export class FileCapture {
  /** The last scan of each run. The log of the run contains the contents of all scanned files. */
  readonly #last = new WeakMap<AgentRun, Scan>();
  readonly #stored = new WeakMap<AgentRun, StoredScan>();

  readonly #views: GitViews;

  constructor(readonly options: Omit<ScanOptions, "onContent">) {
    this.#views = new GitViews(options.root);
  }

  async scan(before?: Scan): Promise<Scan> {
    return (await this.#scan(before, () => {})).scan;
  }

  /** Returns HEAD and the index, or `undefined` if the repository is missing or git cannot read it. */
  async gitState(): Promise<GitState | undefined> {
    return (await this.#views.read())?.state;
  }

  async #scan(before: Scan = emptyScan, onContent: ScanOptions["onContent"]): Promise<ScannedState> {
    const view = await this.#views.read();
    const rules = this.options.rules.forScan(view);
    return { scan: await scanFolder({ ...this.options, rules, onContent }, before), git: view?.state };
  }

  /**
   * Runs an action and records the files that changed. The scan before the action and its file contents are durable
   * before the action starts. The first capture of a run reads every file and stores the contents that the log lacks.
   * Captures of overlapping directories run one at a time.
   */
  async around<Result>(context: AgentContext, action: () => Result | PromiseLike<Result>): Promise<Result> {
    assertOneRoot(context, this.options.root);
    return inFolderTurn(this.options.root, context.signal, () => this.#around(context, action));
  }

  async #around<Result>(context: AgentContext, action: () => Result | PromiseLike<Result>): Promise<Result> {
    const durable = persistence(context);
    const run = runOf(context);
    const contents = new NotedContents(context);
    const before = await this.#scan(this.#last.get(run), contents.add);
    contents.note();
    const capture = crypto.randomUUID();
    const stored = this.#stored.get(run) ?? new StoredScan();
    const parts = new Map<string, Uint8Array>();
    const began: FileNote = {
      changes: [],
      began: capture,
      scan: stored.add(before.scan, parts),
      ...(before.git && { git: newGitNote(before.git) }),
    };
    durable.note({ key: fileNoteKey, value: began, contents: parts });
    await durable.durable();
    this.#last.set(run, before.scan);
    this.#stored.set(run, stored);
    try {
      return await action();
    } finally {
      await this.#noteChanges(context, before, capture);
    }
  }

  async #noteChanges(context: AgentContext, before: ScannedState, capture: string): Promise<void> {
    const contents = new NotedContents(context);
    const after = await this.#scan(before.scan, contents.add);
    contents.note();
    const git = before.git && after.git && { git: newGitNote(after.git, before.git) };
    const note: FileNote = { ...changesBetween(before.scan, after.scan), ended: capture, ...git };
    persistence(context).note({ key: fileNoteKey, value: note });
    this.#last.set(runOf(context), after.scan);
  }
}

interface ScannedState {
  readonly scan: Scan;
  readonly git: GitState | undefined;
}

class NotedContents {
  #contents = new Map<string, Uint8Array>();
  #bytes = 0;

  constructor(readonly context: AgentContext) {}

  readonly add = async (hash: string, content: Uint8Array): Promise<void> => {
    this.#contents.set(hash, content);
    this.#bytes += content.length;
    if (this.#bytes < groupBytes) return;
    this.note();
    await persistence(this.context).durable();
  };

  note(): void {
    if (this.#contents.size === 0) return;
    persistence(this.context).note({ key: contentNoteKey, value: null, contents: this.#contents });
    this.#contents = new Map();
    this.#bytes = 0;
  }
}

/**
 * Runs the actions of this process in overlapping directories one at a time, so that each action detects only its own
 * changes. A nested action starts at once.
 *
 * @throws the reason of the signal if the signal aborts before the start
 */
async function inFolderTurn<Result>(
  folder: string,
  signal: AbortSignal,
  action: () => Promise<Result>,
): Promise<Result> {
  const own = ownTurns.getStore() ?? [];
  if (own.some((held) => overlap(held, folder))) return action();
  const before = [...turns].filter((turn) => overlap(turn.folder, folder)).map(({ ended }) => ended);
  let end = (): void => {};
  const turn: Turn = { folder, ended: new Promise((resolve) => (end = resolve)) };
  turns.add(turn);
  try {
    await abortable(signal, () => Promise.all(before));
    return await ownTurns.run([...own, folder], action);
  } finally {
    turns.delete(turn);
    end();
  }
}

/** Returns whether one directory contains the other, with links resolved. */
function overlap(one: string, other: string): boolean {
  return folderWithin(one, other) !== undefined || folderWithin(other, one) !== undefined;
}

import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { runOf } from "../../agent/feature/ContextBinding.ts";
import { fileNoteKey } from "../../checkpoint/data/FileChange.ts";
import { randomId } from "../../internal/randomId.ts";
import { persistence } from "../../persistence/Persistence.ts";
import type { FileNote } from "../files/FileNote.ts";
import { changesBetween } from "./changesBetween.ts";
import { inFolderTurn } from "./inFolderTurn.ts";
import { emptyScan, type Scan } from "./Scan.ts";
import { scanFolder, type ScanOptions } from "./scanFolder.ts";

/** The key of notes that only carry contents. */
const contentNoteKey = "file_contents";
/** Contents are recorded in groups of about this many bytes, so that memory never holds a whole large folder. */
const groupBytes = 16 * 1024 * 1024;

/** Finds the files that an action changes in a folder, by a scan before and after. */
export class FileCapture {
  /** The last scan of each run, whose log has the contents of all scanned files. */
  readonly #last = new WeakMap<AgentRun, Scan>();

  constructor(readonly options: Omit<ScanOptions, "onContent">) {}

  scan(): Promise<Scan> {
    return scanFolder({ ...this.options, onContent: () => {} }, emptyScan);
  }

  /**
   * Runs an action and records which files changed meanwhile. Their earlier contents are durable in the log before the
   * action begins: the first capture of a run reads every file and keeps the contents that the log does not have. Captures
   * of one folder take turns.
   */
  around<Result>(context: AgentContext, action: () => Result | PromiseLike<Result>): Promise<Result> {
    return inFolderTurn(this.options.root, context.signal, () => this.#around(context, action));
  }

  async #around<Result>(context: AgentContext, action: () => Result | PromiseLike<Result>): Promise<Result> {
    const durable = persistence(context);
    const contents = new NotedContents(context);
    const known = this.#last.get(runOf(context)) ?? emptyScan;
    const before = await scanFolder({ ...this.options, onContent: contents.add }, known);
    contents.note();
    const capture = randomId();
    durable.note({ key: fileNoteKey, value: { changes: [], began: capture } satisfies FileNote });
    await durable.durable();
    this.#last.set(runOf(context), before);
    try {
      return await action();
    } finally {
      await this.#noteChanges(context, before, capture);
    }
  }

  async #noteChanges(context: AgentContext, before: Scan, capture: string): Promise<void> {
    const contents = new NotedContents(context);
    const after = await scanFolder({ ...this.options, onContent: contents.add }, before);
    contents.note();
    const note: FileNote = { ...changesBetween(before, after), ended: capture };
    persistence(context).note({ key: fileNoteKey, value: note });
    this.#last.set(runOf(context), after);
  }
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

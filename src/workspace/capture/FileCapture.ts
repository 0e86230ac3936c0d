import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { runOf } from "../../agent/feature/ContextBinding.ts";
import { fileNoteKey } from "../../checkpoint/data/FileChange.ts";
import { randomId } from "../../internal/randomId.ts";
import { persistence } from "../../persistence/Persistence.ts";
import type { FileNote } from "../files/FileNote.ts";
import { changesBetween } from "./changesBetween.ts";
import { emptyScan, type Scan } from "./Scan.ts";
import { scanFolder, type ScanOptions } from "./scanFolder.ts";

/** The key of the notes that bring in contents and say nothing of changes. */
const contentNoteKey = "file_contents";
/** Contents are noted in groups of about this many bytes, so that a large folder is never held in memory whole. */
const groupBytes = 16 * 1024 * 1024;

/** Finds out what a piece of work changed in a folder, by scanning it before and after. */
export class FileCapture {
  readonly #options: Omit<ScanOptions, "onContent">;
  /** The last scan of each run: the log that the run writes has the contents of all its files. */
  readonly #last = new WeakMap<AgentRun, Scan>();

  constructor(options: Omit<ScanOptions, "onContent">) {
    this.#options = options;
  }

  /** What is there now, without keeping anything. */
  scan(): Promise<Scan> {
    return scanFolder({ ...this.#options, onContent: () => {} }, emptyScan);
  }

  /**
   * Does something, and notes which files changed meanwhile. Their contents before are durable in the log before it
   * begins: the first capture of a run reads every file, and keeps what the log does not have.
   */
  async around<Result>(context: AgentContext, action: () => Result | PromiseLike<Result>): Promise<Result> {
    const durable = persistence(context);
    const contents = new NotedContents(context);
    const known = this.#last.get(runOf(context)) ?? emptyScan;
    const before = await scanFolder({ ...this.#options, onContent: contents.add }, known);
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
    const after = await scanFolder({ ...this.#options, onContent: contents.add }, before);
    contents.note();
    const note: FileNote = { ...changesBetween(before, after), ended: capture };
    persistence(context).note({ key: fileNoteKey, value: note });
    this.#last.set(runOf(context), after);
  }
}

/** Contents on their way into the log, a group at a time. */
class NotedContents {
  readonly #context: AgentContext;
  #contents = new Map<string, Uint8Array>();
  #bytes = 0;

  constructor(context: AgentContext) {
    this.#context = context;
  }

  readonly add = async (hash: string, content: Uint8Array): Promise<void> => {
    this.#contents.set(hash, content);
    this.#bytes += content.length;
    if (this.#bytes < groupBytes) return;
    this.note();
    await persistence(this.#context).durable();
  };

  note(): void {
    if (this.#contents.size === 0) return;
    persistence(this.#context).note({ key: contentNoteKey, value: null, contents: this.#contents });
    this.#contents = new Map();
    this.#bytes = 0;
  }
}

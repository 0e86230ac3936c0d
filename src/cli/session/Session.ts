import type { LogPersistenceStorageProvider } from "../../storage/LogPersistenceStorageProvider.ts";
import { CommandFailure } from "../failure/CommandFailure.ts";
import { findAddress } from "../storage/findAddress.ts";
import type { OpenedStorage, OpenOptions } from "../storage/OpenedStorage.ts";
import { openStorage } from "../storage/openStorage.ts";
import type { CommandIo } from "../terminal/CommandIo.ts";
import { Output } from "../terminal/Output.ts";
import type { Part } from "../terminal/painted.ts";

/** What every command takes. */
export interface CommonOptions {
  readonly storage?: string | undefined;
  readonly json?: boolean | undefined;
  readonly color?: boolean | undefined;
}

/** What every command takes that changes something. */
export interface WritingOptions extends CommonOptions {
  readonly yes?: boolean | undefined;
}

/** One call of a command: what it answers on, and what it has opened. */
export class Session implements AsyncDisposable {
  readonly io: CommandIo;
  readonly output: Output;
  readonly #options: WritingOptions;
  readonly #opened: OpenedStorage[] = [];

  constructor(io: CommandIo, options: WritingOptions) {
    this.io = io;
    this.#options = options;
    this.output = new Output(io, options);
  }

  /** The storage of the options, the environment or the folder. */
  async open(purpose: OpenOptions["purpose"] = "read"): Promise<OpenedStorage> {
    const { cwd } = this.io;
    return this.keep(await openStorage(await findAddress(this.#options.storage, this.io), { cwd, purpose }));
  }

  /** Closes a storage at the end of the command. */
  keep(opened: OpenedStorage): OpenedStorage {
    this.#opened.push(opened);
    return opened;
  }

  /** The storage alone. */
  async storage(purpose?: OpenOptions["purpose"]): Promise<LogPersistenceStorageProvider> {
    return (await this.open(purpose)).storage;
  }

  /** Whether a person is told what will be done: a program that has said yes is not. */
  get saysChange(): boolean {
    return !this.output.json || (!this.#options.yes && this.io.canAsk);
  }

  /**
   * Says what will be done, and asks for it.
   *
   * @param change what is about to happen, a line each.
   * @throws CommandFailure when it is declined, or when nobody can be asked and `--yes` is missing.
   */
  async confirm(...change: readonly (readonly Part[])[]): Promise<void> {
    if (this.saysChange) for (const line of change) await this.output.beside.line(...line);
    if (this.#options.yes) return;
    if (!this.io.canAsk)
      throw new CommandFailure(
        "declined",
        "There is no terminal to ask on. Nothing was changed; pass --yes to go ahead.",
      );
    if (!(await this.io.confirm("Go ahead?"))) throw new CommandFailure("declined", "Nothing was changed.");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const opened of this.#opened.reverse()) await opened.close();
  }
}

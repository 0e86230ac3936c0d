import type { LogPersistenceStorageProvider } from "../../storage/LogPersistenceStorageProvider.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { findAddress } from "../storage/storageAddress.ts";
import type { OpenedStorage, OpenOptions } from "../storage/OpenedStorage.ts";
import { nameStorage } from "../ids/storageNames.ts";
import { loadExport } from "./loadExport.ts";
import { openStorage } from "../storage/openStorage.ts";
import type { CommandIo } from "../terminal/CommandIo.ts";
import { Output } from "../terminal/Output.ts";
import type { Part } from "../terminal/painted.ts";

export interface CommonOptions {
  readonly storage?: string | undefined;
  readonly keys?: string | undefined;
  readonly json?: boolean | undefined;
  readonly color?: boolean | undefined;
}

/** The options of every command that changes data. */
export interface WritingOptions extends CommonOptions {
  readonly yes?: boolean | undefined;
}

/** One call of a command with its output and opened storages. */
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

  /** Opens the storage from the options, the environment or the working directory. */
  async open(purpose: OpenOptions["purpose"] = "read"): Promise<OpenedStorage> {
    const { cwd } = this.io;
    const opened = await openStorage(await findAddress(this.#options.storage, this.io), { cwd, purpose });
    const { keys } = this.#options;
    if (keys === undefined) return this.keep(opened);
    const { withKeys } = await import("../storage/withKeys.ts");
    const { value } = await loadExport(keys, this.io);
    return this.keep(withKeys(opened, value));
  }

  /** Registers a storage to close at the end of the command. */
  keep(opened: OpenedStorage): OpenedStorage {
    this.#opened.push(opened);
    nameStorage(opened.storage, opened.name);
    return opened;
  }

  async storage(purpose?: OpenOptions["purpose"]): Promise<LogPersistenceStorageProvider> {
    return (await this.open(purpose)).storage;
  }

  /** Whether to print the change before it happens. Programs that passed `--yes` do not need this output. */
  get saysChange(): boolean {
    return !this.output.json || (!this.#options.yes && this.io.canAsk);
  }

  /**
   * Prints a change and asks for confirmation.
   *
   * @param change one line for each part of the change
   * @throws CommandFailure if the user declines, or if there is no terminal to ask and `--yes` is missing
   */
  async confirm(...change: readonly (readonly Part[])[]): Promise<void> {
    if (this.saysChange) for (const line of change) await this.output.beside.line(...line);
    if (this.#options.yes) return;
    if (!this.io.canAsk)
      throw new CommandFailure(
        "declined",
        "There is no terminal for the confirmation, so nothing was changed. Pass --yes to confirm.",
      );
    if (!(await this.io.confirm("Go ahead?"))) throw new CommandFailure("declined", "Nothing was changed.");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const opened of this.#opened.reverse()) await opened.close();
  }
}

import type { LogPersistenceStorageProvider } from "../../storage/LogPersistenceStorageProvider.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { findAddress, storageName } from "../storage/storageAddress.ts";
import { openStorage, type OpenedStorage, type OpenOptions } from "../storage/openStorage.ts";
import { nameStorage } from "../ids/findLog.ts";
import type { CommandIo } from "../terminal/CommandIo.ts";
import { Output } from "../terminal/Output.ts";
import type { Part } from "../terminal/painted.ts";

export interface CommonOptions {
  readonly storage?: string | undefined;
  readonly keys?: string | undefined;
  readonly seals?: string | undefined;
  readonly json?: boolean | undefined;
  readonly color?: boolean | undefined;
}

export interface WritingOptions extends CommonOptions {
  readonly yes?: boolean | undefined;
}

/** One call of a command, with the output and the opened storages of the call. */
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

  /**
   * Opens the storage from the options, the environment or the working directory. With purpose `keys`, only data keys
   * change.
   *
   * @throws CommandFailure for a write to a sealed storage without `--seals`
   */
  async open(purpose: OpenOptions["purpose"] | "keys" = "read"): Promise<OpenedStorage> {
    const { cwd } = this.io;
    const address = await findAddress(this.#options.storage, this.io);
    const opened = await openStorage(address, { cwd, purpose: purpose === "keys" ? "write" : purpose });
    const { keys, seals } = this.#options;
    if (purpose === "read" && keys === undefined && seals === undefined) return this.keep(opened);
    const { unlocked } = await import("../storage/unlocked.ts");
    const secrets = { keys: await this.#exported(keys), seals: await this.#exported(seals) };
    try {
      return this.keep(await unlocked(opened, secrets, purpose === "make" ? "write" : purpose));
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  /** Returns the name of the storage without opening it. */
  async storageName(): Promise<string> {
    return storageName(await findAddress(this.#options.storage, this.io));
  }

  async #exported(given: string | undefined): Promise<unknown> {
    if (given === undefined) return undefined;
    const { loadExport } = await import("./loadExport.ts");
    return (await loadExport(given, this.io)).value;
  }

  /** Registers a storage to close at the end of the command. */
  keep(opened: OpenedStorage): OpenedStorage {
    this.#opened.push(opened);
    nameStorage(opened.storage, opened.name);
    return opened;
  }

  async storage(purpose?: OpenOptions["purpose"] | "keys"): Promise<LogPersistenceStorageProvider> {
    return (await this.open(purpose)).storage;
  }

  /** Whether to print a change before the change happens. Programs that pass `--yes` do not need this output. */
  get saysChange(): boolean {
    return !this.output.json || (!this.#options.yes && this.io.canAsk);
  }

  /**
   * Prints a change, one line for each part, and requests confirmation.
   *
   * @throws CommandFailure if the user declines, or without a terminal and `--yes`
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

import type { FileSystem } from "agent-persistence/file";
import { changingFiles, delegating } from "../../../powerloss/delegating.ts";

/** Stands between a process and its files: something else happens before the call with a number. */
export class Interruption {
  /** How many calls there were. */
  calls = 0;
  readonly #at: number;
  readonly #action: () => Promise<void>;
  #isOver = false;

  /** @param action rejects to end the process: then every later call rejects, too. */
  constructor(at: number, action: () => Promise<void>) {
    this.#at = at;
    this.#action = action;
  }

  of(fileSystem: FileSystem): FileSystem {
    const calls = delegating(fileSystem, {});
    const names = Object.keys(calls) as (keyof FileSystem)[];
    const interrupted = Object.fromEntries(
      names.map((name) => [
        name,
        async (...given: never[]) => {
          await this.#before();
          return (calls[name] as (...given: never[]) => Promise<unknown>)(...given);
        },
      ]),
    ) as unknown as FileSystem;
    return changingFiles(interrupted, (file) => ({
      write: async (bytes) => {
        await this.#before();
        return file.write(bytes);
      },
      fdatasync: async () => {
        await this.#before();
        await file.fdatasync();
      },
      fsync: async () => {
        await this.#before();
        await file.fsync();
      },
    }));
  }

  async #before(): Promise<void> {
    if (this.#isOver) throw new Error("The process has ended.");
    if (++this.calls !== this.#at) return;
    try {
      await this.#action();
    } catch (error) {
      this.#isOver = true;
      throw error;
    }
  }
}

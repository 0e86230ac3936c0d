import { delegating } from "../delegating.ts";
import type { Wrap } from "./Stage.ts";

/** Holds up a process where it links a file. */
export class Gate {
  #isClosed = false;
  #open: () => void = () => {};
  #reach: () => void = () => {};
  #reached: Promise<void> = Promise.resolve();

  /** What the process is to see its files through. */
  readonly through: Wrap = (fileSystem) =>
    delegating(fileSystem, {
      link: async (existing, path) => {
        await this.#pass();
        return fileSystem.link(existing, path);
      },
    });

  close(): void {
    this.#isClosed = true;
    this.#reached = new Promise((resolve) => (this.#reach = resolve));
  }

  /** Resolves when a process waits. */
  reached(): Promise<void> {
    return this.#reached;
  }

  open(): void {
    this.#isClosed = false;
    this.#open();
  }

  async #pass(): Promise<void> {
    if (!this.#isClosed) return;
    this.#reach();
    await new Promise<void>((resolve) => (this.#open = resolve));
  }
}

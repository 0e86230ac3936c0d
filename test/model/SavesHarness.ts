import type { PersistenceStorageProvider } from "agent-persistence";
import { crashAfter, SimulatedClock } from "agent-persistence/testing";
import type { StorageHarness } from "./StorageHarness.ts";

/** A storage that outlives the processes of a test because it is in the test's own memory. */
export class SavesHarness implements StorageHarness {
  readonly clock = new SimulatedClock();
  readonly #provider: PersistenceStorageProvider;
  #saves: number | undefined;

  constructor(provider: PersistenceStorageProvider) {
    this.#provider = provider;
  }

  start(): PersistenceStorageProvider {
    return this.#saves === undefined ? this.#provider : crashAfter(this.#provider, this.#saves);
  }

  /** For the process that is started next. */
  endAfter(saves: number): void {
    this.#saves = saves;
  }

  heal(): void {
    this.#saves = undefined;
  }
}

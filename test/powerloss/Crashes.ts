import { createHash } from "node:crypto";
import type { CrashState, SimulatedFileSystem } from "agent-persistence/testing";
import { seededNumbers } from "../../src/testing/powerLoss/RecordedTree.ts";
import { Violation } from "./Violation.ts";

/** How thoroughly crashes are tried. */
export interface Thoroughness {
  /** Samples of the weak model at each moment. */
  readonly samples: number;
  /** Of this many crashes one is followed by crashes of the recovery; 0 for none. */
  readonly nestEvery: number;
  /** How many moments of a recovery are tried. */
  readonly nestedMoments: number;
  /** Every how many changes a crash is tried. Default: after each. */
  readonly stride?: number;
  readonly seed: number;
}

/** The crash states of one scenario, each tried once, and counted. */
export class Crashes {
  readonly #thoroughness: Thoroughness;
  readonly #random: () => number;
  readonly #files = new Set<string>();
  readonly #tried = new Set<string>();
  #checks = 0;
  #recoveries = 0;

  constructor(thoroughness: Thoroughness) {
    this.#thoroughness = thoroughness;
    this.#random = seededNumbers(thoroughness.seed);
  }

  /** How many different contents of the device there were. */
  get distinct(): number {
    return this.#files.size;
  }

  /** Every crash since a moment; of a crash of a recovery only some, and always what is durable at its end. */
  *statesOf(fileSystem: SimulatedFileSystem, from: number, sampled: boolean): Generator<CrashState> {
    const { samples, seed, nestedMoments, stride = 1 } = this.#thoroughness;
    const { position } = fileSystem;
    if (!sampled) {
      for (let after = from; after <= position; after += stride)
        yield* fileSystem.crashStates(after, { samples, seed });
      return;
    }
    yield* fileSystem.crashStates(position, { models: ["amnesia"] });
    for (let moment = 0; moment < nestedMoments; moment++) {
      const after = from + Math.floor(this.#random() * (position - from));
      const states = [...fileSystem.crashStates(after, { samples: 2, exhaustiveUpTo: 8, seed: this.#checks })];
      yield states[Math.floor(this.#random() * states.length)] as CrashState;
    }
  }

  /** The file system after a crash; `undefined` when the same was tried with the same promises. */
  restart(state: CrashState, promises: string): SimulatedFileSystem | undefined {
    const fileSystem = state.restart();
    const files = fingerprint(fileSystem.files());
    this.#files.add(files);
    const key = `${files} ${state.model === "kill"} ${promises}`;
    if (this.#tried.has(key)) return undefined;
    this.#tried.add(key);
    return fileSystem;
  }

  /** Says of a violation where it was seen. */
  async check(state: CrashState, action: (variant: number) => Promise<void>): Promise<void> {
    const variant = this.#checks++;
    try {
      await action(variant);
    } catch (error) {
      throw error instanceof Violation ? error.within(state.description) : error;
    }
  }

  /** Whether the next recovery is cut short as well. */
  nests(): boolean {
    const { nestEvery } = this.#thoroughness;
    return nestEvery > 0 && this.#recoveries++ % nestEvery === 0;
  }
}

const randomPart = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/** Of all files, but not of what only names temporary ones. */
function fingerprint(files: ReadonlyMap<string, Uint8Array>): string {
  const hash = createHash("sha1");
  const named = [...files].map(([path, bytes]) => [path.replace(randomPart, "*"), bytes] as const);
  for (const [path, bytes] of named) hash.update(`${path} ${bytes.length}\n`).update(bytes);
  return hash.digest("base64");
}

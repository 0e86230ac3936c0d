import { setTimeout as delay } from "node:timers/promises";
import { sameRows } from "../../../examples/user-import/claims.ts";
import type { Person } from "../../../examples/user-import/people.ts";
import { WorkerProcess } from "../WorkerProcess.ts";
import { keepAudit, readDatabase } from "./Audit.ts";
import type { ImportStart } from "./ImportStart.ts";
import { judgeAtRest, judgeImport } from "./judgeImport.ts";
import { readJournal, type JournalState } from "./readJournal.ts";

export interface ImportLifeOptions {
  readonly program: string;
  readonly directory: string;
  readonly csvFile: string;
  readonly people: readonly Person[];
  readonly random: () => number;
  /** How many kills inside tools and inverses are left to make, in all lives. */
  readonly budget: { left: number };
}

/** Where a kill fell: inside the tool, inside its inverse, or at a moment that was left to chance. */
export type KillPlace = "signUp" | "removal" | "chance";

/** What must not be, and where the kills fell. */
export interface LifeReport {
  readonly violations: readonly string[];
  readonly kills: readonly KillPlace[];
}

/** Starts of one life: later ones read a longer log. */
const maxStarts = 25;
/** Of the places that a process passes the halt is at one of the first. */
const haltPlaces = 4;
/** The longest wait before a kill that is left to chance: about as long as an import takes. */
const patienceMs = 60;
/** The longest time for which other calls go on while one stands still. */
const othersMs = 10;

type Halt = NonNullable<ImportStart["haltAt"]>;

/** One import, killed, resumed and rolled back, again and again; in the end it comes to its end. */
export class ImportLife {
  readonly #options: ImportLifeOptions;
  readonly #violations: string[] = [];
  readonly #kills: KillPlace[] = [];

  constructor(options: ImportLifeOptions) {
    this.#options = options;
  }

  async live(): Promise<LifeReport> {
    const { budget, random, directory, people } = this.#options;
    keepAudit(directory);
    for (let starts = 0; starts < maxStarts && budget.left > 0; starts++) {
      const rollBackTo = this.#target(await readJournal(directory));
      await (random() < 0.15 ? this.#killByChance(rollBackTo) : this.#killInside(rollBackTo));
    }
    await this.#end(this.#start({}));
    if (!sameRows(readDatabase(directory).users, people)) this.#violations.push("not everybody was signed up once");
    return { violations: this.#violations, kills: this.#kills };
  }

  /** A checkpoint to roll back to, early ones first of all; `undefined` to go on with the import. */
  #target({ line, completed }: JournalState): string | undefined {
    const { random } = this.#options;
    if (random() > (completed ? 0.9 : 0.5)) return undefined;
    return line[Math.floor(random() ** 2 * line.length)]?.checkpointId;
  }

  #start(more: { readonly rollBackTo?: string | undefined; readonly haltAt?: Halt }): WorkerProcess<ImportStart> {
    const { program, directory, csvFile } = this.#options;
    const { rollBackTo, haltAt } = more;
    return new WorkerProcess<ImportStart>(program, {
      directory,
      csvFile,
      ...(rollBackTo !== undefined && { rollBackTo }),
      ...(haltAt && { haltAt }),
    });
  }

  async #killInside(rollBackTo: string | undefined): Promise<void> {
    const { random, budget } = this.#options;
    const place = random() < 0.5 ? "before" : "after";
    const haltAt = { place, number: 1 + Math.floor(random() * haltPlaces), dies: random() < 0.4 } as const;
    const worker = this.#start({ rollBackTo, haltAt });
    const halted = await worker.hear("halted");
    // It passed too few places.
    if (halted === undefined) return this.#end(worker);
    if (random() < 0.5) await delay(random() * othersMs);
    worker.kill();
    await this.#afterKill(worker, halted.tool === "removal" ? "removal" : "signUp");
    budget.left--;
  }

  async #killByChance(rollBackTo: string | undefined): Promise<void> {
    const worker = this.#start({ rollBackTo });
    await worker.hear("ready");
    await delay(this.#options.random() * patienceMs);
    worker.kill();
    await this.#afterKill(worker, "chance");
  }

  async #afterKill(worker: WorkerProcess<ImportStart>, place: KillPlace): Promise<void> {
    if (!(await worker.ended()).killed) return this.#end(worker);
    this.#kills.push(place);
    const { directory } = this.#options;
    this.#note(judgeImport(readDatabase(directory), await readJournal(directory)), `after a kill (${place})`);
  }

  /** A process that ends by itself has done what it was asked for; or nothing, when less is to be reverted than was begun. */
  async #end(worker: WorkerProcess<ImportStart>): Promise<void> {
    const failed = await worker.hear("failed");
    const { exitCode } = await worker.ended();
    const database = readDatabase(this.#options.directory);
    const journal = await readJournal(this.#options.directory);
    if (failed?.code === "not_an_ancestor") return this.#note(judgeImport(database, journal), "after a refusal");
    if (failed !== undefined || exitCode !== 0)
      this.#violations.push(`a process ended with ${exitCode}: ${failed?.code ?? ""} ${failed?.message ?? ""}`);
    this.#note(judgeAtRest(database, journal), "at the end of a process");
  }

  #note(found: readonly string[], when: string): void {
    this.#violations.push(...found.map((violation) => `${when}: ${violation}`));
  }
}

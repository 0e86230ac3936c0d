import { setTimeout as delay } from "node:timers/promises";
import { judgeTrace } from "./judge/judgeTrace.ts";
import { killsOf, type Kill } from "./judge/killsOf.ts";
import { readRecorded } from "./judge/readRecorded.ts";
import { Trace } from "./judge/Trace.ts";
import { WorkerProcess } from "./WorkerProcess.ts";
import type { WorkerOptions, WorkerStart } from "./worker/WorkerOptions.ts";

export interface RunUnderKillsOptions {
  readonly program: string;
  readonly directory: string;
  readonly toolCallIds: WorkerOptions["toolCallIds"];
  readonly random: () => number;
  /** The longest wait before a kill, in milliseconds. */
  readonly patienceMs: number;
  /** How many kills are left to make, in all runs. */
  readonly budget: { left: number };
}

/** How many places a halt is chosen from: about a third of those of a run. */
const haltPlaces = 45;
/** The longest time for which other calls go on while one stands still. */
const othersMs = 15;
/** More starts than this make no progress. */
const maxStarts = 1_000;

/** What must not be, over one run. */
export interface RunReport {
  readonly violations: readonly string[];
  readonly kills: readonly Kill[];
  /** How often the run stopped because nobody knew whether a call had had its effect. */
  readonly inDoubt: number;
}

/** One run, killed and started again until it is done or the budget is used up and it ends by itself. */
export class RunUnderKills {
  readonly #options: RunUnderKillsOptions;
  readonly #trace: Trace;
  readonly #violations: string[] = [];
  #inDoubt = 0;
  #settled = false;

  constructor(options: RunUnderKillsOptions) {
    this.#options = options;
    this.#trace = new Trace(options.directory);
  }

  async finish(): Promise<RunReport> {
    for (let starts = 0; !(await this.#start()); starts++) {
      if (starts > maxStarts) throw new Error("The run makes no progress.");
    }
    const trace = this.#trace.read();
    return {
      violations: [...this.#violations, ...judgeTrace(trace)],
      kills: killsOf(trace),
      inDoubt: this.#inDoubt,
    };
  }

  /** One process. Resolves to true when the run is done. */
  async #start(): Promise<boolean> {
    const { random, budget, patienceMs } = this.#options;
    if (budget.left <= 0) return this.#unharmed(this.#worker());
    budget.left--;
    const halting = random() < 0.5;
    const number = 1 + Math.floor(random() * haltPlaces);
    const worker = this.#worker(halting ? { number, dies: random() < 0.4 } : undefined);
    if (halting) {
      if ((await worker.hear("halted")) !== undefined && random() < 0.5) await delay(random() * othersMs);
    } else {
      await worker.hear("ready");
      await delay(random() * patienceMs);
    }
    worker.kill();
    if ((await worker.ended()).killed) return this.#afterKill();
    budget.left++;
    return this.#unharmed(worker);
  }

  #worker(haltAt?: WorkerStart["haltAt"]): WorkerProcess {
    const { program, directory, toolCallIds } = this.#options;
    const settled = this.#settled;
    this.#settled = false;
    return new WorkerProcess(program, {
      directory,
      toolCallIds,
      settled,
      ...(haltAt && { haltAt }),
    });
  }

  /** What was acknowledged is there. */
  async #afterKill(): Promise<false> {
    const { checkpointIds, calls } = await readRecorded(this.#options.directory);
    for (const line of this.#trace.read()) {
      if (line.kind === "checkpoint" && !checkpointIds.has(line.id))
        this.#violations.push(`checkpoint ${line.id} was acknowledged and is gone`);
    }
    this.#trace.add({ kind: "recorded", calls: [...calls] });
    return false;
  }

  /** A process that ended by itself: done, or stopped by a call in doubt, which is then settled. */
  async #unharmed(worker: WorkerProcess): Promise<boolean> {
    const failed = await worker.hear("failed");
    const { exitCode } = await worker.ended();
    if (failed === undefined && exitCode === 0) return true;
    if (failed?.code !== "tool_call_in_doubt") throw new Error(failed?.message ?? `The worker ended with ${exitCode}.`);
    if (failed.toolName !== "transfer") this.#violations.push(`a call of ${failed.toolName} was in doubt`);
    this.#inDoubt++;
    this.#settled = true;
    return false;
  }
}

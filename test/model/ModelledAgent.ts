import assert from "node:assert/strict";
import {
  AgentBusyError,
  AgentPersistenceError,
  persistence,
  type AgentCheckpointData,
  type AIAgent,
  type RollbackReport,
} from "agent-persistence";
import { NotAnAncestorError } from "agent-persistence/errors";
import { Acknowledged } from "./Acknowledged.ts";
import { expectListed, expectNotRepeated, expectWorld } from "./expectations.ts";
import { lineTo, readStored, type Stored } from "./readStored.ts";
import { Steps } from "./Steps.ts";
import type { Failure, StorageHarness } from "./StorageHarness.ts";

type Request = (agent: AIAgent<number, string>) => Promise<object>;

/** What goes wrong while a request is under way. */
export type Trouble = { readonly endAfter: number } | { readonly failure: Failure; readonly call: number };

interface UnfinishedRun {
  readonly id: string;
  readonly steps: number;
}

/** What is asked of an agent whose rollback was cut short. */
export type NextRequest = "resume" | "rollback" | "other rollback";

const interruptions = new Set(["storage_failed", "simulated_crash"]);

const rollbackTo =
  (checkpointId: string): Request =>
  (agent) =>
    persistence(agent).agent().rollbackToCheckpoint(checkpointId);

/** An agent on a storage, and what is known of both. */
export class ModelledAgent {
  readonly harness: StorageHarness;
  readonly #steps = new Steps();
  readonly #acknowledged = new Acknowledged();
  readonly #runs = new Map<string, UnfinishedRun>();
  #run: UnfinishedRun | undefined;
  /** As it must be listed; `undefined` after what was cut short. */
  #status: string | undefined;
  /** True once a write may have been cut short, until a request opened the log after it and completed. */
  #mayBeTorn = false;
  /** Calls in the history of the head that an earlier rollback reverted, as redos reported. */
  readonly #stayedReverted = new Set<string>();
  /** What comes first after a rollback that was cut short. */
  #unsettled: (() => Promise<unknown>) | undefined;
  /** True once power was lost after that rollback. */
  #powerWasLost = false;

  constructor(harness: StorageHarness) {
    this.harness = harness;
  }

  /** Goes on with the run that is unfinished, else begins another. */
  async run(steps: number, trouble?: Trouble): Promise<void> {
    await this.#settle();
    this.#run ??= { id: `run ${this.#runs.size}`, steps };
    const { id, steps: input } = this.#run;
    this.#runs.set(id, this.#run);
    const result = await this.#ask((agent) => agent.run(input, { runId: id }), trouble);
    if (result === undefined) return;
    const { tornTail, ...rest } = result as { readonly tornTail?: unknown };
    assert.deepEqual(rest, { status: "completed", runId: id, output: "taken" });
    assert.ok(tornTail === undefined || this.#mayBeTorn, "a torn tail is reported where nothing was cut short");
    this.#mayBeTorn = trouble !== undefined;
    this.#run = undefined;
    this.#status = "completed";
    await this.expect();
  }

  /** To one of the checkpoints on the way to the latest. */
  async rollBack(
    to: number,
    { trouble, thenBy = "rollback" }: { trouble?: Trouble; thenBy?: NextRequest },
  ): Promise<void> {
    await this.#settle();
    const { checkpoints, latest, journal } = await this.#stored();
    const line = lineTo(latest, checkpoints);
    const target = line[to % Math.max(1, line.length)];
    if (target === undefined) return;
    if (await this.#rollBackTo(target, trouble)) return;
    const other = line[(to + 3) % line.length] ?? target;
    const requests: Readonly<Record<NextRequest, () => Promise<unknown>>> = {
      resume: () => this.#resumeAfterRollback(),
      rollback: () => this.#rollBackAgain(target),
      // If the interrupted rollback was stored, this is a redo.
      "other rollback": () =>
        this.#rollBackAgain(other).catch((error: unknown) => {
          if (!(error instanceof NotAnAncestorError)) throw error;
          return this.#rollBackAgain(target);
        }),
    };
    this.#powerWasLost = false;
    // A storage that records no calls forgets a rollback that was cut short.
    this.#unsettled = requests[journal === undefined ? "rollback" : thenBy];
  }

  async losePower(seed: number): Promise<void> {
    this.#mayBeTorn = true;
    this.#powerWasLost = true;
    this.harness.losePower?.(seed);
    await this.expect();
  }

  /** What is read of damaged files is what was there, or an error that says what is wrong. */
  async readDamaged(seed: number): Promise<void> {
    const { checkpoints } = await this.#stored();
    const repair = await this.harness.damage?.(seed);
    const read = await this.#stored().catch((error: unknown) => {
      if (!AgentPersistenceError.isInstance(error)) throw error;
      return { checkpoints: [] };
    });
    const known = checkpoints.map((checkpoint) => JSON.stringify(checkpoint));
    for (const checkpoint of read.checkpoints) assert.ok(known.includes(JSON.stringify(checkpoint)));
    repair?.();
    await this.expect();
  }

  /** What is stored is what was acknowledged, the agent is listed as it is, and the world is as the log says. */
  async expect(): Promise<void> {
    const stored = await this.#stored();
    this.#acknowledged.expectIn(stored.checkpoints);
    assert.deepEqual(stored.latest, stored.checkpoints.at(-1), "the latest is the newest");
    expectListed(stored, this.#status);
    expectWorld(stored, this.#steps.world, this.#stayedReverted, this.#status !== undefined);
  }

  async #rollBackTo({ checkpointId, runId }: AgentCheckpointData, trouble?: Trouble): Promise<boolean> {
    const answer = await this.#ask(rollbackTo(checkpointId), trouble);
    if (answer === undefined) return false;
    const { stayedReverted } = answer as RollbackReport;
    for (const { toolCallId } of stayedReverted) this.#stayedReverted.add(toolCallId);
    this.#run = this.#runs.get(runId);
    this.#status = "paused";
    await this.expect();
    return true;
  }

  /** To a checkpoint that was read before a rollback was cut short. */
  async #rollBackAgain(target: AgentCheckpointData): Promise<void> {
    const { checkpointId } = target;
    const { checkpoints } = await this.#stored();
    if (checkpoints.some((checkpoint) => checkpoint.checkpointId === checkpointId)) await this.#rollBackTo(target);
    else await this.#expectLost(rollbackTo(checkpointId), "checkpoint_not_found");
  }

  async #resumeAfterRollback(): Promise<void> {
    const { latest } = await this.#stored();
    if (latest) await this.#resume();
    else await this.#expectLost((agent) => agent.resume(), "nothing_to_resume");
  }

  /** Only a loss of power takes what was read, and only what was not acknowledged. A request for it is refused. */
  async #expectLost(request: Request, code: string): Promise<void> {
    assert.ok(this.#powerWasLost, "what was read is gone without a loss of power");
    await assert.rejects(this.#ask(request), { code });
    await this.expect();
  }

  async #resume(): Promise<void> {
    await this.#ask((agent) => agent.resume());
    this.#run = undefined;
    this.#status = "completed";
    await this.expect();
  }

  async #settle(): Promise<void> {
    const unsettled = this.#unsettled;
    this.#unsettled = undefined;
    await unsettled?.();
  }

  #stored(): Promise<Stored> {
    return readStored(this.harness.start());
  }

  /** @returns the answer; `undefined` when the request was cut short. */
  async #ask(request: Request, trouble?: Trouble): Promise<object | undefined> {
    const { harness } = this;
    this.#mayBeTorn ||= trouble !== undefined;
    const { journal } = await this.#stored();
    const { world } = this.#steps;
    const before = { executed: world.executed.length, undone: world.undone.length };
    if (trouble && "endAfter" in trouble) harness.endAfter(trouble.endAfter);
    else if (trouble) harness.fail?.(trouble.failure, trouble.call);
    const agent = this.#steps.agent(harness.start(), harness.clock);
    let answer = await this.#answer(agent, request, trouble !== undefined);
    harness.heal();
    // The same process goes on once the cause is gone.
    if (trouble && "failure" in trouble) answer ??= await this.#answer(agent, request, false);
    if (journal) expectNotRepeated(journal, world.executed.slice(before.executed), world.undone.slice(before.undone));
    if (answer === undefined) this.#status = undefined;
    this.#acknowledged.take((await this.#stored()).checkpoints, answer !== undefined);
    return answer;
  }

  async #answer(agent: AIAgent<number, string>, request: Request, mayFail: boolean): Promise<object | undefined> {
    try {
      return await request(agent);
    } catch (error) {
      if (error instanceof AgentBusyError) {
        this.harness.clock.advance(error.retryAfterMs);
        return this.#answer(agent, request, mayFail);
      }
      if (mayFail && AgentPersistenceError.isInstance(error) && interruptions.has(error.code)) return undefined;
      throw error;
    }
  }
}

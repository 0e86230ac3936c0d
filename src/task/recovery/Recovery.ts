import type { AIAgent } from "../../agent/AIAgent.ts";
import type { ResumeOptions } from "../../agent/feature/RunRequest.ts";
import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { EnvironmentMismatchError, RecoveryRefusedError } from "../../errors/checkpointErrors.ts";
import { abortable } from "../../internal/abortable.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { DurableAgent } from "../../persistence/DurableAgent.ts";
import { persistence } from "../../persistence/Persistence.ts";
import type { PersistenceFeature } from "../../persistence/PersistenceFeature.ts";
import { describeMismatch, type EnvironmentMismatch } from "../../environment/EnvironmentMismatch.ts";
import {
  needsNobody,
  type RecoveryOption,
  recoveryOptions,
  type RecoveryParticipant,
} from "../../environment/RecoveryParticipant.ts";
import type { RecoveryStepName } from "../../listeners/PersistenceEvent.ts";
import type { CheckpointValidation, ValidationCheck } from "../../environment/CheckpointValidation.ts";
import {
  type RecoverAllOptions,
  recoverAllSchema,
  type RecoverOptions,
  recoverSchema,
  type RecoveryChoice,
  type RecoveryReport,
  type RecoveryStep,
} from "./RecoverOptions.ts";

type HowToResume = Pick<ResumeOptions, "ifStatus" | "verify">;

interface Settled extends RecoveryChoice {
  readonly offered: OfferedMismatch;
}

/** The recovery of one agent: validate, decide, change, resume. Changes no data before every mismatch is decided. */
export class Recovery<Output> {
  readonly #agent: AIAgent<never, Output>;
  readonly #feature: PersistenceFeature;
  readonly #durable: DurableAgent;
  readonly #options: RecoverOptions;
  readonly #resume: HowToResume;
  readonly #steps: RecoveryStep[] = [];
  #confirmed = false;

  constructor(agent: AIAgent<never, Output>, options: RecoverOptions, resume: HowToResume = {}) {
    this.#agent = agent;
    this.#feature = persistence(agent);
    this.#durable = this.#feature.agent(options.agentId);
    this.#options = options;
    this.#resume = resume;
  }

  get #participants(): readonly RecoveryParticipant[] {
    return this.#options.participants ?? this.#feature.recoveryParticipants;
  }

  /** @param known.hasCheckpoint false if the agent never started. In this case, the log is not read before the run. */
  async execute(known: { readonly hasCheckpoint?: boolean } = {}): Promise<RecoveryReport<Output>> {
    const { agentId } = this.#durable;
    const checkpoint = known.hasCheckpoint === false ? undefined : await this.#durable.getLatestCheckpoint();
    if (checkpoint) await this.#prepare(checkpoint);
    const { signal } = this.#options;
    signal?.throwIfAborted();
    const result = await this.#agent.resume({ ...this.#resume, agentId, ...(signal && { signal }) });
    this.#ended("resume_execution", {});
    const finished = checkpoint !== undefined && isEnd(checkpoint) && checkpoint.runId === result.runId;
    const at = checkpoint && (finished || !isEnd(checkpoint)) ? { checkpointId: checkpoint.checkpointId } : {};
    return { agentId, ...at, finished, steps: this.#steps, ...(this.#confirmed && { confirmed: true }), result };
  }

  async #prepare(checkpoint: AgentCheckpointData): Promise<void> {
    const validation = await this.#durable.validateCheckpoint();
    this.#assertWhole(validation);
    if (isEnd(checkpoint)) return;
    const mismatches = await this.#mismatches(validation, checkpoint);
    const settled = await this.#settle(mismatches, checkpoint);
    const chosen = settled.map(({ mismatch, option }) => ({ mismatch, option }));
    this.#ended("verify_environment", validation.environmental, chosen);
    const actions: (() => Promise<void>)[] = [];
    for (const { mismatch, option, offered } of rebasesFirst(settled)) {
      const action = await offered.doneBy(option)?.prepare(mismatch, option, checkpoint, this.#durable);
      if (action) actions.push(action);
    }
    await this.#confirm(checkpoint, validation, chosen);
    this.#options.signal?.throwIfAborted();
    for (const action of actions) await action();
    this.#ended("restore_state", {}, chosen);
    await this.#notice(checkpoint);
  }

  /** Refuses a damaged checkpoint. An older checkpoint never replaces it. @throws RecoveryRefusedError */
  #assertWhole({ agentId, checkpointId = "", structural, integrity }: CheckpointValidation): void {
    const checks = { ...structural, ...integrity };
    const reasons = Object.values(checks).flatMap((check) => (check.ok ? [] : [check.reason]));
    if (reasons.length > 0)
      throw new RecoveryRefusedError(
        agentId,
        `its newest checkpoint, ${checkpointId}, is damaged: ${reasons.join(" ")}`,
      );
    this.#ended("find_checkpoint", checks);
  }

  /** Returns the mismatches that need a decision. Excludes mismatches that the agent caused. */
  async #mismatches(
    validation: CheckpointValidation,
    checkpoint: AgentCheckpointData,
  ): Promise<readonly EnvironmentMismatch[]> {
    const participants = this.#participants;
    const mismatches: EnvironmentMismatch[] = [];
    for (const mismatch of validation.mismatches)
      if (!(await isOwnWork(mismatch, participants, checkpoint))) mismatches.push(mismatch);
    for (const participant of participants)
      for (const found of (await participant.findMismatches?.(checkpoint, this.#durable)) ?? [])
        if (!isMissingDirectoryOf(mismatches, found)) mismatches.push(found);
    return mismatches;
  }

  async #settle(
    mismatches: readonly EnvironmentMismatch[],
    checkpoint: AgentCheckpointData,
  ): Promise<readonly Settled[]> {
    const { onEnvironmentMismatch } = this.#options;
    const participants = this.#participants;
    const { agentId } = this.#durable;
    const all: OfferedMismatch[] = [];
    for (const mismatch of mismatches) all.push(await offeredOptions(mismatch, participants, checkpoint));
    if (all.length > 0 && !onEnvironmentMismatch) {
      const unsettled = all.map(({ mismatch, options }) => ({
        kind: mismatch.kind,
        ...("path" in mismatch && { path: mismatch.path }),
        description: describeMismatch(mismatch),
        options,
      }));
      throw new EnvironmentMismatchError(agentId, checkpoint.checkpointId, unsettled);
    }
    const settled: Settled[] = [];
    for (const offered of all) {
      const { mismatch, options } = offered;
      const option = await this.#ask(async () => onEnvironmentMismatch?.(mismatch, options, checkpoint));
      const about = describeMismatch(mismatch);
      if (option === undefined || !options.includes(option))
        throw new RecoveryRefusedError(
          agentId,
          `"${String(option)}" was chosen, which is not an option here: ${about}; the options are ${options.join(", ")}`,
        );
      if (option === "abort") throw new RecoveryRefusedError(agentId, `"abort" was chosen for this: ${about}`);
      settled.push({ mismatch, option, offered });
    }
    return settled;
  }

  async #confirm(
    checkpoint: AgentCheckpointData,
    validation: CheckpointValidation,
    chosen: readonly RecoveryChoice[],
  ): Promise<void> {
    const { confirm = "on_mismatch", onConfirm } = this.#options;
    const asks = confirm === "always" || (confirm === "on_mismatch" && chosen.length > 0);
    if (!asks || !onConfirm) return;
    if (!(await this.#ask(async () => onConfirm({ checkpoint, validation, chosen }))))
      throw new RecoveryRefusedError(this.#durable.agentId, "it was not confirmed");
    this.#confirmed = true;
  }

  /** Calls a handler. Does not wait for the handler after the signal aborts, because a person may have to answer. */
  #ask<Answer>(handler: () => Promise<Answer>): Promise<Answer> {
    const { signal } = this.#options;
    return signal ? abortable(signal, handler) : handler();
  }

  async #notice(checkpoint: AgentCheckpointData): Promise<void> {
    const { agentId } = this.#durable;
    const { checkpointId, version, nodeId, runId, iteration, progress, progressSummary } = checkpoint;
    const task = await this.#durable.getTaskName();
    this.#feature.tell({
      type: "recovery_notice",
      agentId,
      runId,
      task: task ?? agentId,
      checkpointId,
      version,
      nodeId,
      iteration,
      ...(progress !== undefined && { progress }),
      ...(progressSummary !== undefined && { progressSummary }),
    });
  }

  #ended(step: RecoveryStepName, checks: RecoveryStep["checks"], chosen: readonly RecoveryChoice[] = []): void {
    this.#steps.push({ step, checks: { ...checks }, chosen });
    const failed = Object.entries<ValidationCheck>(checks).filter(([, { ok }]) => !ok);
    this.#feature.tell({
      type: "recovery_step",
      agentId: this.#durable.agentId,
      step,
      failed: failed.map(([name]) => name),
      chosen: chosen.map(({ option }) => option),
    });
  }
}

function isEnd({ status }: AgentCheckpointData): boolean {
  return status !== "in_progress";
}

/** Returns the decisions with a rebase first, because a rebase needs the committed files and may still be refused. */
function rebasesFirst(settled: readonly Settled[]): readonly Settled[] {
  return [
    ...settled.filter(({ option }) => option === "rebase"),
    ...settled.filter(({ option }) => option !== "rebase"),
  ];
}

/** Returns whether the environment or a participant has already reported this missing directory. */
function isMissingDirectoryOf(known: readonly EnvironmentMismatch[], found: EnvironmentMismatch): boolean {
  if (found.kind !== "working_directory_missing") return false;
  return known.some((each) => each.kind === found.kind && each.path === found.path);
}

async function isOwnWork(
  mismatch: EnvironmentMismatch,
  participants: readonly RecoveryParticipant[],
  checkpoint: AgentCheckpointData,
): Promise<boolean> {
  for (const participant of participants) if (await participant.isOwnWork?.(mismatch, checkpoint)) return true;
  return false;
}

/** A mismatch, the options that resolve it, and the participants for these options. */
export interface OfferedMismatch {
  readonly mismatch: EnvironmentMismatch;
  /** In the order of {@link recoveryOptions}. */
  readonly options: readonly RecoveryOption[];
  /** Returns the participant that carries out an option or records it. `undefined` without such a participant. */
  readonly doneBy: (option: RecoveryOption) => RecoveryParticipant | undefined;
}

/**
 * Collects the options that need no change, and each option of a participant from the first participant that offers the
 * option.
 */
export async function offeredOptions(
  mismatch: EnvironmentMismatch,
  participants: readonly RecoveryParticipant[],
  checkpoint: AgentCheckpointData,
): Promise<OfferedMismatch> {
  const offers: { readonly participant: RecoveryParticipant; readonly options: ReadonlySet<RecoveryOption> }[] = [];
  for (const participant of participants)
    offers.push({ participant, options: new Set(await participant.optionsFor(mismatch, checkpoint)) });
  const doneBy = (option: RecoveryOption) => offers.find(({ options }) => options.has(option))?.participant;
  const options = recoveryOptions[mismatch.kind].filter(
    (option) => needsNobody.has(option) || doneBy(option) !== undefined,
  );
  return { mismatch, options, doneBy };
}

/**
 * Recovers an interrupted agent. Validates its newest checkpoint, and compares the environment with the recorded one.
 * Then decides and resolves each mismatch, and resumes the run. `onEvent` receives a `recovery_step` for each step and
 * a `recovery_notice` before the run continues.
 *
 * @throws CorruptLogError if the log is damaged. The error names the file and the last checkpoint before the damage.
 * @throws EnvironmentMismatchError if the environment differs and `onEnvironmentMismatch` is missing. The agent is
 * unchanged.
 * @throws RecoveryRefusedError if the checkpoint is damaged, or a handler refuses. The agent is unchanged.
 * @throws InvalidInputError for an invalid option, and for `confirm: "always"` without `onConfirm`.
 *
 * @example
 * ```ts
 * const { checkpointId, result } = await recoverTask(agent, {
 *   agentId: "team-7",
 *   onEnvironmentMismatch: (mismatch, options) => (options.includes("use_current") ? "use_current" : "abort"),
 * });
 * ```
 */
export async function recoverTask<Output>(
  agent: AIAgent<never, Output>,
  options: RecoverOptions = {},
): Promise<RecoveryReport<Output>> {
  checkSchema(recoverSchema, options, "options of the recovery");
  return new Recovery(agent, options).execute();
}

/** The outcome of one agent's recovery. */
export type RecoveryOutcome<Output> =
  | { readonly agentId: string; readonly report: RecoveryReport<Output> }
  | { readonly agentId: string; readonly error: unknown };

/**
 * Recovers all agents that a crash left in progress, one after the other. If an agent cannot be recovered or read, its
 * outcome is the error, and the recovery continues with the next agent. If several definitions share a storage, select
 * the agents of this definition with `only`.
 *
 * @throws InvalidInputError
 */
export async function* recoverTasks<Output>(
  agent: AIAgent<never, Output>,
  options: RecoverAllOptions = {},
): AsyncGenerator<RecoveryOutcome<Output>> {
  checkSchema(recoverAllSchema, options, "options of the recovery");
  const { only, ...how } = options;
  for await (const run of persistence(agent).unfinished({ only, signal: how.signal })) {
    const { agentId } = run;
    if (run.status === "unreadable") yield { agentId, error: new RecoveryRefusedError(agentId, run.reason) };
    if (run.status === "interrupted") yield await outcomeOf(agent, { ...how, agentId });
  }
}

async function outcomeOf<Output>(
  agent: AIAgent<never, Output>,
  options: RecoverOptions & { readonly agentId: string },
): Promise<RecoveryOutcome<Output>> {
  const { agentId, signal } = options;
  try {
    return { agentId, report: await recoverTask(agent, options) };
  } catch (error) {
    if (signal?.aborted === true) throw error;
    return { agentId, error };
  }
}
